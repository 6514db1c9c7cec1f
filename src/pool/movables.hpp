// Movables: the handles of blocks that may be moved, and what keeps each where it is.
//
// A movable block is a block like any other, but its caller holds a handle, not an address: the address is the caller's
// only while the block is pinned. A block that nobody has pinned may be copied elsewhere and its handle updated:
//
//   live --begin_copy--> copying --end_copy--> live, at its new place
//                           \--a pin or a free meanwhile--> live, where it was; or gone
//
// A pin that meets a copy makes it void at once, and its caller then waits until the mover has stopped reading: one
// piece of a copy at most.
//
// Thread-safety: the pool's lock for everything but CopyWatch::is_void().
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "device/device.hpp"

namespace cistern::pool {

// A handle: number and use of a table entry. 0 is none.
using MovableId = std::uint64_t;

// In the place of a handle's number: the block is the part of an elastic buffer that has memory (elastics.hpp).
inline constexpr std::uint32_t kElasticNumber = ~std::uint32_t{0};

// The mover's view of a copy: whether it is still of use.
class CopyWatch {
 public:
  // Asked between the pieces of a copy, without the lock.
  bool is_void() const noexcept { return is_void_.load(std::memory_order_relaxed); }

 private:
  friend class Movables;
  std::atomic<bool> is_void_{false};
};

struct Movable {
  device::Address address = 0;  // where the block begins now
  std::uint64_t bytes = 0;      // of the block
  std::uint64_t alignment = 0;  // that every place of it must have
  std::uint64_t moves = 0;      // times it was moved
  std::uint32_t pins = 0;
  std::uint32_t use = 0;      // odd while the handle is valid
  CopyWatch* copy = nullptr;  // of the copy under way
};

class Movables {
 public:
  MovableId add(device::Address address, std::uint64_t bytes, std::uint64_t alignment);
  // Null: explain() says why.
  Movable* find(MovableId id) noexcept;
  const Movable* find(MovableId id) const noexcept { return const_cast<Movables*>(this)->find(id); }
  base::Status explain(MovableId id, std::string_view pool) const;
  // Makes a copy of it void. `id` is valid and not pinned.
  void remove(MovableId id) noexcept;
  // The handle of a number; blocks carry numbers.
  static std::uint32_t number_of(MovableId id) noexcept { return static_cast<std::uint32_t>(id); }
  MovableId id_of(std::uint32_t number) const noexcept {
    return std::uint64_t{entries_[number - 1].use} << 32U | number;
  }

  // A pin makes a copy of it void.
  void pin(Movable* movable) noexcept;
  void unpin(Movable* movable) noexcept;

  // --- The mover's ---
  // False: it is pinned, or gone. Else `watch` must live until end_copy().
  bool begin_copy(MovableId id, CopyWatch* watch) noexcept;
  // True: nobody has pinned or freed it meanwhile.
  bool end_copy(MovableId id, const CopyWatch& watch) noexcept;
  bool is_copying(MovableId id) const noexcept {
    const Movable* movable = find(id);
    return movable != nullptr && movable->copy != nullptr;
  }

  // visit(MovableId, const Movable&) for every valid handle.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (std::uint32_t number = 1; number <= entries_.size(); ++number) {
      if ((entries_[number - 1].use & 1U) != 0) visit(id_of(number), entries_[number - 1]);
    }
  }

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t pinned_bytes() const noexcept { return pinned_bytes_; }

 private:
  std::vector<Movable> entries_;
  std::vector<std::uint32_t> spare_;  // numbers without a block
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t pinned_bytes_ = 0;
};

}  // namespace cistern::pool
