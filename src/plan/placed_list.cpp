#include "plan/placed_list.hpp"

#include <algorithm>

namespace cistern::plan {

std::uint64_t PlacedList::find(const Item& item, Fit fit) noexcept {
  GapChoice choice(item.bytes, fit);
  std::uint64_t looked_at = 0;
  for (const Placed& placed : placed_) {
    ++looked_at;
    if (placed.lower >= item.upper || item.lower >= placed.upper) continue;
    if (choice.pass(placed.begin, placed.end)) break;
  }
  steps_ += looked_at;
  return choice.place();
}

void PlacedList::add(const Item& item, std::uint64_t offset) {
  const auto place = std::upper_bound(placed_.begin(), placed_.end(), offset,
                                      [](std::uint64_t begin, const Placed& other) { return begin < other.begin; });
  placed_.insert(place, {offset, offset + item.bytes, item.lower, item.upper});
}

}  // namespace cistern::plan
