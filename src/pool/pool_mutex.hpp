// The lock that guards a pool's bookkeeping. One name, so that its kind can change in one place.
#pragma once

#include <mutex>

#include "base/biased_mutex.hpp"

namespace cistern::pool {

using PoolMutex = base::BiasedMutex;
using PoolLock = std::unique_lock<PoolMutex>;  // for whoever drops the lock on the way
using PoolGuard = std::lock_guard<PoolMutex>;

}  // namespace cistern::pool
