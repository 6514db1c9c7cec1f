// Repair: the cheapest way to make room for a request that no hole can hold.
//
// A request needs a contiguous window of addresses, not of pages. Any window will do that touches only ready free
// blocks, whose pages stay, and vacant blocks, which are given pages: taken from wholly free pages elsewhere in the
// arena (stitching) or from outside (growth). What is paid for is pages given, so the window that needs the fewest
// wins, the lowest address among equals.
//
// The number of vacant pages a window touches is monotone as the window slides, as long as both its ends stay within
// the same blocks. So an optimum lies where an end passes a border of blocks (or of a page beside one): six windows a
// border are weighed, not one for every offset.
#pragma once

#include <cstdint>
#include <vector>

#include "core/block_table.hpp"
#include "core/bucket_index.hpp"
#include "core/fit_policy.hpp"
#include "core/pinned_ranges.hpp"
#include "core/suballocator.hpp"

namespace cistern::core {

class RepairPlanner {
 public:
  RepairPlanner(const BlockTable& blocks, const BucketIndex& ready, BlockIndex first_vacant, const PinnedRanges& pins,
                std::uint64_t page_granules) noexcept;

  bool plan(const FitRequest& request, const RepairLimits& limits, RepairPlan* plan) const;
  RepairPlan plan_fill(Range target, std::uint64_t max_donor_pages) const;
  std::vector<Range> wholly_free_pages(std::uint64_t max_bytes) const;

 private:
  class Run;
  struct Search;

  bool is_usable(BlockIndex block) const noexcept;
  bool begins_run(BlockIndex vacant) const noexcept;
  void search_run(BlockIndex vacant, Search* search) const;
  void consider(const Run& run, std::uint64_t start, Search* search) const;
  bool within_limits(const Run& run, GranuleSpan window, std::uint64_t fill, Search* search) const;
  void describe(GranuleSpan window, RepairPlan* plan) const;
  void choose_donors(GranuleSpan window, std::uint64_t pages, RepairPlan* plan) const;
  std::uint64_t take_from(BlockIndex hole, GranuleSpan window, std::uint64_t pages, RepairPlan* plan) const;
  std::uint64_t unpinned_pages(GranuleSpan span) const;
  std::uint64_t all_unpinned_pages() const;
  std::uint64_t round_down(std::uint64_t granule) const noexcept { return granule & ~(page_ - 1); }
  std::uint64_t round_up(std::uint64_t granule) const noexcept { return (granule + page_ - 1) & ~(page_ - 1); }

  const BlockTable& blocks_;
  const BucketIndex& ready_;
  BlockIndex first_vacant_;
  const PinnedRanges& pins_;
  std::uint64_t page_;  // granules
  unsigned page_shift_;
};

}  // namespace cistern::core
