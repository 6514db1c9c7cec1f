// Transfers: repair plans carried out on a pool, in batches that keep nobody waiting longer than the step budget.
//
// A batch is as many pages as the budget pays for, by what a page took lately. Between two batches the lock is free and
// whoever waits for the turn gets it: his plan is made without what this one has marked. Marking takes several holds of
// the lock where there are many ranges, and other threads may allocate what is not marked yet: then nothing has moved,
// and the caller plans again.
#pragma once

#include "base/result.hpp"
#include "core/suballocator.hpp"
#include "pool/pool_core.hpp"

namespace cistern::pool {

struct TransferResult {
  base::Status status;
  bool is_stale = false;          // nothing has changed: plan again
  std::uint64_t moved_pages = 0;  // from donors into the target, whether the rest succeeded or not
};

// The pool's turn is held, and on entry and return its lock.
TransferResult transfer_pages(PoolCore& pool, Arena& arena, const core::RepairPlan& plan, PoolLock& lock);

// Pages that a failed transfer left mapped but not accessible, because the driver refused both ways, become free memory
// if it is well again. Before a plan is made: the lock is dropped meanwhile. The pool's turn is held.
void settle_stuck(PoolCore& pool, PoolLock& lock);

// How many pages can be moved within `ns`, at least 1.
std::uint64_t pages_within(const PoolCore& pool, std::uint64_t ns) noexcept;

}  // namespace cistern::pool
