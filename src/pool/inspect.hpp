// Inspecting a pool: sums by tag, the whole structure, and whether it all holds together. The lock is held, and so are
// the magazines (MagazinesHeld).
#pragma once

#include <string>
#include <vector>

#include "pool/pool_core.hpp"
#include "pool/snapshot.hpp"

namespace cistern::pool {

std::vector<TagSnapshot> holders_by_tag(const PoolCore& pool);  // largest first
std::vector<AllocationView> live_allocations(const PoolCore& pool);
Snapshot take_snapshot(const PoolCore& pool);
// Empty when every invariant of arenas, ledger and names holds. Ranges whose pages are under way are taken as they are.
std::string check_pool(const PoolCore& pool);

}  // namespace cistern::pool
