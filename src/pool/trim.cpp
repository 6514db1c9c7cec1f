#include "pool/trim.hpp"

#include <algorithm>

#include "base/bits.hpp"
#include "pool/growth.hpp"
#include "pool/magazines.hpp"

namespace cistern::pool {
namespace {

// Unmaps wholly free pages, highest first, so that the arena shrinks towards its beginning.
std::uint64_t vacate_free_pages(PoolCore& pool, Arena& arena, std::uint64_t excess_bytes, PoolLock& lock,
                                base::Status* failure) {
  core::RepairPlan plan;  // donors without a target: their pages end up in the PagePool
  plan.donors = arena.blocks().wholly_free_pages(base::round_up(excess_bytes, arena.page_bytes()));
  if (plan.donors.empty()) return 0;
  const std::uint64_t before = pool.reserved;
  base::Status status = transfer_pages(pool, arena, plan, lock).status;
  if (!status.is_ok()) *failure = std::move(status);
  return before - pool.reserved;
}

// Driver arenas go back to the device, pages to the PagePool. The turn is held.
std::uint64_t give_up_free(PoolCore& pool, std::uint64_t keep_bytes, PoolLock& lock, base::Status* failure) {
  settle_stuck(pool, lock);
  empty_magazines(pool);
  (void)settle_streams(pool, lock);
  base::Status unasked;
  (void)ask_events(pool, lock, &unasked);  // refused: that memory stays
  std::uint64_t returned = release_free_arenas(pool, keep_bytes, lock, failure);
  for (std::size_t i = 0; i < pool.arenas.size() && pool.reserved > keep_bytes; ++i) {
    if (pool.arenas[i]->kind() != ArenaKind::expandable) continue;
    returned += vacate_free_pages(pool, *pool.arenas[i], pool.reserved - keep_bytes, lock, failure);
  }
  if (returned > 0) ++pool.counts.trims;
  return returned;
}

}  // namespace

base::Result<std::uint64_t> trim(PoolCore& pool, std::uint64_t keep_bytes) {
  const MissTurn turn(pool);
  const StreamsSettled settled(pool);
  PoolLock lock(pool.mutex);
  base::Status failure;
  const std::uint64_t returned = give_up_free(pool, keep_bytes, lock, &failure);
  lock.unlock();
  if (pool.pages) {
    base::Status destroyed = pool.pages->trim(0);
    if (!destroyed.is_ok() && failure.is_ok()) failure = std::move(destroyed);
  }
  if (returned == 0 && !failure.is_ok()) return failure;
  return returned;
}

std::uint64_t lend(PoolCore& pool, std::uint64_t wanted) {
  if (pool.contexts->borrowed(pool.context) == 0) return 0;
  const MissTurn turn(pool);
  const StreamsSettled settled(pool);
  PoolLock lock(pool.mutex);
  const std::uint64_t spare = std::min(wanted, pool.contexts->borrowed(pool.context));
  if (spare == 0) return 0;
  base::Status refused;  // what could be had has been given
  const std::uint64_t lent = give_up_free(pool, pool.reserved - std::min(spare, pool.reserved), lock, &refused);
  pool.contexts->note_lent(lent);
  return lent;
}

}  // namespace cistern::pool
