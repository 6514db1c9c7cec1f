// Trim: free memory goes back to the device, or to another context.
#pragma once

#include "pool/pool_core.hpp"

namespace cistern::pool {

// See Pool::trim.
base::Result<std::uint64_t> trim(PoolCore& pool, std::uint64_t keep_bytes);

// Another context is in need: of what this one has borrowed, up to `wanted` bytes that are free go; pages stay with the
// PagePool, unmapped. The bytes. No lock and no turn held.
std::uint64_t lend(PoolCore& pool, std::uint64_t wanted);

}  // namespace cistern::pool
