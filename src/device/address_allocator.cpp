#include "device/address_allocator.hpp"

#include "base/bits.hpp"

namespace cistern::device {

AddressAllocator::AddressAllocator(std::uint64_t base, std::uint64_t bytes) {
  if (bytes > 0) insert_hole(base, bytes);
  free_bytes_ = bytes;
}

void AddressAllocator::insert_hole(std::uint64_t start, std::uint64_t bytes) {
  by_address_.emplace(start, bytes);
  by_size_.emplace(bytes, start);
}

std::optional<std::uint64_t> AddressAllocator::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  for (auto hole = by_size_.lower_bound({bytes, 0}); hole != by_size_.end(); ++hole) {
    const auto [hole_bytes, hole_start] = *hole;
    const std::uint64_t start = base::round_up(hole_start, alignment);
    const std::uint64_t head = start - hole_start;
    if (start < hole_start || head > hole_bytes || hole_bytes - head < bytes) continue;
    by_size_.erase(hole);
    by_address_.erase(hole_start);
    if (head > 0) insert_hole(hole_start, head);
    const std::uint64_t tail = hole_bytes - head - bytes;
    if (tail > 0) insert_hole(start + bytes, tail);
    free_bytes_ -= bytes;
    return start;
  }
  return std::nullopt;
}

void AddressAllocator::free(std::uint64_t start, std::uint64_t bytes) {
  free_bytes_ += bytes;
  auto next = by_address_.lower_bound(start);
  if (next != by_address_.end() && next->first == start + bytes) {
    bytes += next->second;
    by_size_.erase({next->second, next->first});
    next = by_address_.erase(next);
  }
  if (next != by_address_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == start) {
      start = previous->first;
      bytes += previous->second;
      by_size_.erase({previous->second, previous->first});
      by_address_.erase(previous);
    }
  }
  insert_hole(start, bytes);
}

}  // namespace cistern::device
