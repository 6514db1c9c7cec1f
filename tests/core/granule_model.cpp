#include "core/granule_model.hpp"

#include <algorithm>

namespace cistern::core::testing {
namespace {

std::uint64_t aligned_up(std::uint64_t value, std::uint64_t alignment) {
  while (value % alignment != 0) value += alignment - value % alignment;
  return value;
}

bool fits_in(Stretch hole, std::uint64_t length, std::uint64_t alignment) {
  return aligned_up(hole.begin, alignment) + length <= hole.end;
}

}  // namespace

GranuleModel::GranuleModel(const SuballocatorConfig& config)
    : cells_(config.range_bytes / kGranuleBytes), page_(config.page_bytes / kGranuleBytes) {
  if (config.starts_filled) set({0, cells_.size()}, {BlockState::free, kReadySlot, 0, 0});
}

bool GranuleModel::is(Stretch stretch, BlockState state, ReadinessSlot slot) const {
  if (stretch.end > cells_.size()) return false;
  for (std::uint64_t i = stretch.begin; i < stretch.end; ++i) {
    if (cells_[i].state != state) return false;
    if (state == BlockState::free && cells_[i].slot != slot) return false;
  }
  return true;
}

std::vector<Stretch> GranuleModel::holes(ReadinessSlot slot) const {
  std::vector<Stretch> found;
  for (std::uint64_t i = 0; i < cells_.size(); ++i) {
    if (cells_[i].state != BlockState::free || cells_[i].slot != slot) continue;
    if (!found.empty() && found.back().end == i) {
      ++found.back().end;
    } else {
      found.push_back({i, i + 1});
    }
  }
  return found;
}

bool GranuleModel::any_hole_fits(std::uint64_t length, std::uint64_t alignment, ReadinessSlot slot) const {
  return lowest_fit(length, alignment, slot).has_value();
}

std::optional<std::uint64_t> GranuleModel::lowest_fit(std::uint64_t length, std::uint64_t alignment,
                                                      ReadinessSlot slot) const {
  for (const Stretch hole : holes(slot)) {
    if (fits_in(hole, length, alignment)) return aligned_up(hole.begin, alignment);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> GranuleModel::tightest_fit(std::uint64_t length, std::uint64_t alignment,
                                                        ReadinessSlot slot) const {
  std::optional<std::uint64_t> place;
  std::uint64_t tightest = 0;
  for (const Stretch hole : holes(slot)) {
    if (!fits_in(hole, length, alignment) || (place && hole.length() >= tightest)) continue;
    place = aligned_up(hole.begin, alignment);
    tightest = hole.length();
  }
  return place;
}

std::uint64_t GranuleModel::longest_ready_hole() const {
  std::uint64_t longest = 0;
  for (const Stretch hole : holes(kReadySlot)) longest = std::max(longest, hole.length());
  return longest;
}

bool GranuleModel::pinned(Stretch stretch) const {
  return std::any_of(pins_.begin(), pins_.end(),
                     [&](const Stretch& pin) { return pin.begin < stretch.end && stretch.begin < pin.end; });
}

std::uint64_t GranuleModel::donor_pages(Stretch outside) const {
  std::uint64_t pages = 0;
  for (std::uint64_t begin = 0; begin < cells_.size(); begin += page_) {
    const Stretch page{begin, begin + page_};
    const bool touches = page.begin < outside.end && outside.begin < page.end;
    if (!touches && is(page, BlockState::free) && !pinned(page)) ++pages;
  }
  return pages;
}

bool GranuleModel::usable(std::uint64_t granule) const {
  const Cell& cell = cells_[granule];
  return cell.state == BlockState::vacant || (cell.state == BlockState::free && cell.slot == kReadySlot);
}

std::uint64_t GranuleModel::vacant_pages_touched(Stretch window) const {
  std::uint64_t pages = 0;
  for (std::uint64_t begin = window.begin / page_ * page_; begin < window.end; begin += page_) {
    // A page is vacant as a whole or not at all.
    if (cells_[begin].state == BlockState::vacant) ++pages;
  }
  return pages;
}

std::optional<CheapestWindow> GranuleModel::cheapest_window(std::uint64_t length, std::uint64_t alignment,
                                                            const RepairLimits& limits) const {
  std::optional<CheapestWindow> best;
  std::uint64_t usable_from = 0;  // no unusable cell in [usable_from, end)
  std::uint64_t end = 0;
  for (std::uint64_t start = 0; start + length <= cells_.size(); start += alignment) {
    usable_from = std::max(usable_from, start);
    end = std::max(end, start);
    for (; end < start + length; ++end) {
      if (!usable(end)) usable_from = end + 1;
    }
    if (usable_from > start) continue;
    const Stretch window{start, start + length};
    const std::uint64_t fill = vacant_pages_touched(window);
    if (best && fill >= best->fill_pages) continue;
    if (fill > limits.max_new_pages) {
      const std::uint64_t donors = limits.use_donors ? donor_pages(window) : 0;
      if (fill - std::min(fill, donors) > limits.max_new_pages) continue;
    }
    best = CheapestWindow{start, fill};
  }
  return best;
}

void GranuleModel::set(Stretch stretch, Cell cell) {
  std::fill(cells_.begin() + static_cast<std::ptrdiff_t>(stretch.begin),
            cells_.begin() + static_cast<std::ptrdiff_t>(stretch.end), cell);
}

void GranuleModel::make_live(Stretch stretch) { set(stretch, {BlockState::live, kReadySlot, 0, next_id_++}); }

void GranuleModel::make_vacant(Stretch stretch) { set(stretch, {BlockState::vacant, kReadySlot, 0, 0}); }

void GranuleModel::make_moving(Stretch stretch) { set(stretch, {BlockState::moving, kReadySlot, 0, next_id_++}); }

void GranuleModel::make_free(Stretch stretch, Readiness readiness) {
  if (readiness.slot == kReadySlot) readiness.batch = 0;
  set(stretch, {BlockState::free, readiness.slot, readiness.batch, 0});
  // The later batch wins for the whole hole.
  for (const Stretch hole : holes(readiness.slot)) {
    if (hole.end <= stretch.begin || stretch.end <= hole.begin) continue;
    std::uint32_t batch = 0;
    for (std::uint64_t i = hole.begin; i < hole.end; ++i) batch = std::max(batch, cells_[i].batch);
    set(hole, {BlockState::free, readiness.slot, batch, 0});
  }
}

std::uint64_t GranuleModel::make_ready(ReadinessSlot slot, std::uint32_t batch) {
  if (slot == kReadySlot) return 0;
  std::uint64_t granules = 0;
  for (Cell& cell : cells_) {
    if (cell.state != BlockState::free || cell.slot != slot || cell.batch > batch) continue;
    cell.slot = kReadySlot;
    cell.batch = 0;
    ++granules;
  }
  return granules;
}

bool GranuleModel::unpin(Stretch stretch) {
  const auto found = std::find_if(pins_.begin(), pins_.end(), [&](const Stretch& pin) {
    return pin.begin == stretch.begin && pin.end == stretch.end;
  });
  if (found == pins_.end()) return false;
  pins_.erase(found);
  return true;
}

std::uint64_t GranuleModel::count(BlockState state) const {
  return static_cast<std::uint64_t>(
      std::count_if(cells_.begin(), cells_.end(), [state](const Cell& cell) { return cell.state == state; }));
}

bool GranuleModel::in_one_block(const Cell& left, const Cell& right) const {
  return left.state == right.state && left.slot == right.slot && left.id == right.id;
}

SpaceTotals GranuleModel::count_all() const {
  SpaceTotals sums;
  for (std::uint64_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    const std::uint64_t begins = i == 0 || !in_one_block(cells_[i - 1], cell) ? 1 : 0;
    switch (cell.state) {
      case BlockState::live:
        sums.live_bytes += kGranuleBytes;
        sums.live_blocks += begins;
        break;
      case BlockState::free:
        (cell.slot == kReadySlot ? sums.free_ready_bytes : sums.free_pending_bytes) += kGranuleBytes;
        sums.free_blocks += begins;
        break;
      case BlockState::vacant:
        sums.vacant_bytes += kGranuleBytes;
        sums.vacant_blocks += begins;
        break;
      default:
        sums.moving_bytes += kGranuleBytes;
    }
  }
  return sums;
}

std::string GranuleModel::difference(const Suballocator& arena) const {
  std::uint64_t at = 0;
  for (BlockIndex block = arena.first_block(); block != kNoBlock; block = arena.next_block(block)) {
    const BlockView view = arena.view(block);
    const std::string where = " at granule " + std::to_string(at);
    if (view.range.offset != at * kGranuleBytes) return "a block does not begin" + where;
    const std::uint64_t end = view.range.end() / kGranuleBytes;
    if (end > cells_.size() || end == at) return "a block has a wrong length" + where;
    const Cell& first = cells_[at];
    if (view.state != first.state) return "a block has a wrong state" + where;
    if (view.state == BlockState::free && (view.readiness.slot != first.slot || view.readiness.batch != first.batch)) {
      return "a hole has a wrong readiness" + where;
    }
    for (std::uint64_t i = at + 1; i < end; ++i) {
      if (!in_one_block(first, cells_[i])) return "a block is too long" + where;
    }
    if (end < cells_.size() && in_one_block(first, cells_[end])) {
      return "a block is too short" + where;
    }
    const bool live = view.state == BlockState::live;
    if (arena.find_live(view.range.offset) != (live ? block : kNoBlock)) {
      return "find_live is wrong" + where;
    }
    if (arena.find_containing(view.range.end() - 1) != block || arena.find_containing(view.range.offset) != block) {
      return "find_containing is wrong" + where;
    }
    at = end;
  }
  if (at != cells_.size()) return "the blocks end too early";
  const SpaceTotals sums = count_all();
  const SpaceTotals& kept = arena.totals();
  if (kept.live_bytes != sums.live_bytes || kept.live_blocks != sums.live_blocks ||
      kept.free_ready_bytes != sums.free_ready_bytes || kept.free_blocks != sums.free_blocks ||
      kept.free_pending_bytes != sums.free_pending_bytes || kept.vacant_bytes != sums.vacant_bytes ||
      kept.vacant_blocks != sums.vacant_blocks || kept.moving_bytes != sums.moving_bytes) {
    return "the totals are wrong";
  }
  if (arena.largest_free_bytes() != longest_ready_hole() * kGranuleBytes) {
    return "largest_free_bytes is wrong";
  }
  return {};
}

}  // namespace cistern::core::testing
