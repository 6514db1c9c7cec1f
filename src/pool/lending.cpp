#include "pool/lending.hpp"

#include <algorithm>

#include "base/units.hpp"
#include "pool/growth.hpp"
#include "pool/trim.hpp"
#include "pool/unlocked.hpp"

namespace cistern::pool {
namespace {

constexpr std::uint32_t kMostRounds = 8;  // in which others may take what was collected for one request

// Pages that a PagePool keeps unmapped, as bytes given back to the device.
std::uint64_t destroy_kept(device::PagePool& pages) {
  const std::uint64_t before = pages.counts().destroyed;
  (void)pages.trim(0);  // refused: they stay kept
  return (pages.counts().destroyed - before) * pages.page_bytes();
}

}  // namespace

Shortage shortage_of(const PoolCore& pool, const Need& need) {
  std::uint64_t wanted = driver_bytes_for(pool, need);
  if (pool.page_arena != nullptr) {
    const bool may_stitch = std::any_of(pool.rescue_steps.begin(), pool.rescue_steps.end(),
                                        [](const auto& step) { return step->order() == RescueOrder::stitch; });
    const core::RepairLimits limits{~std::uint64_t{0}, may_stitch};
    core::RepairPlan plan;
    if (pool.page_arena->blocks().plan_repair(need.bytes, need.alignment, limits, &plan)) {
      wanted = plan.new_pages * pool.page_arena->page_bytes();
    }
  }
  const std::uint64_t under_limit = room_under_own_limit(pool);
  if (wanted > under_limit) return {wanted - under_limit, true};
  const std::uint64_t room = room_under_limit(pool);
  return {wanted > room ? wanted - room : wanted, false};
}

std::uint64_t collect_from_others(ContextSet& contexts, ContextId id, const device::PagePool* pages,
                                  std::uint64_t wanted) {
  std::uint64_t collected = 0;
  contexts.visit_others(id, [&](PoolCore& lender) {
    if (lender.pages != nullptr && lender.pages.get() != pages) collected += destroy_kept(*lender.pages);
    if (collected >= wanted) return false;
    collected += lend(lender, wanted - collected);
    if (lender.pages != nullptr && lender.pages.get() != pages) (void)destroy_kept(*lender.pages);
    return collected < wanted;
  });
  return collected;
}

RescueResult OtherPoolsStep::run(PoolCore& pool, const Need& need, PoolLock& lock) {
  RescueResult result;
  result.is_idle = pool.contexts == nullptr || pool.contexts->is_alone(pool.context);
  if (result.is_idle || need.progress == nullptr) return result;
  const Shortage lack = shortage_of(pool, need);
  if (lack.by_own_limit) return result;
  if (need.progress->rounds_of_others >= kMostRounds) {
    result.failure = base::Status(base::StatusCode::out_of_memory, "what they gave was taken by others each time");
    return result;
  }
  ++need.progress->rounds_of_others;
  const std::uint64_t collected = run_unlocked(
      pool, lock, [&] { return collect_from_others(*pool.contexts, pool.context, pool.pages.get(), lack.bytes); });
  result.changed = result.again = collected != 0;
  if (collected == 0) {
    result.failure =
        base::Status(base::StatusCode::out_of_memory,
                     base::format_bytes(lack.bytes) + " are missing; none has wholly free pages above its minimum");
  }
  return result;
}

}  // namespace cistern::pool
