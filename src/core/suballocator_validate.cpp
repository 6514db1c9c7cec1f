// The Suballocator's invariants, checked one after the other. The text of a violation names the block and its offset,
// because that is where the debugger will be pointed.
#include "base/bits.hpp"
#include "core/suballocator.hpp"

namespace cistern::core {
namespace {

// Arenas up to this size have every entry of their address tables checked.
constexpr std::uint64_t kExhaustiveGranules = std::uint64_t{1} << 16;

std::string violation(std::string_view what, BlockIndex block, const BlockNode& node) {
  return std::string(what) + ": block " + std::to_string(block) + " at offset " +
         std::to_string(std::uint64_t{node.offset} << kGranuleShift) + ", " +
         std::to_string(std::uint64_t{node.length} << kGranuleShift) + " bytes, state " +
         std::to_string(static_cast<unsigned>(node.state));
}

}  // namespace

std::string Suballocator::validate() const {
  std::string problem = validate_tiling();
  if (!problem.empty()) return problem;
  SpaceTotals sums;
  for (BlockIndex block = first_block(); block != kNoBlock; block = next_block(block)) {
    problem = validate_block(block, &sums);
    if (!problem.empty()) return problem;
  }
  problem = validate_totals(sums);
  if (!problem.empty()) return problem;
  problem = validate_lists();
  if (!problem.empty()) return problem;
  if (!addresses_.matches(blocks_, kExhaustiveGranules)) {
    return "an address table does not match the blocks";
  }
  if (!blocks_.recycled_nodes_are_sound()) return "the list of recycled block nodes is broken";
  return {};
}

std::string Suballocator::validate_tiling() const {
  std::uint64_t expected = 0;
  std::uint64_t count = 0;
  BlockIndex previous = kNoBlock;
  for (BlockIndex block = first_block(); block != kNoBlock; block = next_block(block)) {
    if (!blocks_.knows(block)) return "a link leads to a node that was never a block";
    const BlockNode& node = blocks_[block];
    if (node.offset != expected || node.length == 0) {
      return violation("blocks do not tile the range", block, node);
    }
    if (node.previous != previous) return violation("links disagree", block, node);
    if (++count > blocks_.used()) return violation("links run in a circle", block, node);
    expected = node.end();
    previous = block;
  }
  if (blocks_[kNoBlock].previous != previous) return "the last block is not linked as the last";
  if (expected != config_.range_bytes >> kGranuleShift) {
    return "blocks end at " + std::to_string(expected << kGranuleShift) + ", not at the range's end";
  }
  if (count != blocks_.used()) return "block nodes are in use that are no blocks of the range";
  return {};
}

std::string Suballocator::validate_block(BlockIndex block, SpaceTotals* sums) const {
  const BlockNode& node = blocks_[block];
  const BlockNode& next = blocks_[node.next];
  const std::uint64_t bytes = std::uint64_t{node.length} << kGranuleShift;
  switch (node.state) {
    case BlockState::live:
      sums->live_bytes += bytes;
      ++sums->live_blocks;
      break;
    case BlockState::free:
      (node.slot == kReadySlot ? sums->free_ready_bytes : sums->free_pending_bytes) += bytes;
      ++sums->free_blocks;
      if (node.slot >= kMaxReadinessSlots) return violation("no such readiness slot", block, node);
      if (node.slot == kReadySlot && node.batch != 0) {
        return violation("a ready block with a batch", block, node);
      }
      if (next.state == BlockState::free && next.slot == node.slot) {
        return violation("two equal neighbours are not merged", block, node);
      }
      break;
    case BlockState::vacant:
      sums->vacant_bytes += bytes;
      ++sums->vacant_blocks;
      if (!base::is_aligned(std::uint64_t{node.offset} | node.length, page_granules())) {
        return violation("a vacant block is not page-aligned", block, node);
      }
      if (next.state == BlockState::vacant) {
        return violation("two vacant neighbours are not merged", block, node);
      }
      break;
    case BlockState::moving:
      sums->moving_bytes += bytes;
      break;
    case BlockState::unused:
      return violation("an unused node is linked", block, node);
  }
  return {};
}

std::string Suballocator::validate_totals(const SpaceTotals& sums) const {
  const auto differ = [](std::string_view what, std::uint64_t kept, std::uint64_t counted) {
    return std::string(what) + " is kept as " + std::to_string(kept) + " but the blocks say " + std::to_string(counted);
  };
  const SpaceTotals& kept = totals_;
  if (kept.live_bytes != sums.live_bytes) {
    return differ("live_bytes", kept.live_bytes, sums.live_bytes);
  }
  if (kept.free_ready_bytes != sums.free_ready_bytes) {
    return differ("free_ready_bytes", kept.free_ready_bytes, sums.free_ready_bytes);
  }
  if (kept.free_pending_bytes != sums.free_pending_bytes) {
    return differ("free_pending_bytes", kept.free_pending_bytes, sums.free_pending_bytes);
  }
  if (kept.vacant_bytes != sums.vacant_bytes) {
    return differ("vacant_bytes", kept.vacant_bytes, sums.vacant_bytes);
  }
  if (kept.moving_bytes != sums.moving_bytes) {
    return differ("moving_bytes", kept.moving_bytes, sums.moving_bytes);
  }
  if (kept.live_blocks != sums.live_blocks) {
    return differ("live_blocks", kept.live_blocks, sums.live_blocks);
  }
  if (kept.free_blocks != sums.free_blocks) {
    return differ("free_blocks", kept.free_blocks, sums.free_blocks);
  }
  if (kept.vacant_blocks != sums.vacant_blocks) {
    return differ("vacant_blocks", kept.vacant_blocks, sums.vacant_blocks);
  }
  return {};
}

std::string Suballocator::validate_lists() const {
  std::uint64_t free_listed = 0;
  for (unsigned slot = 0; slot < kMaxReadinessSlots; ++slot) {
    std::string problem = validate_holes(static_cast<ReadinessSlot>(slot), &free_listed);
    if (!problem.empty()) return problem;
  }
  if (free_listed != totals_.free_blocks) return "a free block is in no bucket";
  std::uint64_t vacant_listed = 0;
  BlockIndex previous = kNoBlock;
  for (BlockIndex block = first_vacant_; block != kNoBlock; block = blocks_[block].next_free) {
    const BlockNode& node = blocks_[block];
    if (node.state != BlockState::vacant || node.previous_free != previous) {
      return violation("the list of vacant blocks is broken", block, node);
    }
    if (++vacant_listed > totals_.vacant_blocks) return "vacant blocks are listed twice";
    previous = block;
  }
  if (vacant_listed != totals_.vacant_blocks) return "a vacant block is in no list";
  return {};
}

std::string Suballocator::validate_holes(ReadinessSlot slot, std::uint64_t* listed) const {
  const BucketIndex& holes = holes_[slot];
  if (!holes.bitmaps_match_lists()) {
    return "bitmaps do not match the buckets of readiness slot " + std::to_string(slot);
  }
  for (Bucket bucket = holes.first_non_empty(); bucket != BucketIndex::kNoBucket;
       bucket = holes.next_non_empty(bucket)) {
    BlockIndex previous = kNoBlock;
    for (BlockIndex hole = holes.head(bucket); hole != kNoBlock; hole = blocks_[hole].next_free) {
      const BlockNode& node = blocks_[hole];
      if (node.state != BlockState::free || node.slot != slot) {
        return violation("a bucket holds a block that is not such a hole", hole, node);
      }
      if (node.bucket != bucket || BucketIndex::bucket_of(node.length) != bucket) {
        return violation("a hole is in the wrong bucket", hole, node);
      }
      if (node.previous_free != previous) return violation("bucket links disagree", hole, node);
      if (++*listed > totals_.free_blocks) return violation("a hole is listed twice", hole, node);
      if (config_.policy == FitPolicy::first_fit) {
        const std::uint64_t region = region_of(node.offset);
        if (tree_.bound(slot, region) < node.length || !tree_.path_is_sound(slot, region)) {
          return violation("the hole tree does not promise a hole", hole, node);
        }
      }
      previous = hole;
    }
  }
  return {};
}

}  // namespace cistern::core
