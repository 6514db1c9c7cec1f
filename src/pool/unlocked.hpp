// Waiting with neither the pool's lock nor its turn, in the middle of a miss, so that whatever is waited for keeps
// nobody else from being served; and so that two pools that ask one another at once can't wait in a circle: who waits
// for another pool's turn holds none.
#pragma once

#include <utility>

#include "pool/pool_core.hpp"

namespace cistern::pool {

// `lock` and the turn are held before and after; what was known of the pool before may not hold any more.
template <typename Action>
auto run_unlocked(PoolCore& pool, PoolLock& lock, const Action& action) {
  lock.unlock();
  pool.turn.unlock();
  auto result = action();
  (void)pool.turn.lock();
  lock.lock();
  return result;
}

}  // namespace cistern::pool
