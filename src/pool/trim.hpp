// Trim: free memory goes back to the device.
#pragma once

#include "pool/pool_core.hpp"

namespace cistern::pool {

// See Pool::trim.
base::Result<std::uint64_t> trim(PoolCore& pool, std::uint64_t keep_bytes);

}  // namespace cistern::pool
