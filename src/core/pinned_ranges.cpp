#include "core/pinned_ranges.hpp"

#include <algorithm>
#include <tuple>

namespace cistern::core {
namespace {

bool begins_before(const GranuleSpan& left, const GranuleSpan& right) noexcept {
  return std::tie(left.begin, left.end) < std::tie(right.begin, right.end);
}

}  // namespace

void PinnedRanges::add(GranuleSpan span) {
  pins_.insert(std::upper_bound(pins_.begin(), pins_.end(), span, begins_before), span);
  rebuild_union();
}

bool PinnedRanges::remove(GranuleSpan span) {
  const auto found = std::lower_bound(pins_.begin(), pins_.end(), span, begins_before);
  if (found == pins_.end() || !(*found == span)) return false;
  pins_.erase(found);
  rebuild_union();
  return true;
}

bool PinnedRanges::overlaps(GranuleSpan span) const noexcept {
  const std::size_t i = first_ending_after(span.begin);
  return i < union_.size() && union_[i].begin < span.end;
}

std::size_t PinnedRanges::first_ending_after(std::uint64_t granule) const noexcept {
  const auto found = std::partition_point(union_.begin(), union_.end(),
                                          [granule](const GranuleSpan& pin) { return pin.end <= granule; });
  return static_cast<std::size_t>(found - union_.begin());
}

void PinnedRanges::rebuild_union() {
  union_.clear();
  for (const GranuleSpan& pin : pins_) {
    if (!union_.empty() && pin.begin <= union_.back().end) {
      union_.back().end = std::max(union_.back().end, pin.end);
    } else {
      union_.push_back(pin);
    }
  }
}

}  // namespace cistern::core
