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
    if (pool::settle_streams(pool, lock)) continue;
    result.failure = check_limits(arena, plan);
    if (!result.failure.is_ok()) return result;
    const pool::TransferResult moved = pool::transfer_pages(pool, arena, plan, lock);
    if (moved.moved_pages != 0) {
      ++pool.counts.stitches;
      pool.counts.stitched_pages += moved.moved_pages;
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
  steps.push_back(std::make_unique<StitchStep>(on_miss));
  return steps;
}

}  // namespace cistern::compact
