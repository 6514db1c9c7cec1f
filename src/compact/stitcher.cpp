#include "compact/stitcher.hpp"

#include "pool/growth.hpp"
#include "pool/pool_core.hpp"

namespace cistern::compact {

pool::RescueResult StitchStep::run(pool::PoolCore& pool, const pool::Need& need, pool::PoolLock& lock) {
  pool::RescueResult result;
  if (pool.options.growth != pool::Growth::expandable) return result;
  pool::Arena& arena = *pool.arenas.front();
  core::RepairPlan plan;
  const std::uint64_t room_pages = pool::room_under_limit(pool) / arena.page_bytes();
  if (!arena.blocks().plan_repair(need.bytes, need.alignment, {room_pages, true}, &plan)) {
    result.limited = true;
    result.failure =
        base::Status(base::StatusCode::limit_exceeded, "the free pages and the limit's rest do not suffice");
    return result;
  }
  if (plan.donor_pages == 0) return result;  // that is growth
  result.failure = pool::transfer_pages(pool, arena, plan, lock);
  result.changed = result.failure.is_ok();
  if (result.changed) {
    ++pool.counts.stitches;
    pool.counts.stitched_pages += plan.donor_pages;
  }
  return result;
}

std::vector<std::unique_ptr<pool::RescueStep>> rescue_steps(pool::OnMiss on_miss) {
  std::vector<std::unique_ptr<pool::RescueStep>> steps;
  steps.push_back(std::make_unique<StitchStep>(on_miss));
  return steps;
}

}  // namespace cistern::compact
