// Contender: whoever serves a workload's allocations in a benchmark.
//
// A contender is a class with the functions below; loops are templates over it, so that none pays a virtual call:
//
//   Place allocate(std::uint64_t bytes);           a place that is not 0, its own while it lives; 0: refused
//   void free(Place place);                        exactly what allocate returned
//   std::uint64_t end_of(Place place) const;       the offset behind the block, 0 where places are no offsets
//   std::uint64_t reserved_bytes() const;          the most memory that was held, 0 where that is not counted
#pragma once

#include <cstdint>

namespace cistern::bench {

using Place = std::uint64_t;

// The loop alone: what is left when nobody serves. Its time is subtracted from everybody's.
class NullLoop {
 public:
  Place allocate(std::uint64_t bytes) noexcept { return next_ += bytes; }
  void free(Place place) noexcept { freed_ += place; }
  std::uint64_t end_of(Place) const noexcept { return 0; }
  std::uint64_t reserved_bytes() const noexcept { return 0; }

 private:
  Place next_ = 0;
  Place freed_ = 0;
};

}  // namespace cistern::bench
