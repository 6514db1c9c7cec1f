// Transfers: repair plans carried out on a pool, in batches that keep nobody waiting longer than the step budget.
//
// A batch is as many pages as the budget pays for, by what a page took lately. Between two batches the lock is free and
// whoever waits for the turn gets it. Donors are marked batch by batch, so a plan may turn out stale when other threads
// allocate meanwhile: then it ends with `busy`, having lost nothing, and the caller plans again.
#pragma once

#include "base/result.hpp"
#include "core/suballocator.hpp"
#include "pool/pool_core.hpp"

namespace cistern::pool {

struct TransferResult {
  base::Status status;
  bool is_stale = false;
  std::uint64_t moved_pages = 0;  // from donors into the target, whether the rest succeeded or not
};

// The pool's turn is held, and on entry and return its lock.
TransferResult transfer_pages(PoolCore& pool, Arena& arena, const core::RepairPlan& plan, PoolLock& lock);

// How many pages can be moved within `ns`, at least 1.
std::uint64_t pages_within(const PoolCore& pool, std::uint64_t ns) noexcept;

}  // namespace cistern::pool
