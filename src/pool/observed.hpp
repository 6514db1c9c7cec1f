// The calls of a pool that has an observer: the same calls, and the event of each.
#pragma once

#include "pool/pool.hpp"
#include "pool/pool_core.hpp"

namespace cistern::pool {

// `caller`: where Pool's function returns to.
base::Result<device::Address> allocate_observed(PoolCore& pool, const AllocationRequest& request, const void* caller);
base::Status free_observed(PoolCore& pool, device::Address address, std::optional<device::StreamHandle> stream,
                           const void* caller);

// A block is at `to` now. The pool's lock is held, and `from` is not given back yet.
void observe_move(const PoolCore& pool, device::Address from, device::Address to, std::uint64_t bytes) noexcept;

// A range of memory came or went. Does nothing in a pool without observer. The pool's lock is held, or the range is
// nobody else's yet or any more.
void observe_range(const PoolCore& pool, EventOp op, device::Address address, std::uint64_t bytes) noexcept;

}  // namespace cistern::pool
