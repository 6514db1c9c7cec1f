#include "core/repair.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "base/bits.hpp"

namespace cistern::core {
namespace {

Range bytes_of(GranuleSpan span) noexcept { return {span.begin << kGranuleShift, span.length() << kGranuleShift}; }

GranuleSpan intersection(GranuleSpan left, GranuleSpan right) noexcept {
  return {std::max(left.begin, right.begin), std::min(left.end, right.end)};
}

GranuleSpan span_of(const BlockNode& node) noexcept { return {node.offset, node.end()}; }

}  // namespace

// A maximal run of neighbouring vacant and ready free blocks, which alternate in it.
class RepairPlanner::Run {
 public:
  struct Piece {
    GranuleSpan span;
    BlockIndex block;
    bool is_vacant;
    std::uint64_t vacant_pages_before;  // in this run
  };

  explicit Run(unsigned page_shift) noexcept : page_shift_(page_shift) {}

  void append(BlockIndex block, const BlockNode& node) {
    pieces_.push_back({span_of(node), block, node.state == BlockState::vacant, vacant_pages_});
    if (node.state == BlockState::vacant) vacant_pages_ += node.length >> page_shift_;
  }

  const std::vector<Piece>& pieces() const noexcept { return pieces_; }
  GranuleSpan span() const noexcept { return {pieces_.front().span.begin, pieces_.back().span.end}; }
  // The last piece that begins at or below `granule`, which lies in the run.
  const Piece& piece_at(std::uint64_t granule) const noexcept {
    const auto after = std::partition_point(pieces_.begin(), pieces_.end(),
                                            [granule](const Piece& piece) { return piece.span.begin <= granule; });
    return *(after - 1);
  }
  // Vacant pages that `window` touches.
  std::uint64_t vacant_pages(GranuleSpan window) const noexcept {
    const Piece& first = piece_at(window.begin);
    const Piece& last = piece_at(window.end - 1);
    std::uint64_t before = first.vacant_pages_before;
    if (first.is_vacant) before += (window.begin - first.span.begin) >> page_shift_;
    std::uint64_t through = last.vacant_pages_before;
    if (last.is_vacant) through += ((window.end - 1 - last.span.begin) >> page_shift_) + 1;
    return through - before;
  }

 private:
  std::vector<Piece> pieces_;
  std::uint64_t vacant_pages_ = 0;
  unsigned page_shift_;
};

struct RepairPlanner::Search {
  FitRequest request;
  RepairLimits limits;
  std::optional<std::uint64_t> donor_pages;  // in the whole arena, counted when first asked for

  bool found = false;
  std::uint64_t fill_pages = 0;
  std::uint64_t start = 0;
  BlockIndex first_block = kNoBlock;

  // May pages elsewhere make the difference between a window that can be had and one that can't?
  bool counts_donors() const noexcept {
    return limits.use_donors && limits.max_new_pages != std::numeric_limits<std::uint64_t>::max();
  }
};

RepairPlanner::RepairPlanner(const BlockTable& blocks, const BucketIndex& ready, BlockIndex first_vacant,
                             const PinnedRanges& pins, std::uint64_t page_granules) noexcept
    : blocks_(blocks),
      ready_(ready),
      first_vacant_(first_vacant),
      pins_(pins),
      page_(page_granules),
      page_shift_(static_cast<unsigned>(std::countr_zero(page_granules))) {}

bool RepairPlanner::plan(const FitRequest& request, const RepairLimits& limits, RepairPlan* plan) const {
  Search search{request, limits, {}};
  const BlockIndex hole = find_lowest_fit(blocks_, ready_, request);
  if (hole != kNoBlock) {
    search.found = true;
    search.start = request.place_in(blocks_[hole]);
    search.first_block = hole;
  } else {
    for (BlockIndex vacant = first_vacant_; vacant != kNoBlock; vacant = blocks_[vacant].next_free) {
      if (begins_run(vacant)) search_run(vacant, &search);
    }
  }
  if (!search.found) return false;

  const GranuleSpan window{search.start, search.start + request.length};
  *plan = RepairPlan{};
  plan->target = bytes_of(window);
  plan->fill_pages = search.fill_pages;
  for (BlockIndex block = search.first_block; block != kNoBlock && blocks_[block].offset < window.end;
       block = blocks_[block].next) {
    const GranuleSpan part = intersection(span_of(blocks_[block]), window);
    if (blocks_[block].state == BlockState::free) {
      plan->keeps.push_back(bytes_of(part));
    } else {
      plan->fills.push_back(bytes_of({round_down(part.begin), round_up(part.end)}));
    }
  }
  if (limits.use_donors) choose_donors(window, plan->fill_pages, plan);
  plan->new_pages = plan->fill_pages - plan->donor_pages;
  return true;
}

RepairPlan RepairPlanner::plan_fill(Range target, std::uint64_t max_donor_pages) const {
  RepairPlan plan;
  plan.target = target;
  plan.fills = {target};
  plan.fill_pages = target.bytes >> kGranuleShift >> page_shift_;
  const GranuleSpan window{target.offset >> kGranuleShift, target.end() >> kGranuleShift};
  choose_donors(window, std::min(plan.fill_pages, max_donor_pages), &plan);
  plan.new_pages = plan.fill_pages - plan.donor_pages;
  return plan;
}

// --- Windows --------------------------------------------------------------------------------------------------------

bool RepairPlanner::is_usable(BlockIndex block) const noexcept {
  const BlockNode& node = blocks_[block];
  return node.state == BlockState::vacant || (node.state == BlockState::free && node.slot == kReadySlot);
}

// Is `vacant` the first vacant block of its run? Blocks alternate, so two steps back tell.
bool RepairPlanner::begins_run(BlockIndex vacant) const noexcept {
  const BlockIndex before = blocks_[vacant].previous;
  return !is_usable(before) || blocks_[blocks_[before].previous].state != BlockState::vacant;
}

void RepairPlanner::search_run(BlockIndex vacant, Search* search) const {
  Run run(page_shift_);
  const BlockIndex before = blocks_[vacant].previous;
  for (BlockIndex block = is_usable(before) ? before : vacant; is_usable(block); block = blocks_[block].next) {
    run.append(block, blocks_[block]);
  }
  if (run.span().length() < search->request.length) return;

  const auto consider_at = [&](std::uint64_t border) {
    const std::uint64_t length = search->request.length;
    const std::uint64_t fine = search->request.alignment;
    const std::uint64_t coarse = std::max(fine, page_);
    // The window's start passes the border: the first starts from it on, the last before it.
    consider(run, base::round_up(border, fine), search);
    consider(run, base::round_up(border, coarse), search);
    if (border > 0) consider(run, base::round_down(border - 1, coarse), search);
    // Its end passes the border: the last ends up to it, the first beyond.
    if (border < length) return;
    consider(run, base::round_down(border - length, coarse), search);
    const std::uint64_t beyond = base::round_down(border - length, fine) + fine;
    consider(run, beyond, search);
    consider(run, base::round_up(beyond, coarse), search);
  };
  for (const Run::Piece& piece : run.pieces()) {
    consider_at(piece.span.begin);
    // Where donors are counted, what a window costs also changes where pages become donors.
    if (piece.is_vacant || !search->counts_donors()) continue;
    pins_.for_each_unpinned_pages(piece.span, page_, [&](GranuleSpan pages) {
      consider_at(pages.begin);
      consider_at(pages.end);
    });
  }
  consider_at(run.span().end);
}

void RepairPlanner::consider(const Run& run, std::uint64_t start, Search* search) const {
  const std::uint64_t length = search->request.length;
  if (start < run.span().begin || start + length > run.span().end) return;
  const Run::Piece& piece = run.piece_at(start);
  // A vacant page is paid for whole: begin where it begins. (A coarser alignment has seen to it.)
  if (piece.is_vacant) start = round_down(start);
  const GranuleSpan window{start, start + length};
  const std::uint64_t fill = run.vacant_pages(window);
  const bool better =
      !search->found || fill < search->fill_pages || (fill == search->fill_pages && start < search->start);
  if (!better || !within_limits(run, window, fill, search)) return;
  search->found = true;
  search->fill_pages = fill;
  search->start = start;
  search->first_block = piece.block;
}

bool RepairPlanner::within_limits(const Run& run, GranuleSpan window, std::uint64_t fill, Search* search) const {
  if (fill <= search->limits.max_new_pages) return true;
  if (!search->limits.use_donors) return false;
  if (!search->donor_pages) search->donor_pages = all_unpinned_pages();
  // Pages that the window itself keeps can't be donors.
  const GranuleSpan pages{round_down(window.begin), round_up(window.end)};
  std::uint64_t kept = 0;
  for (const Run::Piece* piece = &run.piece_at(window.begin);
       piece <= &run.pieces().back() && piece->span.begin < window.end; ++piece) {
    if (!piece->is_vacant) kept += unpinned_pages(intersection(piece->span, pages));
  }
  return fill - std::min(fill, *search->donor_pages - kept) <= search->limits.max_new_pages;
}

// --- Donors ---------------------------------------------------------------------------------------------------------

std::uint64_t RepairPlanner::unpinned_pages(GranuleSpan span) const {
  std::uint64_t granules = 0;
  pins_.for_each_unpinned_pages(span, page_, [&](GranuleSpan pages) { granules += pages.length(); });
  return granules >> page_shift_;
}

// Holes shorter than a page have none: the walk begins at the first bucket that may.
std::uint64_t RepairPlanner::all_unpinned_pages() const {
  std::uint64_t pages = 0;
  for (Bucket bucket = BucketIndex::bucket_of(static_cast<std::uint32_t>(page_)); bucket != BucketIndex::kNoBucket;
       bucket = ready_.next_non_empty(bucket)) {
    for (BlockIndex hole = ready_.head(bucket); hole != kNoBlock; hole = blocks_[hole].next_free) {
      pages += unpinned_pages(span_of(blocks_[hole]));
    }
  }
  return pages;
}

void RepairPlanner::choose_donors(GranuleSpan window, std::uint64_t pages, RepairPlan* plan) const {
  std::vector<BlockIndex> holes;
  for (Bucket bucket = BucketIndex::bucket_of(static_cast<std::uint32_t>(page_));
       bucket != BucketIndex::kNoBucket && pages > 0; bucket = ready_.next_non_empty(bucket)) {
    holes.clear();
    for (BlockIndex hole = ready_.head(bucket); hole != kNoBlock; hole = blocks_[hole].next_free) {
      holes.push_back(hole);
    }
    std::sort(holes.begin(), holes.end(), [this](BlockIndex left, BlockIndex right) {
      const BlockNode& a = blocks_[left];
      const BlockNode& b = blocks_[right];
      return a.length != b.length ? a.length < b.length : a.offset < b.offset;
    });
    for (const BlockIndex hole : holes) {
      if (pages == 0) break;
      const std::uint64_t taken = take_from(hole, window, pages, plan);
      plan->donor_pages += taken;
      pages -= taken;
    }
  }
}

// Up to `pages` pages of `hole` outside the window, from the end where a vacant neighbour lies, so that what becomes
// vacant joins it; from the high end where there is none.
std::uint64_t RepairPlanner::take_from(BlockIndex hole, GranuleSpan window, std::uint64_t pages,
                                       RepairPlan* plan) const {
  const GranuleSpan whole = span_of(blocks_[hole]);
  std::vector<GranuleSpan> spans;
  const auto collect = [&](GranuleSpan part) { spans.push_back(part); };
  const GranuleSpan below = intersection(whole, {0, window.begin});
  const GranuleSpan above = intersection(whole, {window.end, whole.end});
  if (!below.empty()) pins_.for_each_unpinned_pages(below, page_, collect);
  if (!above.empty()) pins_.for_each_unpinned_pages(above, page_, collect);

  const bool from_low = blocks_[blocks_[hole].previous].state == BlockState::vacant;
  if (!from_low) std::reverse(spans.begin(), spans.end());
  std::uint64_t taken = 0;
  for (GranuleSpan span : spans) {
    if (taken == pages) break;
    const std::uint64_t wanted = std::min((pages - taken) << page_shift_, span.length());
    if (from_low) {
      span.end = span.begin + wanted;
    } else {
      span.begin = span.end - wanted;
    }
    plan->donors.push_back(bytes_of(span));
    taken += wanted >> page_shift_;
  }
  return taken;
}

std::vector<Range> RepairPlanner::wholly_free_pages(std::uint64_t max_bytes) const {
  std::vector<GranuleSpan> spans;
  for (Bucket bucket = BucketIndex::bucket_of(static_cast<std::uint32_t>(page_)); bucket != BucketIndex::kNoBucket;
       bucket = ready_.next_non_empty(bucket)) {
    for (BlockIndex hole = ready_.head(bucket); hole != kNoBlock; hole = blocks_[hole].next_free) {
      pins_.for_each_unpinned_pages(span_of(blocks_[hole]), page_, [&](GranuleSpan pages) { spans.push_back(pages); });
    }
  }
  std::sort(spans.begin(), spans.end(),
            [](const GranuleSpan& left, const GranuleSpan& right) { return left.begin > right.begin; });
  std::vector<Range> ranges;
  std::uint64_t granules_left = round_down(max_bytes >> kGranuleShift);
  for (GranuleSpan span : spans) {
    if (granules_left == 0) break;
    span.begin = span.end - std::min(span.length(), granules_left);
    granules_left -= span.length();
    ranges.push_back(bytes_of(span));
  }
  return ranges;
}

}  // namespace cistern::core
