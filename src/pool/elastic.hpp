// The calls on elastic buffers (elastics.hpp): addresses are reserved, memory comes and goes at the end, all of it
// goes.
//
// Growing takes the pool's own wholly free pages first, as stitching does and by the same rules (turn, batches within
// the step budget, streams settled), then new pages under the limit; where both do not suffice it goes through those
// rescue steps that can free pages (events, caches, other pools, pressure). A failure anywhere gives back what had
// come. Shrinking gives pages to the device's PagePool, where this pool's and every other pool's growth takes them
// again without creating one: a hole left behind would serve only what fits into that place.
#pragma once

#include <string>
#include <vector>

#include "pool/pool.hpp"
#include "pool/pool_core.hpp"

namespace cistern::pool {

// `caller`: where Pool's function returns to.
base::Result<ElasticView> reserve_elastic(PoolCore& pool, std::uint64_t max_bytes, std::uint32_t tag);
base::Status grow_elastic(PoolCore& pool, ElasticId id, std::uint64_t bytes, const void* caller);
base::Status shrink_elastic(PoolCore& pool, ElasticId id, std::uint64_t bytes, const void* caller);
base::Status release_elastic(PoolCore& pool, ElasticId id, const void* caller);

// --- Pool's lock held ---
base::Result<ElasticView> view_elastic(const PoolCore& pool, ElasticId id);
std::vector<ElasticView> view_elastics(const PoolCore& pool);
// Buffers and blocks agree; empty when they do.
std::string check_elastics(const PoolCore& pool);

}  // namespace cistern::pool
