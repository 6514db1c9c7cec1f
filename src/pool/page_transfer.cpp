#include "pool/page_transfer.hpp"

namespace cistern::pool {

bool PageTransfer::begin(const core::RepairPlan& plan) {
  new_pages_ = plan.new_pages;
  if (mark(plan.keeps, &keeps_) && mark(plan.fills, &fills_) && mark(plan.donors, &donors_)) return true;
  unmark_all();
  return false;
}

bool PageTransfer::mark(const std::vector<core::Range>& ranges, std::vector<Move>* moves) {
  for (const core::Range& range : ranges) {
    const core::BlockIndex block = arena_.blocks().begin_move(range);
    if (block == core::kNoBlock) return false;
    Move move;
    move.range = range;
    move.block = block;
    moves->push_back(std::move(move));
  }
  return true;
}

void PageTransfer::unmark_all() {
  for (const Move& keep : keeps_) arena_.blocks().settle(keep.block, core::BlockState::free);
  for (const Move& fill : fills_) arena_.blocks().settle(fill.block, core::BlockState::vacant);
  for (const Move& donor : donors_) arena_.blocks().settle(donor.block, core::BlockState::free);
}

base::Status PageTransfer::execute() {
  const std::uint64_t kept_before = pages_.counts().kept;
  base::Status status = unmap_donors();
  if (status.is_ok()) status = pages_.take(account_, new_pages_, &in_hand_);
  if (status.is_ok()) status = map_target();
  if (!status.is_ok()) undo_target();
  return_spare_pages(kept_before);
  return status;
}

base::Status PageTransfer::unmap_donors() {
  for (Move& donor : donors_) {
    for (; donor.unmapped_bytes < donor.range.bytes; donor.unmapped_bytes += arena_.page_bytes()) {
      auto page = arena_.unmap_page(donor.range.offset + donor.unmapped_bytes);
      if (!page.is_ok()) return page.take_status();
      in_hand_.push_back(page.value());
    }
  }
  return {};
}

base::Status PageTransfer::map_target() {
  for (Move& fill : fills_) {
    for (std::uint64_t done = 0; done < fill.range.bytes; done += arena_.page_bytes()) {
      base::Status mapped = arena_.map_page(fill.range.offset + done, in_hand_.back());
      if (!mapped.is_ok()) return mapped;
      fill.mapped.push_back(in_hand_.back());
      in_hand_.pop_back();
    }
    base::Status enabled = arena_.enable_access(fill.range);
    if (!enabled.is_ok()) return enabled;
  }
  return {};
}

// Takes back every page of the target, last one first, so that what remains mapped, if the driver refuses that too, is
// the beginning of the range.
void PageTransfer::undo_target() {
  for (Move& fill : fills_) {
    while (!fill.mapped.empty()) {
      const std::uint64_t offset = fill.range.offset + (fill.mapped.size() - 1) * arena_.page_bytes();
      auto page = arena_.unmap_page(offset);
      if (!page.is_ok()) {
        fill.stuck = true;
        break;
      }
      in_hand_.push_back(page.value());
      fill.mapped.pop_back();
    }
  }
}

// Pages without a place are the PagePool's. A failed growth must not leave the device fuller than before, so pages that
// were made for it are destroyed again; if that fails too they stay kept and serve the next growth.
void PageTransfer::return_spare_pages(std::uint64_t kept_before) {
  if (in_hand_.empty()) return;
  pages_.give(account_, in_hand_);
  in_hand_.clear();
  std::uint64_t from_donors = 0;
  for (const Move& donor : donors_) from_donors += donor.unmapped_bytes / arena_.page_bytes();
  (void)pages_.trim(kept_before + from_donors);
}

std::int64_t PageTransfer::commit() {
  core::Suballocator& blocks = arena_.blocks();
  std::int64_t change = 0;
  for (const Move& keep : keeps_) blocks.settle(keep.block, core::BlockState::free);
  for (const Move& fill : fills_) {
    const std::uint64_t mapped = fill.mapped.size() * arena_.page_bytes();
    change += static_cast<std::int64_t>(mapped);
    if (fill.stuck) continue;
    blocks.settle(fill.block, mapped == fill.range.bytes ? core::BlockState::free : core::BlockState::vacant);
  }
  for (const Move& donor : donors_) {
    change -= static_cast<std::int64_t>(donor.unmapped_bytes);
    if (donor.unmapped_bytes == 0) {
      blocks.settle(donor.block, core::BlockState::free);
      continue;
    }
    const core::BlockIndex rest = blocks.settle(donor.block, core::BlockState::vacant, donor.unmapped_bytes);
    if (rest != core::kNoBlock) blocks.settle(rest, core::BlockState::free);
  }
  arena_.add_mapped_bytes(change);
  return change;
}

}  // namespace cistern::pool
