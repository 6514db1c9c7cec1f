// The Suballocator's page operations: which ranges have pages, which are under way, which are pinned.
#include "base/bits.hpp"
#include "core/suballocator.hpp"

namespace cistern::core {
namespace {

// The granules a range touches.
GranuleSpan touched(Range range) noexcept {
  return {range.offset >> kGranuleShift, (range.end() + kGranuleBytes - 1) >> kGranuleShift};
}

}  // namespace

BlockIndex Suballocator::block_around(Range range, bool page_aligned) const noexcept {
  const std::uint64_t unit = page_aligned ? config_.page_bytes : kGranuleBytes;
  if (range.bytes == 0 || !base::is_aligned(range.offset | range.bytes, unit)) return kNoBlock;
  if (range.offset >= config_.range_bytes) return kNoBlock;
  if (range.bytes > config_.range_bytes - range.offset) return kNoBlock;
  const BlockIndex block = addresses_.containing(blocks_, range.offset >> kGranuleShift);
  return blocks_[block].end() >= range.end() >> kGranuleShift ? block : kNoBlock;
}

bool Suballocator::may_become(Range range, BlockState to) const noexcept {
  if (to == BlockState::free) return true;
  return to == BlockState::vacant && base::is_aligned(range.offset | range.bytes, config_.page_bytes) &&
         !pins_.overlaps(touched(range));
}

bool Suballocator::change_pages(Range pages, BlockState from, BlockState to) noexcept {
  const BlockIndex block = block_around(pages, true);
  if (block == kNoBlock || blocks_[block].state != from) return false;
  if (blocks_[block].slot != kReadySlot || !may_become(pages, to)) return false;
  if (blocks_.spare() < 2) return false;
  const GranuleSpan span = touched(pages);
  const BlockIndex part = cut(block, static_cast<std::uint32_t>(span.begin), static_cast<std::uint32_t>(span.length()));
  bytes_in(from, kReadySlot) -= pages.bytes;
  if (to == BlockState::free) {
    join<BlockState::free>(part, {});
  } else {
    join<BlockState::vacant>(part, {});
  }
  return true;
}

bool Suballocator::fill(Range pages) noexcept { return change_pages(pages, BlockState::vacant, BlockState::free); }

bool Suballocator::vacate(Range pages) noexcept { return change_pages(pages, BlockState::free, BlockState::vacant); }

BlockIndex Suballocator::begin_move(Range range) noexcept {
  const BlockIndex block = block_around(range, false);
  if (block == kNoBlock || blocks_.spare() < 2) return kNoBlock;
  const BlockState from = blocks_[block].state;
  if (from == BlockState::vacant) {
    if (!base::is_aligned(range.offset | range.bytes, config_.page_bytes)) return kNoBlock;
  } else if (from != BlockState::free || blocks_[block].slot != kReadySlot) {
    return kNoBlock;
  }
  const GranuleSpan span = touched(range);
  const BlockIndex moving =
      cut(block, static_cast<std::uint32_t>(span.begin), static_cast<std::uint32_t>(span.length()));
  blocks_[moving].state = BlockState::moving;
  bytes_in(from, kReadySlot) -= range.bytes;
  totals_.moving_bytes += range.bytes;
  return moving;
}

BlockIndex Suballocator::settle(BlockIndex moving, BlockState to, std::uint64_t head_bytes) noexcept {
  if (!is(moving, BlockState::moving)) return kNoBlock;
  const Range whole = view(moving).range;
  const bool in_part = head_bytes < whole.bytes;
  const Range head{whole.offset, in_part ? head_bytes : whole.bytes};
  if (head.bytes == 0 || !base::is_aligned(head.bytes, kGranuleBytes)) return moving;
  if (!may_become(head, to) || (in_part && blocks_.spare() == 0)) return moving;
  const GranuleSpan span = touched(head);
  const BlockIndex settled =
      cut(moving, static_cast<std::uint32_t>(span.begin), static_cast<std::uint32_t>(span.length()));
  totals_.moving_bytes -= head.bytes;
  if (to == BlockState::free) {
    join<BlockState::free>(settled, {});
  } else {
    join<BlockState::vacant>(settled, {});
  }
  return in_part ? moving : kNoBlock;
}

bool Suballocator::land(BlockIndex moving) noexcept {
  if (!is(moving, BlockState::moving)) return false;
  BlockNode& node = blocks_[moving];
  node.state = BlockState::live;
  addresses_.set_live(node.offset, moving);
  totals_.moving_bytes -= node.range().bytes;
  totals_.live_bytes += node.range().bytes;
  ++totals_.live_blocks;
  return true;
}

bool Suballocator::retire(BlockIndex live) noexcept {
  if (!is(live, BlockState::live)) return false;
  BlockNode& node = blocks_[live];
  addresses_.clear_live(node.offset, live);
  node.state = BlockState::moving;
  totals_.live_bytes -= node.range().bytes;
  --totals_.live_blocks;
  totals_.moving_bytes += node.range().bytes;
  return true;
}

bool Suballocator::is_pinned(Range range) const noexcept { return !pins_.empty() && pins_.overlaps(touched(range)); }

bool Suballocator::pin_range(Range range) noexcept {
  if (range.bytes == 0 || range.offset >= config_.range_bytes) return false;
  if (range.bytes > config_.range_bytes - range.offset) return false;
  const GranuleSpan span = touched(range);
  if (totals_.moving_bytes != 0) {
    BlockIndex block = addresses_.containing(blocks_, span.begin);
    for (; block != kNoBlock && blocks_[block].offset < span.end; block = blocks_[block].next) {
      if (blocks_[block].state == BlockState::moving) return false;
    }
  }
  pins_.add(span);
  return true;
}

bool Suballocator::unpin_range(Range range) noexcept {
  if (range.bytes == 0 || range.offset >= config_.range_bytes) return false;
  if (range.bytes > config_.range_bytes - range.offset) return false;
  return pins_.remove(touched(range));
}

}  // namespace cistern::core
