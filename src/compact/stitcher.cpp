#include "compact/stitcher.hpp"

#include "pool/growth.hpp"
#include "pool/pool_core.hpp"
#include "pool/transfers.hpp"

namespace cistern::compact {
namespace {

// Plans that other threads' allocations have overtaken are made again. Each time somebody else has been served.
constexpr int kMostPlans = 4;

// Refuses what the system's limits would stop half-way.
base::Status check_limits(const pool::Arena& arena, const core::RepairPlan& plan) {
  return arena.device().check_page_moves(plan.fill_pages, plan.donors.size() + plan.fills.size());
}

// Have stitches been paid for so long that the pages this one needs are better bought?
bool growth_is_due(const pool::PoolCore& pool, const pool::Arena& arena, const core::RepairPlan& plan) noexcept {
  if (pool.options.slack_percent == 0) return false;
  if (pool.pages_moved_since_growth < pool.reserved / arena.page_bytes()) return false;
  const std::uint64_t wanted = plan.fill_pages * arena.page_bytes();
  const std::uint64_t live_peak = pool.counts.peak_requested_bytes;
  return wanted <= pool::room_under_limit(pool) &&
         pool.reserved + wanted <= live_peak + live_peak / 100 * pool.options.slack_percent;
}

}  // namespace

pool::RescueResult StitchStep::run(pool::PoolCore& pool, const pool::Need& need, pool::PoolLock& lock) {
  pool::RescueResult result;
  if (pool.options.growth != pool::Growth::expandable) return result;
  pool::Arena& arena = *pool.page_arena;
  const std::uint64_t began = pool.clock->now_ns();
  for (int plans = 0; plans < kMostPlans; ++plans) {
    core::RepairPlan plan;
    const std::uint64_t room_pages = pool::room_under_limit(pool) / arena.page_bytes();
    bool found = false;
    {
      const pool::TimedPause hold(*pool.clock, &pool.pauses.others);
      found = arena.blocks().plan_repair(need.bytes, need.alignment, {room_pages, true}, &plan);
    }
    if (!found) {
      result.limited = true;
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

std::vector<std::unique_ptr<pool::RescueStep>> rescue_steps(pool::OnMiss on_miss) {
  std::vector<std::unique_ptr<pool::RescueStep>> steps;
  // After growth in any case: also what was left to growth, and then was refused, is stitched.
  if (on_miss == pool::OnMiss::stitch_first) {
    steps.push_back(std::make_unique<StitchStep>(pool::RescueOrder::stitch_first));
  }
  steps.push_back(std::make_unique<StitchStep>(pool::RescueOrder::stitch));
  return steps;
}

}  // namespace cistern::compact
