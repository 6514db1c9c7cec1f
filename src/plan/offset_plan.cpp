#include "plan/offset_plan.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace cistern::plan {

using base::Status;
using base::StatusCode;

namespace {

struct Range {
  std::uint64_t end = 0;
  std::size_t tensor = 0;
};
using LiveRanges = std::map<std::uint64_t, Range>;  // by offset

std::string range_text(std::uint64_t tensor, std::uint64_t begin, std::uint64_t end) {
  return "tensor " + std::to_string(tensor) + " at [" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

Status wrong(const std::string& text) { return {StatusCode::corrupted, "the plan is wrong: " + text}; }

Status check_place(const Lifetime& lifetime, std::size_t tensor, const OffsetPlan& plan) {
  const std::uint64_t offset = plan.offsets[tensor];
  if (offset > plan.bytes || lifetime.bytes > plan.bytes - offset) {
    return wrong("tensor " + std::to_string(tensor) + " of " + std::to_string(lifetime.bytes) + " bytes at " +
                 std::to_string(offset) + " ends beyond the plan's " + std::to_string(plan.bytes) + " bytes");
  }
  if (plan.alignment == 0 || offset % plan.alignment != 0) {
    return wrong("tensor " + std::to_string(tensor) + " begins at " + std::to_string(offset) +
                 ", no multiple of the alignment, " + std::to_string(plan.alignment));
  }
  return {};
}

Status enter(const Lifetime& lifetime, std::size_t tensor, std::uint64_t offset, LiveRanges* live) {
  const std::uint64_t end = offset + lifetime.bytes;
  const auto next = live->lower_bound(offset);
  const auto meets = [&](LiveRanges::const_iterator other) {
    return wrong(range_text(tensor, offset, end) + " meets " +
                 range_text(other->second.tensor, other->first, other->second.end) + ", which is live at time " +
                 std::to_string(lifetime.lower));
  };
  if (next != live->end() && next->first < end) return meets(next);
  if (next != live->begin() && std::prev(next)->second.end > offset) return meets(std::prev(next));
  live->emplace_hint(next, offset, Range{end, tensor});
  return {};
}

}  // namespace

Status check_plan(const std::vector<Lifetime>& lifetimes, const OffsetPlan& plan) noexcept {
  if (plan.offsets.size() != lifetimes.size()) {
    return wrong("it has " + std::to_string(plan.offsets.size()) + " offsets for " + std::to_string(lifetimes.size()) +
                 " tensors");
  }
  std::vector<std::size_t> by_begin(lifetimes.size());
  std::iota(by_begin.begin(), by_begin.end(), std::size_t{0});
  std::vector<std::size_t> by_end = by_begin;
  std::stable_sort(by_begin.begin(), by_begin.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].lower < lifetimes[b].lower; });
  std::stable_sort(by_end.begin(), by_end.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].upper < lifetimes[b].upper; });
  LiveRanges live;
  auto ending = by_end.begin();
  for (const std::size_t tensor : by_begin) {
    const Lifetime& lifetime = lifetimes[tensor];
    if (lifetime.upper <= lifetime.lower || lifetime.bytes == 0) {
      return wrong("tensor " + std::to_string(tensor) + " lives for no time or has no bytes");
    }
    for (; ending != by_end.end() && lifetimes[*ending].upper <= lifetime.lower; ++ending) {
      live.erase(plan.offsets[*ending]);
    }
    if (Status failed = check_place(lifetime, tensor, plan); !failed.is_ok()) return failed;
    if (Status failed = enter(lifetime, tensor, plan.offsets[tensor], &live); !failed.is_ok()) return failed;
  }
  return {};
}

}  // namespace cistern::plan
