// The Suballocator's readers: everything that looks and changes nothing. (What the pool asks at
// every call is inline, in the header.)
#include <algorithm>

#include "base/bits.hpp"
#include "core/repair.hpp"
#include "core/suballocator.hpp"

namespace cistern::core {
BlockIndex Suballocator::find_containing(std::uint64_t offset) const noexcept {
  if (offset >= config_.range_bytes) return kNoBlock;
  return addresses_.containing(blocks_, offset >> kGranuleShift);
}

std::uint64_t Suballocator::largest_free_bytes(ReadinessSlot slot) const noexcept {
  const BucketIndex& holes = holes_[slot];
  const Bucket bucket = holes.last_non_empty();
  if (bucket == BucketIndex::kNoBucket) return 0;
  std::uint64_t longest = 0;
  for (BlockIndex hole = holes.head(bucket); hole != kNoBlock; hole = blocks_[hole].next_free) {
    longest = std::max<std::uint64_t>(longest, blocks_[hole].length);
  }
  return longest << kGranuleShift;
}

bool Suballocator::fits(std::uint64_t bytes) const noexcept {
  if (bytes - 1 >= config_.range_bytes) return false;
  const auto length = static_cast<std::uint32_t>((bytes + kGranuleBytes - 1) >> kGranuleShift);
  return find_unaligned_best_fit(blocks_, holes_[kReadySlot], length) != kNoBlock;
}

std::vector<BucketView> Suballocator::buckets() const noexcept {
  std::vector<BucketView> views;
  const BucketIndex& holes = holes_[kReadySlot];
  for (Bucket bucket = holes.first_non_empty(); bucket != BucketIndex::kNoBucket;
       bucket = holes.next_non_empty(bucket)) {
    BucketView view{std::uint64_t{BucketIndex::min_length(bucket)} << kGranuleShift, 0, 0};
    for (BlockIndex hole = holes.head(bucket); hole != kNoBlock; hole = blocks_[hole].next_free) {
      ++view.blocks;
      view.bytes += blocks_[hole].range().bytes;
    }
    views.push_back(view);
  }
  return views;
}

bool Suballocator::plan_repair(std::uint64_t bytes, std::uint64_t alignment, const RepairLimits& limits,
                               RepairPlan* plan) const noexcept {
  if (bytes - 1 >= config_.range_bytes || !base::is_power_of_two(alignment)) return false;
  const FitRequest request{static_cast<std::uint32_t>((bytes + kGranuleBytes - 1) >> kGranuleShift),
                           alignment <= kGranuleBytes ? 1 : alignment >> kGranuleShift};
  const RepairPlanner planner(blocks_, holes_[kReadySlot], first_vacant_, pins_, page_granules());
  return planner.plan(request, limits, plan);
}

Range Suballocator::highest_vacant(std::uint64_t bytes) const noexcept {
  Range found;
  if (bytes == 0 || !base::is_aligned(bytes, config_.page_bytes)) return found;
  for (BlockIndex block = first_vacant_; block != kNoBlock; block = blocks_[block].next_free) {
    const Range range = blocks_[block].range();
    if (range.bytes >= bytes && range.end() > found.end()) found = {range.end() - bytes, bytes};
  }
  return found;
}

RepairPlan Suballocator::plan_fill(Range target, std::uint64_t max_donor_pages) const noexcept {
  const RepairPlanner planner(blocks_, holes_[kReadySlot], first_vacant_, pins_, page_granules());
  return planner.plan_fill(target, max_donor_pages);
}

std::vector<Range> Suballocator::wholly_free_pages(std::uint64_t max_bytes) const noexcept {
  const RepairPlanner planner(blocks_, holes_[kReadySlot], first_vacant_, pins_, page_granules());
  return planner.wholly_free_pages(max_bytes);
}

}  // namespace cistern::core
