// Growth: more memory from the device, under the pool's limit.
//
// An expandable arena gets exactly the pages that the request lacks (plus the configured step), a pool of driver arenas
// gets a new arena: twice the largest so far up to a cap, halved down to the request when the device refuses.
#pragma once

#include "pool/pool_core.hpp"
#include "pool/rescue.hpp"
#include "pool/transfers.hpp"

namespace cistern::pool {

class GrowStep final : public RescueStep {
 public:
  std::string_view name() const noexcept override { return "grow"; }
  RescueOrder order() const noexcept override { return RescueOrder::grow; }
  RescueResult run(PoolCore& pool, const Need& need, PoolLock& lock) override;
};

// Returns wholly free driver arenas to the device before growth: none of them could hold the request, so keeping them
// would let the pool grow by every new size for ever, and under a limit they would stand in the request's way.
class ReleaseArenasStep final : public RescueStep {
 public:
  std::string_view name() const noexcept override { return "release arenas"; }
  RescueOrder order() const noexcept override { return RescueOrder::release_arenas; }
  RescueResult run(PoolCore& pool, const Need& need, PoolLock& lock) override;
};

// Fills the first `bytes` of a new expandable arena, or makes the first driver arena; steps down by halves, to one
// page, while the device refuses, and fails only when it refuses that too.
base::Status fill_at_start(PoolCore& pool, std::uint64_t bytes);

// Returns wholly free driver arenas, largest first, while the pool holds more than `keep_bytes`; the bytes returned.
// A refusal of the driver keeps the arena and is put in *failure.
std::uint64_t release_free_arenas(PoolCore& pool, std::uint64_t keep_bytes, PoolLock& lock, base::Status* failure);

// One driver arena of `bytes`, made with the lock dropped and added to the pool under it.
base::Result<Arena*> add_driver_arena(PoolCore& pool, std::uint64_t bytes, ArenaKind kind, PoolLock& lock);

// A direct arena whose block was freed, already removed from the pool, goes back to the driver. Refused: it joins the
// pool again as an ordinary arena, and the log says so. No lock held.
void return_direct_arena(PoolCore& pool, std::unique_ptr<Arena> arena);

// Bytes that the limit still allows, and the device, where it is shared with other contexts.
std::uint64_t room_under_limit(const PoolCore& pool) noexcept;
// The same by the pool's own limit alone.
std::uint64_t room_under_own_limit(const PoolCore& pool) noexcept;
// Is the own limit the wall that is met first?
bool is_own_limit_nearer(const PoolCore& pool) noexcept;

// Memory that the pool is about to take from the device, or has given back. False: other contexts were faster, or it is
// promised to them. Pool's lock held.
bool claim_memory(PoolCore& pool, std::uint64_t bytes) noexcept;
void release_memory(PoolCore& pool, std::uint64_t bytes) noexcept;
base::Status refused_by_others(const PoolCore& pool, std::uint64_t bytes);

// What a request needs of a fresh driver allocation, whose start is only aligned to the device's alignment.
std::uint64_t driver_bytes_for(const PoolCore& pool, const Need& need) noexcept;

}  // namespace cistern::pool
