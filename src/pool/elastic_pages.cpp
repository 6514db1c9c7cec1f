#include "pool/elastic_pages.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/units.hpp"
#include "pool/growth.hpp"
#include "pool/pool.hpp"
#include "pool/transfers.hpp"

namespace cistern::pool {

using core::BlockState;
using core::kNoBlock;
using core::Range;

namespace {

// Plans that other threads' allocations have overtaken are made again. Each time somebody else has been served.
constexpr int kMostPlans = 4;
// Pages that leave in one transfer: each is marked by itself, so that the highest goes first.
constexpr std::uint64_t kPagesPerShrink = 16;
// Cuts that one step below may need, those of its transfer included.
constexpr std::uint64_t kCuts = kPagesPerShrink + 4;

// What a miss would try that can free whole pages: all but what makes holes of pages that are free already.
bool may_free_pages(RescueOrder order) noexcept {
  switch (order) {
    case RescueOrder::same_stream:
    case RescueOrder::insert_wait:
    case RescueOrder::stitch_first:
    case RescueOrder::grow:
    case RescueOrder::stitch:
    case RescueOrder::relocate:
      return false;
    default:
      return true;
  }
}

}  // namespace

// The live block gets another length: what it grows by is free memory right behind it, what it loses becomes free.
// False: the block table is full, nothing has changed.
bool ElasticPages::reshape(std::uint64_t backed) {
  if (backed == elastic_.backed) return true;
  if (!blocks().can_cut(1)) return false;
  std::uint32_t flags = kFlagElastic;
  if (elastic_.backed != 0) {
    const core::BlockIndex block = blocks().find_live(elastic_.range.offset);
    flags = blocks().record(block).flags;  // with the streams that use it
    blocks().retire(block);
    blocks().settle(block, BlockState::free);
    pool_.requested -= elastic_.bytes;
  }
  if (backed != 0) {
    const core::BlockIndex block = blocks().begin_move({elastic_.range.offset, backed});
    // Before it is live: from then on a wrong free, which needs no lock, may look at the record.
    core::BlockRecord& record = blocks().record(block);
    record.requested_bytes = elastic_.bytes;
    record.tag = elastic_.tag;
    record.name = 0;
    record.movable = kElasticNumber;
    ++record.generation;
    record.flags = flags;
    set_cached_in(record, kHeldByHandle);
    blocks().land(block);
    pool_.requested += elastic_.bytes;
  }
  pool_.counts.allocations += elastic_.backed == 0 ? 1 : 0;
  pool_.counts.frees += backed == 0 ? 1 : 0;
  pool_.allocated += backed;
  pool_.allocated -= elastic_.backed;
  elastic_.backed = backed;
  return true;
}

// What is vacant or moving behind the live block becomes one moving block again. Where the block table is full, or a
// page is stuck, the buffer is the shorter for it, or stays as it is.
void ElasticPages::close_rest() {
  if (elastic_.stuck != 0 || end() == elastic_.range.end()) return;
  for (std::uint64_t at = end(); at < elastic_.range.end();) {
    const core::BlockView block = blocks().view(blocks().find_containing(at));
    at = block.range.end();
    if (block.state == BlockState::moving) blocks().settle(block.index, BlockState::vacant);
  }
  const Range rest{end(), elastic_.range.end() - end()};
  if (blocks().begin_move(rest) == kNoBlock) elastic_.range.bytes = elastic_.backed;
}

// The first `bytes` of the rest become vacant, for a transfer that follows in the same hold of the lock.
bool ElasticPages::open_rest(std::uint64_t bytes) {
  if (!blocks().can_cut(kCuts)) return false;
  blocks().settle(blocks().find_containing(end()), BlockState::vacant);
  const Range beyond{end() + bytes, elastic_.range.end() - end() - bytes};
  return beyond.bytes == 0 || blocks().begin_move(beyond) != kNoBlock;
}

// Free memory that begins right behind the live block becomes part of it.
void ElasticPages::take_in(Range range) {
  const core::BlockView block = blocks().view(blocks().find_containing(range.offset));
  if (block.state != BlockState::free) return;
  (void)reshape(elastic_.backed + std::min(block.range.end(), range.end()) - range.offset);
}

// A failed transfer may have left pages behind the live block that only a later call can enable: they wait with the
// buffer, not with the pool, which would give them to others.
void ElasticPages::adopt_stuck(Range fill) {
  const auto stuck = std::find_if(pool_.stuck.begin(), pool_.stuck.end(), [&](const StuckPages& each) {
    return each.arena == &arena_ && each.pages.offset >= fill.offset && each.pages.end() <= fill.end();
  });
  if (stuck == pool_.stuck.end()) return;
  elastic_.stuck = stuck->pages.bytes;
  pool_.stuck.erase(stuck);
}

base::Status ElasticPages::settle_stuck() {
  if (elastic_.stuck == 0) return {};
  const Range pages{end(), elastic_.stuck};
  lock_.unlock();
  base::Status enabled = arena_.enable_access(pages);
  lock_.lock();
  if (!enabled.is_ok()) return enabled.with_context("pages of an elastic buffer are still not accessible");
  if (!blocks().can_cut(kCuts)) return base::internal_error("the pool's block table is full");
  blocks().settle(blocks().find_containing(pages.offset), BlockState::free, pages.bytes);
  elastic_.stuck = 0;
  take_in(pages);
  close_rest();
  return {};
}

core::RepairPlan ElasticPages::plan(std::uint64_t pages, bool with_donors) const {
  const Range target{end(), pages * arena_.page_bytes()};
  return arena_.blocks().plan_fill(target, with_donors ? pages : 0);
}

// Carries out a plan whose target is the beginning of the rest.
base::Status ElasticPages::fill(const core::RepairPlan& plan, bool* is_stale) {
  if (!open_rest(plan.target.bytes)) {
    close_rest();
    return base::internal_error("the pool's block table is full");
  }
  const TransferResult moved = transfer_pages(pool_, arena_, plan, lock_);
  adopt_stuck(plan.target);
  take_in(plan.target);
  close_rest();
  if (moved.moved_pages != 0) {
    ++pool_.counts.stitches;
    pool_.counts.stitched_pages += moved.moved_pages;
  }
  if (moved.status.is_ok() && plan.new_pages != 0) ++pool_.counts.growths;
  *is_stale = moved.is_stale;
  return moved.status;
}

base::Status ElasticPages::out_of_room(std::uint64_t pages, const core::RepairPlan& plan) const {
  const std::uint64_t page = arena_.page_bytes();
  if (plan.new_pages * page <= room_under_own_limit(pool_)) return refused_by_others(pool_, plan.new_pages * page);
  const std::uint64_t room = room_under_limit(pool_) / page;
  return base::Status(base::StatusCode::limit_exceeded,
                      "an elastic buffer of pool '" + pool_.options.name + "' needs " + std::to_string(pages) +
                          " pages of " + base::format_bytes(page) + ", but there are " +
                          std::to_string(plan.donor_pages) + " wholly free ones and room for " + std::to_string(room) +
                          " under the limit of " + base::format_bytes(pool_.options.limit_bytes) +
                          "; free memory or raise the limit (CISTERN_LIMIT_BYTES)");
}

// With what is free and what the limit allows now. New pages come first: they are what is refused most easily, and
// then nothing has moved yet.
base::Status ElasticPages::try_grow(std::uint64_t backed) {
  bool with_donors = true;
  for (int plans = 0; elastic_.backed < backed && plans < kMostPlans;) {
    if (backed > elastic_.range.bytes) return base::internal_error("the pool's block table is full");
    const std::uint64_t missing = pages_of(backed - elastic_.backed);
    core::RepairPlan all = plan(missing, with_donors);
    const std::uint64_t room = room_under_limit(pool_) / arena_.page_bytes();
    if (all.new_pages > room) return out_of_room(missing, all);
    if (all.new_pages != 0 && all.donor_pages != 0) all = plan(all.new_pages, false);
    if (all.donor_pages != 0) {
      if (settle_streams(pool_, lock_)) continue;
      if (!arena_.device().check_page_moves(all.fill_pages, all.donors.size() + 1).is_ok()) {
        with_donors = false;
        continue;
      }
    }
    bool is_stale = false;
    base::Status filled = fill(all, &is_stale);
    if (is_stale) {
      ++plans;
    } else if (!filled.is_ok()) {
      return filled;
    }
  }
  if (elastic_.backed >= backed) return {};
  return base::Status(base::StatusCode::busy, "other threads took the free pages for an elastic buffer; try again");
}

base::Status ElasticPages::grow(std::uint64_t backed) {
  const std::uint64_t before = elastic_.backed;
  MissProgress progress;
  auto step = pool_.rescue_steps.begin();
  base::Status grown = try_grow(backed);
  while (!grown.is_ok() && elastic_.stuck == 0 && step != pool_.rescue_steps.end()) {
    if (!may_free_pages((*step)->order())) {
      ++step;
      continue;
    }
    Need need;
    need.bytes = backed - elastic_.backed;
    need.alignment = arena_.page_bytes();
    need.progress = &progress;
    const RescueResult rescue = (*step)->run(pool_, need, lock_);
    ++step;
    if (rescue.changed) grown = try_grow(backed);
    if (rescue.again) step = pool_.rescue_steps.begin();
  }
  if (!grown.is_ok()) shrink(before);
  return grown;
}

void ElasticPages::shrink(std::uint64_t backed) {
  while (elastic_.backed > backed && elastic_.stuck == 0) {
    while (settle_streams(pool_, lock_)) {
    }
    const std::uint64_t page = arena_.page_bytes();
    const std::uint64_t pages = std::min(kPagesPerShrink, pages_of(elastic_.backed - backed));
    const Range leaving{end() - pages * page, pages * page};
    if (!blocks().can_cut(kCuts) || !reshape(elastic_.backed - leaving.bytes)) return;
    core::RepairPlan plan;  // without a target: the pages end up in the PagePool
    for (std::uint64_t i = 1; i <= pages; ++i) plan.donors.push_back({leaving.end() - i * page, page});
    const base::Status left = transfer_pages(pool_, arena_, plan, lock_).status;
    take_in(leaving);  // what would not go
    close_rest();
    if (!left.is_ok()) return;
  }
}

}  // namespace cistern::pool
