// Suballocator: the bookkeeping of one arena.
//
// An arena is a range of offsets tiled by blocks that are live, free, vacant or moving. This class splits and
// coalesces them, finds holes by a fit policy, finds the block behind an offset, and plans repairs: which pages to put
// where so that a request fits. It holds no memory of the device and calls nothing outside the core.
//
// Thread-safety: none, the pool's lock guards every call, except `find_live()`, which may run at any time from any
// thread. Cost: allocate and release are constant time under BEST_FIT; a miss is verified by a walk of the request's
// bucket, so kNoBlock always means that no hole fits. All functions are noexcept; a wrong call (releasing a free
// block, filling a range that is not vacant) is refused and changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/address_table.hpp"
#include "core/block_table.hpp"
#include "core/bucket_index.hpp"
#include "core/fit_policy.hpp"
#include "core/hole_tree.hpp"
#include "core/pinned_ranges.hpp"
#include "core/types.hpp"

namespace cistern::core {

struct SuballocatorConfig {
  std::uint64_t range_bytes = 0;  // > 0, multiple of page_bytes, at most 2 TiB - 512 B
  std::uint64_t page_bytes = 0;   // power of two >= 512; unit of fill, vacate and plan_repair
  FitPolicy policy = FitPolicy::best_fit;
  bool starts_filled = false;  // the whole range is free at first (driver and adopted arenas); else vacant
  // Tables for so many blocks, from this offset on, get their memory at once; more comes when it is touched.
  std::uint64_t expected_blocks = 0;
  std::uint64_t expected_offset = 0;
  std::uint64_t max_blocks = 0;  // 0: as many as the range can need, at most 2^26
};

// Sums over the blocks, in bytes, and counts. live + free_ready + free_pending + vacant + moving = range.
struct SpaceTotals {
  std::uint64_t live_bytes = 0;
  std::uint64_t free_ready_bytes = 0;
  std::uint64_t free_pending_bytes = 0;
  std::uint64_t vacant_bytes = 0;
  std::uint64_t moving_bytes = 0;
  std::uint64_t live_blocks = 0;
  std::uint64_t free_blocks = 0;  // ready and pending
  std::uint64_t vacant_blocks = 0;
};

// What plan_repair may use.
struct RepairLimits {
  std::uint64_t max_new_pages = ~std::uint64_t{0};  // pages that may come from outside the arena
  bool use_donors = true;                           // wholly free pages elsewhere in the arena may move
};

// A way to make one request fit. `target` holds the request at its alignment; it is made of `keeps` (free and ready
// now) and `fills` (vacant now, page-aligned, to be given pages). Pages come first from `donors` (page-aligned parts
// of ready free blocks outside the target), then `new_pages` from outside. All lists ascend by offset, except donors,
// which come in the order in which they should be used (smallest holes first).
struct RepairPlan {
  Range target;
  std::vector<Range> keeps;
  std::vector<Range> fills;
  std::vector<Range> donors;
  std::uint64_t fill_pages = 0;
  std::uint64_t donor_pages = 0;  // = min(fill_pages, what donors have)
  std::uint64_t new_pages = 0;    // fill_pages - donor_pages
};

struct BucketView {
  std::uint64_t min_bytes;  // smallest block that belongs here
  std::uint64_t blocks;
  std::uint64_t bytes;
};

class Suballocator {
 public:
  static base::Result<std::unique_ptr<Suballocator>> create(const SuballocatorConfig& config) noexcept;
  ~Suballocator();
  Suballocator(const Suballocator&) = delete;
  Suballocator& operator=(const Suballocator&) = delete;

  // --- Placement -------------------------------------------------------------------------------------------------
  // A live block of `bytes` rounded up to 512 B whose offset is a multiple of `alignment` (a power of two; below 512
  // it is 512), from the ready holes or, with slot != 0, from that slot's pending holes only. kNoBlock: no hole fits
  // (also for bytes == 0 or a bad alignment).
  BlockIndex allocate(std::uint64_t bytes, std::uint64_t alignment, ReadinessSlot slot = kReadySlot) noexcept;
  // Live -> free with `readiness`; merges with free neighbours of the same slot (the later batch wins).
  // False: `block` is not live, nothing changed.
  bool release(BlockIndex block, Readiness readiness = {}) noexcept;
  // Free blocks of slot `from` whose batch is at most `batch` become blocks of readiness `to`, another slot's, and
  // merge with those. Returns their bytes.
  std::uint64_t change_readiness(ReadinessSlot from, std::uint32_t batch, Readiness to) noexcept;
  // Pending blocks of `slot` whose batch is at most `batch` become ready. Returns their bytes.
  std::uint64_t make_ready(ReadinessSlot slot, std::uint32_t batch) noexcept {
    return slot == kReadySlot ? 0 : change_readiness(slot, batch, {});
  }

  // --- Pages -----------------------------------------------------------------------------------------------------
  // All ranges here must lie within one block; those of vacant and moving blocks are page-aligned by construction.
  // fill: vacant -> free. vacate: ready free -> vacant, refused where a pinned range overlaps. False: refused.
  bool fill(Range pages) noexcept;
  bool vacate(Range pages) noexcept;
  // The same in two steps, for callers that drop the lock in between: the range (within one vacant or one ready free
  // block; a free part need not be page-aligned) becomes a moving block that nobody else touches; kNoBlock: refused.
  // settle() ends it as free or vacant (vacant: page-aligned only); with head_bytes set, only its first head_bytes
  // (then the rest stays moving). It returns what is still moving: the rest, kNoBlock when nothing is left, and
  // `moving` itself, unchanged, where it refuses: head_bytes 0 or no multiple of 512, vacant and not page-aligned or
  // pinned, or another state than these two.
  BlockIndex begin_move(Range range) noexcept;
  BlockIndex settle(BlockIndex moving, BlockState to, std::uint64_t head_bytes = ~std::uint64_t{0}) noexcept;

  // --- Relocation ------------------------------------------------------------------------------------------------
  // Contents that change their place: land() makes the whole of a moving block live where it is; retire() makes a live
  // block moving, found by nobody, until settle() ends it. False: not a block of that state, nothing changed.
  bool land(BlockIndex moving) noexcept;
  bool retire(BlockIndex live) noexcept;
  // Does a pinned range overlap?
  bool is_pinned(Range range) const noexcept;

  // --- Repair ----------------------------------------------------------------------------------------------------
  // The cheapest way to make room for a request, or false. Growth is the same with use_donors = false. Pure: changes
  // nothing. Walks vacant and free blocks: a slow-path call.
  bool plan_repair(std::uint64_t bytes, std::uint64_t alignment, const RepairLimits& limits,
                   RepairPlan* plan) const noexcept;
  // Whole pages inside ready free blocks outside pinned ranges, highest offset first, at most max_bytes in all.
  std::vector<Range> wholly_free_pages(std::uint64_t max_bytes = ~std::uint64_t{0}) const noexcept;
  // Registered memory (RDMA, IPC): pages of such a range are never vacated. Ranges may overlap; each pin needs its
  // unpin. False: out of range, part of it is moving now (its pages may be leaving), or no such pin.
  bool pin_range(Range range) noexcept;
  bool unpin_range(Range range) noexcept;

  // --- Addresses kept for one owner ------------------------------------------------------------------------------
  // Where `bytes` (a multiple of the page size) of vacant addresses can be had in one piece: at the end of the highest
  // vacant block that has them, where they are least in the way of growth. No bytes: nowhere. Walks the vacant blocks.
  Range highest_vacant(std::uint64_t bytes) const noexcept;
  // Like plan_repair for a target that is chosen already, whole pages that are nobody else's to fill: the target is the
  // only fill, donors are as for any repair, the rest are new pages.
  RepairPlan plan_fill(Range target, std::uint64_t max_donor_pages) const noexcept;
  // May blocks be cut `times` times? Operations on pages need that, and a full block table refuses them.
  bool can_cut(std::uint64_t times) const noexcept { return blocks_.spare() >= 2 * times; }

  // --- Looking ---------------------------------------------------------------------------------------------------
  // The live block that starts at exactly `offset`, else kNoBlock. Lock-free, any thread; whether the block is still
  // live when the caller has taken the lock is for the caller to check again.
  BlockIndex find_live(std::uint64_t offset) const noexcept;
  // The block of any state that contains `offset`; kNoBlock beyond the range. Needs the lock.
  BlockIndex find_containing(std::uint64_t offset) const noexcept;
  BlockView view(BlockIndex block) const noexcept;
  // Where a live block lies; that never changes while it lives. No lock needed by whoever the block belongs to.
  Range range_of_live(BlockIndex block) const noexcept { return blocks_[block].range(); }
  BlockRecord& record(BlockIndex block) noexcept;
  const BlockRecord& record(BlockIndex block) const noexcept;
  // Blocks by ascending offset: for (auto b = first_block(); b != kNoBlock; b = next_block(b)).
  BlockIndex first_block() const noexcept;
  BlockIndex next_block(BlockIndex block) const noexcept;

  const SuballocatorConfig& config() const noexcept;
  const SpaceTotals& totals() const noexcept;  // kept up to date, free of charge
  // Largest ready hole, or largest pending one of a slot; walks one bucket.
  std::uint64_t largest_free_bytes(ReadinessSlot slot = kReadySlot) const noexcept;
  // Would `bytes` fit in a ready hole right now? Constant time in nearly all cases.
  bool fits(std::uint64_t bytes) const noexcept;
  // Non-empty buckets of ready holes, ascending.
  std::vector<BucketView> buckets() const noexcept;

  // Checks every invariant: blocks tile the range, no two neighbours that should have merged, bitmaps match lists,
  // sums match blocks, the address tables match, vacant ranges are page-aligned. Empty when all hold, else the first
  // violation in words. Linear.
  std::string validate() const;

 private:
  struct Parts;  // the tables, made by create() and moved in
  Suballocator(const SuballocatorConfig& config, Parts&& parts) noexcept;

  bool is(BlockIndex block, BlockState state) const noexcept {
    return blocks_.knows(block) && blocks_[block].state == state;
  }
  std::uint64_t page_granules() const noexcept { return config_.page_bytes >> kGranuleShift; }
  BlockIndex find_hole(const FitRequest& request, ReadinessSlot slot) noexcept;

  // Waiting lists: free blocks in their slot's buckets (and tree), vacant blocks in one list. Live
  // and moving blocks are in none. Block counts follow the lists.
  void enlist(BlockIndex block) noexcept;
  void delist(BlockIndex block) noexcept;
  void update_listing(BlockIndex block) noexcept;  // after offset or length have changed

  // Splits `block` so that [offset, offset + length), in granules, becomes a block of its own, in
  // no list, whose state the caller sets; the rest stays what it was. Takes at most two nodes.
  BlockIndex cut(BlockIndex block, std::uint32_t offset, std::uint32_t length) noexcept;
  BlockIndex cut_live_front(BlockIndex hole, std::uint32_t length) noexcept;
  // Gives a block that is in no list the state free or vacant and merges it with equal neighbours.
  template <BlockState kState>
  BlockIndex join(BlockIndex block, Readiness readiness) noexcept;
  std::uint64_t& bytes_in(BlockState state, ReadinessSlot slot) noexcept {
    if (state == BlockState::live) return totals_.live_bytes;
    if (state == BlockState::vacant) return totals_.vacant_bytes;
    if (state == BlockState::moving) return totals_.moving_bytes;
    return slot == kReadySlot ? totals_.free_ready_bytes : totals_.free_pending_bytes;
  }

  // The block that contains all of `range`, or kNoBlock; `page_aligned` as the range must be.
  BlockIndex block_around(Range range, bool page_aligned) const noexcept;
  bool change_pages(Range pages, BlockState from, BlockState to) noexcept;
  bool may_become(Range range, BlockState to) const noexcept;

  std::string validate_tiling() const;
  std::string validate_block(BlockIndex block, SpaceTotals* sums) const;
  std::string validate_lists() const;
  std::string validate_holes(ReadinessSlot slot, std::uint64_t* listed) const;
  std::string validate_totals(const SpaceTotals& sums) const;

  // Room kept in the block table for page operations: a full table must not stop a repair.
  static constexpr std::uint64_t kNodesForPages = 64;

  BlockTable blocks_;
  AddressTable addresses_;
  base::LazyTable<BucketIndex> holes_;  // one index a readiness slot; slots never used cost nothing
  HoleTree tree_;                       // under FIRST_FIT only
  BlockIndex first_vacant_ = kNoBlock;  // list of the vacant blocks
  SpaceTotals totals_;
  SuballocatorConfig config_;
  PinnedRanges pins_;
};

// --- Inline, because the pool asks at every call
// ----------------------------------------------------------------------

inline BlockIndex Suballocator::find_live(std::uint64_t offset) const noexcept {
  if (offset >= config_.range_bytes || (offset & (kGranuleBytes - 1)) != 0) return kNoBlock;
  return addresses_.live_at(offset >> kGranuleShift);
}

inline BlockView Suballocator::view(BlockIndex block) const noexcept {
  if (!blocks_.knows(block) || blocks_[block].state == BlockState::unused) return {};
  const BlockNode& node = blocks_[block];
  const bool is_free = node.state == BlockState::free;
  return {block, node.range(), node.state, is_free ? Readiness{node.slot, node.batch} : Readiness{}};
}

inline BlockRecord& Suballocator::record(BlockIndex block) noexcept { return blocks_.record(block); }
inline const BlockRecord& Suballocator::record(BlockIndex block) const noexcept { return blocks_.record(block); }
inline BlockIndex Suballocator::first_block() const noexcept { return blocks_[kNoBlock].next; }
inline BlockIndex Suballocator::next_block(BlockIndex block) const noexcept { return blocks_[block].next; }
inline const SuballocatorConfig& Suballocator::config() const noexcept { return config_; }
inline const SpaceTotals& Suballocator::totals() const noexcept { return totals_; }

}  // namespace cistern::core
