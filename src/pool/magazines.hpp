// Magazines: a pool's side of its threads' magazines (magazine.hpp): serving from them, keeping in them, emptying them.
#pragma once

#include "pool/pool.hpp"
#include "pool/pool_core.hpp"
#include "pool/rescue.hpp"

namespace cistern::pool {

// The magazine of the calling thread, made when it has none; null where the pool keeps none.
Magazine* magazine_of_this_thread(PoolCore& pool) noexcept;

// The same, but never made here; may be called with the pool's lock held.
Magazine* magazine_known_to_this_thread(const PoolCore& pool) noexcept;

// Writes what a request says of its block.
inline void fill_record(core::BlockRecord& record, const AllocationRequest& request, std::uint32_t name) noexcept {
  record.requested_bytes = request.bytes;
  record.tag = request.tag;
  record.name = name;
  record.movable = 0;
  ++record.generation;
  record.flags = request.flags;
  set_cached_in(record, 0);
}

// A block from the thread's magazine, recorded and counted; 0: none fits, take the lock. No lock held.
device::Address serve_from_magazine(PoolCore& pool, const AllocationRequest& request, const Need& need) noexcept;
// True: the block at `address` is in the thread's magazine now. False: take the lock, which also explains what is wrong
// with the address, if anything is. No lock held.
bool keep_in_magazine(PoolCore& pool, device::Address address) noexcept;

// While it lives, all magazines of the pool stand still, so that records of blocks can be read. Pool's lock held.
class MagazinesHeld {
 public:
  explicit MagazinesHeld(const PoolCore& pool) noexcept;
  ~MagazinesHeld();
  MagazinesHeld(const MagazinesHeld&) = delete;
  MagazinesHeld& operator=(const MagazinesHeld&) = delete;

 private:
  const PoolCore& pool_;
};

// Every cached block becomes free. Pool's lock held. The blocks' number.
std::uint64_t empty_magazines(PoolCore& pool) noexcept;
// The calling thread's counts become the pool's. Pool's lock held, by that thread.
void take_over_counts(PoolCore& pool, Magazine& magazine) noexcept;

// A block of this size did not find room in the calling thread's magazine: the oldest blocks go back to the arena, so
// that the next finds it. Pool's lock held, by that thread.
void make_room_in(PoolCore& pool, Magazine& magazine, std::uint64_t bytes) noexcept;

class FlushMagazinesStep final : public RescueStep {
 public:
  std::string_view name() const noexcept override { return "flush caches"; }
  RescueOrder order() const noexcept override { return RescueOrder::flush_caches; }
  RescueResult run(PoolCore& pool, const Need& need, PoolLock& lock) override;
};

// Threads may have magazines of this pool from now on, and from then on no more: blocks of threads that have ended are
// given back while the pool lives only.
void open_for_magazines(PoolCore& pool);
void close_for_magazines(PoolCore& pool) noexcept;

}  // namespace cistern::pool
