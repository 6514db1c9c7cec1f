// AddressAllocator: hands out parts of one range of numbers (addresses, or offsets in a file) and takes them back.
//
// Devices that choose their own addresses need this and nothing more: no memory is touched, neighbours merge at once,
// and the choice (tightest hole, then lowest address) depends on nothing but the calls, so that runs repeat exactly.
//
// Thread-safety: none; the device's lock covers it. Cost: logarithmic in the number of holes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace cistern::device {

class AddressAllocator {
 public:
  AddressAllocator(std::uint64_t base, std::uint64_t bytes);

  // `alignment` is a power of two, bytes > 0. Nothing where no hole is long enough.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment);
  // Exactly a range that is allocated (or a whole-range part of one).
  void free(std::uint64_t start, std::uint64_t bytes);

  std::uint64_t free_bytes() const noexcept { return free_bytes_; }
  std::uint64_t largest_hole() const noexcept { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  void insert_hole(std::uint64_t start, std::uint64_t bytes);

  std::map<std::uint64_t, std::uint64_t> by_address_;          // start -> bytes
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // (bytes, start)
  std::uint64_t free_bytes_ = 0;
};

}  // namespace cistern::device
