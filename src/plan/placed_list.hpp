// PlacedList: all placed tensors by offset; those that live at another time are passed over.
//
// Both operations are O(n), with a few instructions a tensor.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/placement.hpp"

namespace cistern::plan {

class PlacedList {
 public:
  void clear() noexcept { placed_.clear(); }
  std::uint64_t find(const Item& item, Fit fit) noexcept;
  void add(const Item& item, std::uint64_t offset);
  void count(std::uint64_t steps) noexcept { steps_ += steps; }  // of work done elsewhere
  std::uint64_t steps() const noexcept { return steps_; }        // tensors looked at so far

 private:
  struct Placed {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t lower = 0;
    std::uint32_t upper = 0;
  };
  std::vector<Placed> placed_;
  std::uint64_t steps_ = 0;
};

}  // namespace cistern::plan
