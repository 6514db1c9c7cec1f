#include "compact/stitcher.hpp"

#include <algorithm>

#include "compact/relocator.hpp"
#include "pool/growth.hpp"
#include "pool/pool_core.hpp"
#include "pool/transfers.hpp"

namespace cistern::compact {
namespace {

// Plans that other threads' allocations have overtaken are made again. Each time somebody else has been served.
constexpr int kMostPlans = 4;

constexpr std::uint64_t kNoTimeLimitUs = std::uint64_t{1} << 40;  // in ns, too

// Refuses what the system's limits would stop half-way.
base::Status check_limits(const pool::Arena& arena, const core::RepairPlan& plan) {
  return arena.device().check_page_moves(plan.fill_pages, plan.donors.size() + plan.fills.size());
}

// How far above its peak of live bytes the pool may grow now, in percent. Moves since it last grew earn it: all pages
// moved once earns the option's percentage, 32 times twice that, 256 times four times that and no more. Short loads
// never get there (of 29 recorded traces one did); a server that stitches for ever ends that within a minute or so.
std::uint64_t earned_slack_percent(const pool::PoolCore& pool, const pool::Arena& arena) noexcept {
  const std::uint64_t pages = std::max<std::uint64_t>(pool.reserved / arena.page_bytes(), 1);
  const std::uint64_t turns = pool.pages_moved_since_growth / pages;
  if (turns == 0) return 0;
  return pool.options.slack_percent * (turns >= 256 ? 4 : turns >= 32 ? 2 : 1);
}

// Have stitches been paid for so long that the pages this one needs are better bought?
bool growth_is_due(const pool::PoolCore& pool, const pool::Arena& arena, const core::RepairPlan& plan) noexcept {
  const std::uint64_t percent = earned_slack_percent(pool, arena);
  if (percent == 0) return false;
  const std::uint64_t wanted = plan.fill_pages * arena.page_bytes();
  const std::uint64_t live_peak = pool.counts.peak_requested_bytes;
  return wanted <= pool::room_under_limit(pool) && pool.reserved + wanted <= live_peak + live_peak / 100 * percent;
}

// The first `pages` of the plan's fills, so that they lengthen a hole that is there: behind a kept part rather than
// before it. The target is given up, everything in it that is free stays usable meanwhile.
// `spared`: bytes of the largest hole, of which one is left alone; 0: none has to be.
core::RepairPlan first_batch(const core::RepairPlan& plan, std::uint64_t pages, const pool::Arena& arena,
                             std::uint64_t spared) {
  const std::uint64_t page_bytes = arena.page_bytes();
  core::RepairPlan batch;
  std::uint64_t left = std::min(pages, plan.donor_pages) * page_bytes;
  const auto take = [&left](core::Range range, bool from_end, std::vector<core::Range>* into) {
    const std::uint64_t bytes = std::min(left, range.bytes);
    if (bytes == 0) return;
    into->push_back({from_end ? range.end() - bytes : range.offset, bytes});
    left -= bytes;
  };
  core::BlockIndex left_alone = core::kNoBlock;  // one hole of that size is enough
  for (const core::Range& donor : plan.donors) {
    const core::BlockView hole = arena.blocks().view(arena.blocks().find_containing(donor.offset));
    if (spared != 0 && hole.range.bytes >= spared && left_alone == core::kNoBlock) left_alone = hole.index;
    if (hole.index != left_alone) take(donor, false, &batch.donors);
  }
  for (const core::Range& donor : batch.donors) batch.donor_pages += donor.bytes / page_bytes;
  batch.fill_pages = batch.donor_pages;
  left = batch.fill_pages * page_bytes;
  const bool leads = !plan.keeps.empty() && plan.fills.front().offset < plan.keeps.front().offset;
  for (std::size_t i = leads ? 1 : 0; i < plan.fills.size(); ++i) take(plan.fills[i], false, &batch.fills);
  if (leads) take(plan.fills.front(), true, &batch.fills);
  return batch;
}

// A batch towards `hole` within `budget`, without donors where there is none. With the lock held.
core::RepairPlan plan_batch(pool::PoolCore& pool, const pool::Need& hole, const pool::BatchBudget& budget) {
  const pool::TimedPause hold(*pool.clock, &pool.pauses.others);
  const pool::Arena& arena = *pool.page_arena;
  const std::uint64_t affordable = budget.max_bytes / arena.page_bytes();
  core::RepairPlan plan;
  if (affordable == 0 || !arena.blocks().plan_repair(hole.bytes, hole.alignment, {0, true}, &plan)) return {};
  if (plan.fill_pages == 0) return {};
  const std::uint64_t all_us = std::min(budget.all_us, kNoTimeLimitUs);
  const std::uint64_t in_all = std::min(budget.all_bytes / arena.page_bytes(), pool::pages_within(pool, all_us * 1000));
  const std::uint64_t spared = in_all >= plan.fill_pages ? 0 : arena.blocks().largest_free_bytes();
  return first_batch(plan, std::min(affordable, pool::pages_within(pool, budget.max_us * 1000)), arena, spared);
}

}  // namespace

pool::BatchResult StitchStep::compact(pool::PoolCore& pool, const pool::Need& hole, const pool::BatchBudget& budget,
                                      pool::PoolLock& lock) {
  pool::BatchResult result;
  if (pool.page_arena == nullptr || order_ != pool::RescueOrder::stitch) return result;
  pool::Arena& arena = *pool.page_arena;
  core::RepairPlan batch = plan_batch(pool, hole, budget);
  if (batch.donor_pages != 0 && pool::settle_streams(pool, lock)) batch = plan_batch(pool, hole, budget);
  if (batch.donor_pages == 0) return result;
  result.failure = check_limits(arena, batch);
  if (!result.failure.is_ok()) return result;
  const pool::TransferResult moved = pool::transfer_pages(pool, arena, batch, lock);
  result.moved_bytes = moved.moved_pages * arena.page_bytes();
  if (!moved.is_stale) result.failure = moved.status;
  return result;
}

pool::RescueResult StitchStep::run(pool::PoolCore& pool, const pool::Need& need, pool::PoolLock& lock) {
  pool::RescueResult result;
  if (pool.options.growth != pool::Growth::expandable) return result;
  pool::Arena& arena = *pool.page_arena;
  const std::uint64_t began = pool.clock->now_ns();
  pool::settle_stuck(pool, lock);
  for (int plans = 0; plans < kMostPlans; ++plans) {
    core::RepairPlan plan;
    const std::uint64_t room_pages = pool::room_under_limit(pool) / arena.page_bytes();
    bool found = false;
    {
      const pool::TimedPause hold(*pool.clock, &pool.pauses.others);
      found = arena.blocks().plan_repair(need.bytes, need.alignment, {room_pages, true}, &plan);
    }
    if (!found) {
      result.limited = pool::is_own_limit_nearer(pool);
      result.failure =
          base::Status(base::StatusCode::limit_exceeded, "the free pages and the limit's rest do not suffice");
      return result;
    }
    if (plan.donor_pages == 0) return result;  // that is growth, or somebody has freed enough
    if (order_ == pool::RescueOrder::stitch_first && growth_is_due(pool, arena, plan)) return result;
    if (pool::settle_streams(pool, lock)) continue;
    result.failure = check_limits(arena, plan);
    if (!result.failure.is_ok()) return result;
    const pool::TransferResult moved = pool::transfer_pages(pool, arena, plan, lock);
    if (moved.moved_pages != 0) {
      ++pool.counts.stitches;
      pool.counts.stitched_pages += moved.moved_pages;
      pool.pages_moved_since_growth += moved.moved_pages;
      pool.pauses.requester.record(pool.clock->now_ns() - began);
    }
    result.failure = moved.status;
    result.changed = moved.status.is_ok();
    if (!moved.is_stale) return result;
  }
  return result;
}

std::vector<std::unique_ptr<pool::RescueStep>> stitch_steps(pool::OnMiss on_miss) {
  std::vector<std::unique_ptr<pool::RescueStep>> steps;
  // After growth in any case: also what was left to growth, and then was refused, is stitched.
  if (on_miss == pool::OnMiss::stitch_first) {
    steps.push_back(std::make_unique<StitchStep>(pool::RescueOrder::stitch_first));
  }
  steps.push_back(std::make_unique<StitchStep>(pool::RescueOrder::stitch));
  return steps;
}

std::vector<std::unique_ptr<pool::RescueStep>> rescue_steps(pool::OnMiss on_miss) {
  auto steps = stitch_steps(on_miss);
  steps.push_back(std::make_unique<RelocateStep>());
  return steps;
}

}  // namespace cistern::compact
