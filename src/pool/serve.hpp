// Serving: from a checked request to a block, by a hole if there is one and by the rescue list if not.
#pragma once

#include "pool/pool.hpp"
#include "pool/pool_core.hpp"

namespace cistern::pool {

// The whole life of one allocation. Takes the pool's locks as it needs them.
base::Result<device::Address> serve(PoolCore& pool, const AllocationRequest& request);

// Ends the ownership of the block at `address`: claimed, counted, its name gone; for its arena it is live yet. Errors
// as of Pool::free; nothing has changed then. Pool's lock held.
base::Result<FreedBlock> withdraw(PoolCore& pool, device::Address address);

// The end of one: see Pool::free.
base::Status give_up(PoolCore& pool, device::Address address);

}  // namespace cistern::pool
