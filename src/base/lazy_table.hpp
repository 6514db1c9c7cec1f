// LazyTable: an array of trivially copyable entries, zero at first, whose memory appears only where it is touched.
//
// Bookkeeping tables are sized for the whole address range of an arena (terabytes) but used in a small part of it. An
// anonymous no-reserve mapping gives exactly that: entries never move, so other threads may hold pointers or read
// atomics in it without a lock, and an untouched page costs nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/result.hpp"

namespace cistern::base {

// Untyped part: `bytes` zeroed, lazily backed bytes of address space. Fails with out_of_memory where the host refuses.
Result<void*> map_lazy_bytes(std::uint64_t bytes) noexcept;
void unmap_lazy_bytes(void* base, std::uint64_t bytes) noexcept;
// Backs the pages of [base, base + bytes) with memory now, where the kernel can (else they come when touched, as ever).
void back_lazy_bytes(void* base, std::uint64_t bytes) noexcept;

template <typename T>
class LazyTable {
  static_assert(std::is_trivially_destructible_v<T>, "entries are never destroyed one by one");

 public:
  LazyTable() noexcept = default;
  LazyTable(LazyTable&& other) noexcept
      : entries_(std::exchange(other.entries_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  LazyTable& operator=(LazyTable&& other) noexcept {
    std::swap(entries_, other.entries_);
    std::swap(size_, other.size_);
    return *this;
  }
  LazyTable(const LazyTable&) = delete;
  LazyTable& operator=(const LazyTable&) = delete;
  ~LazyTable() {
    if (entries_ != nullptr) unmap_lazy_bytes(entries_, size_ * sizeof(T));
  }

  // All-zero bytes must be a valid T.
  static Result<LazyTable> create(std::uint64_t size) noexcept {
    auto mapped = map_lazy_bytes(size * sizeof(T));
    if (!mapped.is_ok()) return mapped.take_status();
    LazyTable table;
    table.entries_ = static_cast<T*>(mapped.value());
    table.size_ = size;
    return table;
  }

  // Entries [first, first + count) get their memory now, all at once: a fault for each page later costs far more.
  void back(std::uint64_t first, std::uint64_t count) noexcept {
    if (first >= size_) return;
    back_lazy_bytes(entries_ + first, std::min(count, size_ - first) * sizeof(T));
  }

  T& operator[](std::uint64_t index) noexcept { return entries_[index]; }
  const T& operator[](std::uint64_t index) const noexcept { return entries_[index]; }
  std::uint64_t size() const noexcept { return size_; }

 private:
  T* entries_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace cistern::base
