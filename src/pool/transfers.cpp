#include "pool/transfers.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "pool/growth.hpp"
#include "pool/observed.hpp"

namespace cistern::pool {
namespace {

// However fast pages move: pages that are settled, and ranges that are marked, in one hold of the lock.
constexpr std::uint64_t kMostPagesOfBatch = 256;
constexpr std::uint64_t kMostRangesOfHold = 256;

void relock(PoolLock& lock) {
  lock.unlock();
  std::this_thread::yield();
  lock.lock();
}

// Moves one batch, with no lock held, and learns what a page takes.
void move_batch(PoolCore& pool, PageTransfer& transfer, bool moves_donors) {
  if (moves_donors) pool.moves.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t began = pool.clock->now_ns();
  transfer.move_batch();
  const std::uint64_t took = pool.clock->now_ns() - began;
  pool.page_ns = (3 * pool.page_ns + took / transfer.batch_pages()) / 4;
  if (moves_donors) pool.moves.fetch_add(1, std::memory_order_relaxed);
}

// Takes what the plan needs, with the lock free in between; gives it back where somebody was faster.
bool mark(PoolCore& pool, PageTransfer& transfer, const core::RepairPlan& plan, PauseHistogram* holds, PoolLock& lock) {
  bool more = false;
  {
    const TimedPause hold(*pool.clock, holds);
    if (!transfer.begin(plan)) return false;
    more = transfer.mark_donors(kMostRangesOfHold);
  }
  while (more) {
    relock(lock);
    const TimedPause hold(*pool.clock, holds);
    more = transfer.mark_donors(kMostRangesOfHold);
  }
  if (!transfer.is_stale()) return true;
  for (more = true; more;) {
    const TimedPause hold(*pool.clock, holds);
    more = transfer.unmark(kMostRangesOfHold);
  }
  return false;
}

void report_changes(PoolCore& pool, const Arena& arena, const PageTransfer& transfer) {
  transfer.for_each_change([&](core::Range range, bool filled) {
    observe_range(pool, filled ? EventOp::fill : EventOp::vacate, arena.address_of(range.offset), range.bytes);
    pool.note_backing_change(arena, range, filled);
  });
}

}  // namespace

std::uint64_t pages_within(const PoolCore& pool, std::uint64_t ns) noexcept {
  return std::max<std::uint64_t>(1, ns / std::max<std::uint64_t>(1, pool.page_ns));
}

void settle_stuck(PoolCore& pool, PoolLock& lock) {
  if (pool.stuck.empty()) return;
  std::vector<StuckPages> all;
  all.swap(pool.stuck);
  for (const StuckPages& each : all) {
    lock.unlock();
    const base::Status enabled = each.arena->enable_access(each.pages);
    lock.lock();
    if (!enabled.is_ok()) {
      pool.stuck.push_back(each);
      continue;
    }
    const core::BlockIndex rest = each.arena->blocks().settle(each.block, core::BlockState::free, each.pages.bytes);
    if (rest != core::kNoBlock) each.arena->blocks().settle(rest, core::BlockState::vacant);
  }
}

TransferResult transfer_pages(PoolCore& pool, Arena& arena, const core::RepairPlan& plan, PoolLock& lock) {
  PageTransfer transfer(arena, *pool.pages, pool.account);
  const bool stitches = plan.donor_pages > 0;
  PauseHistogram* const holds = stitches ? &pool.pauses.others : nullptr;
  TransferResult result;
  const std::uint64_t promised = plan.new_pages * arena.page_bytes();
  if (!claim_memory(pool, promised)) {
    result.status = refused_by_others(pool, promised);
    return result;
  }
  if (!mark(pool, transfer, plan, holds, lock)) {
    release_memory(pool, promised);
    result.is_stale = true;
    result.status = base::Status(base::StatusCode::busy, "memory that was to move has been allocated meanwhile");
    return result;
  }
  pool.promised += promised;
  for (;;) {
    {
      const TimedPause hold(*pool.clock, holds);
      const std::uint64_t most = std::min(kMostPagesOfBatch, pages_within(pool, pool.options.step_us * 1000));
      if (!transfer.next_batch(most)) break;
    }
    lock.unlock();
    move_batch(pool, transfer, stitches);
    if (pool.turn.is_wanted()) pool.turn.give_way();
    lock.lock();
  }
  {
    const TimedPause hold(*pool.clock, holds);
    transfer.commit(&pool.stuck);
    pool.promised -= promised;
    pool.reserved += static_cast<std::uint64_t>(transfer.mapped_change());
    release_memory(pool, promised - static_cast<std::uint64_t>(transfer.mapped_change()));
    pool.note_reserved_peak();
    if (pool.observer || pool.listener) report_changes(pool, arena, transfer);
  }
  result.status = transfer.status();
  result.moved_pages = transfer.moved_pages();
  return result;
}

}  // namespace cistern::pool
