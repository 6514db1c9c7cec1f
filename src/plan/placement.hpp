// Placement: one tensor after another gets the best place that those before it left.
//
// What decides is the order of the tensors and which gap is taken: the lowest, or the tightest. The gaps of a tensor
// lie between the addresses of tensors that it meets in time. Two structures find them: PlacedList looks at everything
// placed so far, which is fastest for a few hundred tensors; OccupancyTree looks only at what lives then, for many.
// They find the same places.
//
// With the lowest gap, placing the tensors of any plan again, in the order of their offsets, moves none of them up. So
// some order leads to a smallest plan, and a search may look at orders alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "plan/lifetimes.hpp"

namespace cistern::plan {

enum class Fit : std::uint8_t { lowest, tightest };

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// Chooses among the gaps that are shown to it, in the order of addresses.
class GapChoice {
 public:
  GapChoice(std::uint64_t bytes, Fit fit) noexcept : bytes_(bytes), fit_(fit) {}

  // The next occupied range by its beginning; ranges may overlap. True: the choice is made, nothing later changes it.
  bool pass(std::uint64_t begin, std::uint64_t end) noexcept {
    if (begin > end_) {
      const std::uint64_t gap = begin - end_;
      if (gap >= bytes_ && gap < gap_) {
        gap_ = gap;
        place_ = end_;
        if (fit_ == Fit::lowest || gap == bytes_) return true;
      }
    }
    end_ = std::max(end_, end);
    return false;
  }
  // Above everything where no gap holds it.
  std::uint64_t place() const noexcept { return gap_ == kNoLimit ? end_ : place_; }

 private:
  std::uint64_t bytes_;
  Fit fit_;
  std::uint64_t end_ = 0;  // of what was passed
  std::uint64_t gap_ = kNoLimit;
  std::uint64_t place_ = 0;
};

using Order = std::vector<std::uint32_t>;  // numbers of items, each once

// Places items[order[0]], items[order[1]], ... and returns the highest end. Ends as soon as one would end above
// `limit`: then the return value is above it and the offsets are of no use. `placed`: PlacedList or OccupancyTree.
template <typename Placed>
std::uint64_t place_in_order(const std::vector<Item>& items, const Order& order, Fit fit, std::uint64_t limit,
                             Placed* placed, std::vector<std::uint64_t>* offsets) {
  placed->clear();
  std::uint64_t top = 0;
  for (const std::uint32_t number : order) {
    const Item& item = items[number];
    const std::uint64_t offset = placed->find(item, fit);
    top = std::max(top, offset + item.bytes);
    if (top > limit) return top;
    (*offsets)[number] = offset;
    placed->add(item, offset);
  }
  return top;
}

}  // namespace cistern::plan
