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

bool PageTransfer::mark_donors(std::uint64_t ranges) {
  core::Suballocator& blocks = arena_.blocks();
  for (; ranges > 0 && donors_.size() < plan_.donors.size(); --ranges) {
    Donor donor;
    donor.range = plan_.donors[donors_.size()];
    // Since the plan was made the range may have been allocated, or given its pages to somebody else's repair.
    const bool is_free = blocks.view(blocks.find_containing(donor.range.offset)).state == BlockState::free;
    if (is_free) donor.block = blocks.begin_move(donor.range);
    if (donor.block == kNoBlock) {
      stale_ = true;
      status_ = base::Status(base::StatusCode::busy, "pages that were to move have been allocated meanwhile");
      return false;
    }
    donors_left_ += donor.range.bytes / arena_.page_bytes();
    donors_.push_back(donor);
  }
  return donors_.size() < plan_.donors.size();
}

bool PageTransfer::unmark(std::uint64_t ranges) {
  for (; ranges > 0 && !donors_.empty(); --ranges) {
    arena_.blocks().settle(donors_.back().block, BlockState::free);
    donors_.pop_back();
  }
  if (!donors_.empty()) return true;
  unmark_target();
  return false;
}

bool PageTransfer::next_batch(std::uint64_t max_pages) {
  settle_batch();
  if (!status_.is_ok()) return false;
  donors_in_batch_ = std::min(max_pages, donors_left_);
  // New pages come when all donors are done.
  new_in_batch_ = donors_in_batch_ == 0 ? std::min(max_pages, new_left_) : 0;
  new_left_ -= new_in_batch_;
  batch_pages_ = donors_in_batch_ + new_in_batch_;
  return batch_pages_ > 0;
}

void PageTransfer::settle(Donor* donor) {
  const std::uint64_t gone = donor->vacated - donor->settled;
  if (gone == 0) return;
  donor->block = arena_.blocks().settle(donor->block, BlockState::vacant, gone);
  donor->settled = donor->vacated;
  mapped_change_ -= static_cast<std::int64_t>(gone);
}

void PageTransfer::settle_batch() {
  for (; settling_ < donors_.size(); ++settling_) {
    settle(&donors_[settling_]);
    if (donors_[settling_].vacated < donors_[settling_].range.bytes) return;
  }
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
  if (donors_in_batch_ == 0 || !arena_.device().info().capabilities.unmap_needs_idle) return {};
  return arena_.device().wait_device();
}

base::Status PageTransfer::move_donors() {
  for (; donors_in_batch_ > 0; --donors_in_batch_, --donors_left_) {
    if (donors_[moving_].vacated == donors_[moving_].range.bytes) ++moving_;
    Donor& donor = donors_[moving_];
    const std::uint64_t from = donor.range.offset + donor.vacated;
    base::Status moved = move_one(from);
    if (arena_.page_at(from) == device::kNoPage) donor.vacated += arena_.page_bytes();
    if (!moved.is_ok()) return moved;
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
  core::Suballocator& blocks = arena_.blocks();
  settle_batch();
  for (const Donor& donor : donors_) {
    if (donor.vacated != 0) vacated_.push_back({donor.range.offset, donor.vacated});
    if (donor.vacated != donor.range.bytes) blocks.settle(donor.block, BlockState::free);
  }
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
