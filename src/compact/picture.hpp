// PoolPicture: what a pool looks like to somebody who plans to move its blocks.
//
// Taken under the lock in one walk, read without it. Driver and expandable arenas only: a direct arena holds one block,
// which is all of it.
#pragma once

#include <vector>

#include "compact/evacuation.hpp"
#include "pool/pool_core.hpp"

namespace cistern::compact {

class PoolPicture {
 public:
  // The pool's lock is held.
  explicit PoolPicture(const pool::PoolCore& pool);

  const std::vector<ArenaPicture>& arenas() const noexcept { return arenas_; }
  // Of the arena with that number in arenas(). Whether it is still there is for the pool to say.
  device::Address base(std::size_t arena) const noexcept { return bases_[arena]; }
  std::uint64_t free_bytes() const noexcept { return free_bytes_; }

 private:
  void add(const pool::PoolCore& pool, const pool::Arena& arena);

  std::vector<ArenaPicture> arenas_;
  std::vector<device::Address> bases_;
  std::uint64_t free_bytes_ = 0;
};

}  // namespace cistern::compact
