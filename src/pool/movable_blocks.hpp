// The calls on movable blocks (see movables.hpp): a block becomes one, is pinned, unpinned, freed and looked at.
#pragma once

#include "pool/pool.hpp"
#include "pool/pool_core.hpp"

namespace cistern::pool {

// The block at `address`, served for `request` and still the caller's alone, gets a handle.
MovableId make_movable(PoolCore& pool, const AllocationRequest& request, device::Address address);
// `caller`: where Pool's function returns to.
base::Status free_movable(PoolCore& pool, MovableId id, const void* caller);
base::Result<device::Address> pin_movable(PoolCore& pool, MovableId id);
base::Status unpin_movable(PoolCore& pool, MovableId id);
base::Result<MovableView> view_movable(const PoolCore& pool, MovableId id);

// Handles and blocks agree; empty when they do. Pool's lock held.
std::string check_movables(const PoolCore& pool);

}  // namespace cistern::pool
