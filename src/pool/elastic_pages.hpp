// ElasticPages: pages come under an elastic buffer and go. One object a call, with the pool's turn held, inside
// StreamsSettled, and its lock held between calls.
//
// Whenever the lock is free, the buffer is what elastics.hpp draws: a live block and behind it moving ones. Blocks are
// joined and parted under one hold of the lock, by way of free memory that nobody else sees.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "pool/pool_core.hpp"

namespace cistern::pool {

class ElasticPages {
 public:
  ElasticPages(PoolCore& pool, Elastic& elastic, PoolLock& lock) noexcept
      : pool_(pool), arena_(*pool.page_arena), elastic_(elastic), lock_(lock) {}

  // Pages that an earlier call left inaccessible become the buffer's. A failure: the device still refuses.
  base::Status settle_stuck();
  // `backed`: bytes in whole pages. After a failure the buffer has what it had, more only if the device would not even
  // take that back.
  base::Status grow(std::uint64_t backed);
  // What the device refuses to take stays.
  void shrink(std::uint64_t backed);

 private:
  core::Suballocator& blocks() noexcept { return arena_.blocks(); }
  std::uint64_t end() const noexcept { return elastic_.range.offset + elastic_.backed; }
  std::uint64_t pages_of(std::uint64_t bytes) const noexcept { return bytes / arena_.page_bytes(); }
  bool reshape(std::uint64_t backed);
  void take_in(core::Range range);
  void close_rest();
  bool open_rest(std::uint64_t bytes);
  base::Status fill(const core::RepairPlan& plan, bool* is_stale);
  void adopt_stuck(core::Range fill);
  core::RepairPlan plan(std::uint64_t pages, bool with_donors) const;
  base::Status out_of_room(std::uint64_t pages, const core::RepairPlan& plan) const;
  base::Status try_grow(std::uint64_t backed);

  PoolCore& pool_;
  Arena& arena_;
  Elastic& elastic_;
  PoolLock& lock_;
};

}  // namespace cistern::pool
