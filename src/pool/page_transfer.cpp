#include "pool/page_transfer.hpp"

#include <algorithm>

namespace cistern::pool {

using core::BlockState;
using core::kNoBlock;
using core::Range;

bool PageTransfer::begin(const core::RepairPlan& plan) {
  plan_ = plan;
  new_left_ = new_planned_ = plan.new_pages;
  kept_before_ = pages_.counts().kept;
  if (mark_target()) return true;
  unmark_target();
  return false;
}

bool PageTransfer::mark_target() {
  for (const Range& range : plan_.keeps) {
    const core::BlockIndex block = arena_.blocks().begin_move(range);
    if (block == kNoBlock) return false;
    keeps_.push_back(block);
  }
  for (const Range& range : plan_.fills) {
    Fill fill;
    fill.range = range;
    fill.block = arena_.blocks().begin_move(range);
    if (fill.block == kNoBlock) return false;
    fills_.push_back(fill);
  }
  return true;
}

void PageTransfer::unmark_target() {
  for (const core::BlockIndex keep : keeps_) arena_.blocks().settle(keep, BlockState::free);
  for (const Fill& fill : fills_) arena_.blocks().settle(fill.block, BlockState::vacant);
}

bool PageTransfer::next_batch(std::uint64_t max_pages) {
  settle_donors();
  if (!status_.is_ok()) return false;
  const std::uint64_t marked = mark_donors(max_pages);
  if (marked == 0 && stale_ && !fills_.empty()) {
    status_ = base::Status(base::StatusCode::busy, "pages that were to move have been allocated meanwhile");
    return false;
  }
  // New pages come when all donors are done. What donors lost to others is not made up for: that needs a new plan.
  new_in_batch_ = marked == 0 && !stale_ ? std::min(max_pages, new_left_) : 0;
  new_left_ -= new_in_batch_;
  batch_pages_ = marked + new_in_batch_;
  return batch_pages_ > 0;
}

void PageTransfer::settle_donors() {
  core::Suballocator& blocks = arena_.blocks();
  for (const Donor& donor : batch_) {
    if (donor.vacated == 0) {
      blocks.settle(donor.block, BlockState::free);
      continue;
    }
    const core::BlockIndex rest = blocks.settle(donor.block, BlockState::vacant, donor.vacated);
    if (rest != kNoBlock) blocks.settle(rest, BlockState::free);
    vacated_.push_back({donor.range.offset, donor.vacated});
    mapped_change_ -= static_cast<std::int64_t>(donor.vacated);
  }
  batch_.clear();
}

std::uint64_t PageTransfer::mark_donors(std::uint64_t max_pages) {
  std::uint64_t left = max_pages * arena_.page_bytes();
  while (left > 0 && next_donor_ < plan_.donors.size()) {
    const Range& whole = plan_.donors[next_donor_];
    Donor donor;
    donor.range = {whole.offset + donor_done_, std::min(whole.bytes - donor_done_, left)};
    donor.block = arena_.blocks().begin_move(donor.range);
    if (donor.block != kNoBlock) {
      left -= donor.range.bytes;
      batch_.push_back(donor);
    } else {
      stale_ = true;
    }
    donor_done_ += donor.range.bytes;
    if (donor_done_ < whole.bytes) continue;
    donor_done_ = 0;
    ++next_donor_;
  }
  return max_pages - left / arena_.page_bytes();
}

void PageTransfer::move_batch() {
  status_ = wait_until_unused();
  if (status_.is_ok()) status_ = move_donors();
  if (status_.is_ok()) status_ = map_new();
  if (status_.is_ok()) status_ = enable();
  if (!status_.is_ok()) undo();
  return_spare_pages();
}

// Free memory is free to the host's bookkeeping; work that was queued before the free may still use its pages.
base::Status PageTransfer::wait_until_unused() {
  if (batch_.empty() || !arena_.device().info().capabilities.unmap_needs_idle) return {};
  return arena_.device().wait_device();
}

base::Status PageTransfer::move_donors() {
  for (Donor& donor : batch_) {
    while (donor.vacated < donor.range.bytes) {
      const std::uint64_t from = donor.range.offset + donor.vacated;
      base::Status moved = move_one(from);
      if (arena_.page_at(from) == device::kNoPage) donor.vacated += arena_.page_bytes();
      if (!moved.is_ok()) return moved;
    }
  }
  return {};
}

// The fill that gets the next page; null: the target is full, or there is none (trim).
PageTransfer::Fill* PageTransfer::next_place() {
  while (filling_ < fills_.size() && fills_[filling_].mapped == fills_[filling_].range.bytes) ++filling_;
  return filling_ < fills_.size() ? &fills_[filling_] : nullptr;
}

base::Status PageTransfer::move_one(std::uint64_t from) {
  Fill* fill = next_place();
  if (fill != nullptr && arena_.device().info().capabilities.move_pages) {
    base::Status moved = arena_.move_page(from, fill->range.offset + fill->mapped);
    if (!moved.is_ok()) return moved;
    fill->mapped += arena_.page_bytes();
    ++moved_pages_;
    return {};
  }
  auto page = arena_.unmap_page(from);
  if (!page.is_ok()) return page.take_status();
  ++donors_in_hand_;
  in_hand_.push_back(page.value());
  if (fill == nullptr) return {};
  base::Status placed = place(page.value());
  if (!placed.is_ok()) return placed;
  --donors_in_hand_;
  ++moved_pages_;
  return {};
}

// Maps the last page in hand, which is `page`, at the next place.
base::Status PageTransfer::place(device::PageHandle page) {
  Fill* fill = next_place();
  base::Status mapped = arena_.map_page(fill->range.offset + fill->mapped, page);
  if (!mapped.is_ok()) return mapped;
  in_hand_.pop_back();
  fill->mapped += arena_.page_bytes();
  return {};
}

base::Status PageTransfer::map_new() {
  if (new_in_batch_ == 0) return {};
  base::Status status = pages_.take(account_, new_in_batch_, &in_hand_);
  for (std::uint64_t i = 0; status.is_ok() && i < new_in_batch_; ++i) status = place(in_hand_.back());
  return status;
}

base::Status PageTransfer::enable() {
  for (Fill& fill : fills_) {
    if (fill.mapped == fill.enabled) continue;
    base::Status enabled = arena_.enable_access({fill.range.offset + fill.enabled, fill.mapped - fill.enabled});
    if (!enabled.is_ok()) return enabled;
    fill.enabled = fill.mapped;
    if (!has_new_pages()) fill.kept = fill.enabled;
  }
  return {};
}

// Takes back, last one first, every page that is new or not accessible, so that what remains mapped, if the driver
// refuses that too, is the beginning of a range.
void PageTransfer::undo() {
  for (auto fill = fills_.rbegin(); fill != fills_.rend(); ++fill) {
    while (fill->mapped > fill->kept) {
      auto page = arena_.unmap_page(fill->range.offset + fill->mapped - arena_.page_bytes());
      if (!page.is_ok()) break;
      in_hand_.push_back(page.value());
      if (!has_new_pages()) ++donors_in_hand_;
      fill->mapped -= arena_.page_bytes();
    }
    fill->enabled = std::min(fill->enabled, fill->mapped);
    fill->stuck = fill->mapped > fill->enabled;
  }
}

// Pages without a place are the PagePool's. A failed growth must not leave the device fuller than before, so pages that
// were made for it are destroyed again; if that fails too they stay kept and serve the next growth.
void PageTransfer::return_spare_pages() {
  if (in_hand_.empty()) return;
  pages_.give(account_, in_hand_);
  in_hand_.clear();
  if (!status_.is_ok()) (void)pages_.trim(kept_before_ + donors_in_hand_);
}

void PageTransfer::commit(std::vector<StuckPages>* stuck) {
  settle_donors();
  core::Suballocator& blocks = arena_.blocks();
  for (const core::BlockIndex keep : keeps_) blocks.settle(keep, BlockState::free);
  for (Fill& fill : fills_) {
    if (fill.mapped != 0) filled_.push_back({fill.range.offset, fill.mapped});
    mapped_change_ += static_cast<std::int64_t>(fill.mapped);
    core::BlockIndex rest = fill.block;
    if (fill.enabled != 0) rest = blocks.settle(rest, BlockState::free, fill.enabled);
    if (rest == kNoBlock) continue;
    if (!fill.stuck) {
      blocks.settle(rest, BlockState::vacant);
    } else {
      stuck->push_back({&arena_, rest, {fill.range.offset + fill.enabled, fill.mapped - fill.enabled}});
    }
  }
  arena_.add_mapped_bytes(mapped_change_);
}

}  // namespace cistern::pool
