// PoolCore: the state behind a Pool, for the parts of the pool that work on it (serving, rescue steps, trim, snapshot).
//
// Two locks. `mutex` guards all bookkeeping and is never held across a driver call. `turn` makes misses, trims and
// everything else that moves pages take turns; it is held across driver calls, given up between two batches of them,
// and never taken while holding `mutex`.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "core/fragmentation.hpp"
#include "device/device.hpp"
#include "device/page_pool.hpp"
#include "pool/arena.hpp"
#include "pool/backing.hpp"
#include "pool/context.hpp"
#include "pool/elastics.hpp"
#include "pool/ledger.hpp"
#include "pool/magazine.hpp"
#include "pool/movables.hpp"
#include "pool/name_table.hpp"
#include "pool/observer.hpp"
#include "pool/options.hpp"
#include "pool/page_transfer.hpp"
#include "pool/pauses.hpp"
#include "pool/pool_mutex.hpp"
#include "pool/pressure.hpp"
#include "pool/red_zones.hpp"
#include "pool/rescue.hpp"
#include "pool/stream_queues.hpp"
#include "pool/text_table.hpp"
#include "pool/turn.hpp"

namespace cistern::pool {

// In the place of a magazine: a movable handle or an elastic buffer has the block, so that no free by address can
// claim it.
inline constexpr std::uint32_t kHeldByHandle = ~std::uint32_t{0} - 1;
// Which magazine a block is in. Threads that free the same block at once may ask at once.
inline std::uint32_t cached_in(const core::BlockRecord& record) noexcept {
  const std::uint32_t holder =
      std::atomic_ref(const_cast<std::uint32_t&>(record.magazine)).load(std::memory_order_relaxed);
  return holder == kHeldByHandle ? 0 : holder;
}
// A block is freed by whoever changes this from 0 first: to a magazine's id, or to kBeingFreed under the pool's lock.
// All others are told of a double free.
inline constexpr std::uint32_t kBeingFreed = ~std::uint32_t{0};
inline bool claim_for_free(core::BlockRecord& record, std::uint32_t by) noexcept {
  std::uint32_t nobody = 0;
  return std::atomic_ref(record.magazine).compare_exchange_strong(nobody, by, std::memory_order_acq_rel);
}
inline void set_cached_in(core::BlockRecord& record, std::uint32_t magazine) noexcept {
  std::atomic_ref(record.magazine).store(magazine, std::memory_order_relaxed);
}

// What every request asks of options and device, worked out once.
struct RequestRules {
  std::uint64_t least_alignment = core::kGranuleBytes;
  std::uint64_t round_bytes = core::kGranuleBytes;  // a power of two
  std::uint64_t page_bytes = 0;                     // a power of two, or 0: this pool maps no pages
  std::uint64_t direct_from_bytes = ~std::uint64_t{0};
  std::uint64_t red_zone_bytes = 0;  // behind what was asked for
  bool has_magazines = false;
};

struct PoolCore {
  // Fixed after creation.
  std::uint64_t id = 0;         // unique in the process
  Arena* page_arena = nullptr;  // the expandable arena, first of all arenas; null: there are driver arenas only
  std::shared_ptr<device::Device> device;
  std::shared_ptr<device::PagePool> pages;  // null: this pool maps no pages
  device::AccountId account = 0;
  std::shared_ptr<ContextSet> contexts;  // of the device; null: the pool shares it with nobody
  ContextId context = 0;
  PressureCallbacks pressure;  // has a lock of its own
  PoolOptions options;
  std::vector<std::unique_ptr<RescueStep>> rescue_steps;  // by order()
  std::shared_ptr<Observer> observer;                     // null: nobody is told of events
  std::unique_ptr<RedZones> red_zones;                    // null: they are off
  bool is_watched = false;                                // by an observer or red zones
  RequestRules rules;
  const base::Clock* clock = nullptr;  // of budgets and pauses

  Turn turn;
  mutable PoolMutex mutex;
  std::condition_variable_any copy_ended;  // of a movable block that somebody wants to pin

  Pauses pauses;
  std::atomic<std::uint64_t> moves{0};  // odd while pages of donors move; grows with each such batch
  std::uint64_t page_ns = 50'000;       // what moving a page takes, an average of late. Guarded by the turn

  // Guarded by `mutex`.
  std::vector<std::unique_ptr<Arena>> arenas;        // in the order of their making; holes are searched in that order
  std::vector<std::unique_ptr<Magazine>> magazines;  // one for each thread that has freed here
  TextTable tags;
  NameTable names;
  Movables movables;
  Elastics elastics;
  core::ExposureWindow recent_sizes;
  StreamQueues streams;
  Ledger counts;  // counters and peaks; the sums are filled in by ledger()
  // What went through magazines since their owners last came here is not in the counts and the next sums.
  std::uint64_t reserved = 0;   // bytes of pages and driver allocations
  std::uint64_t allocated = 0;  // bytes of live blocks
  std::uint64_t requested = 0;  // of these, what was asked for
  std::uint64_t pages_moved_since_growth = 0;
  std::uint64_t promised = 0;                 // bytes that growth under way will add to `reserved`, at most
  std::vector<StuckPages> stuck;              // left by failed transfers
  std::shared_ptr<BackingListener> listener;  // null: nobody asked
  std::vector<BackingChange> untold_changes;  // for the listener, when the turn has ended

  // --- All with `mutex` held ---
  Arena* arena_of(device::Address address) const noexcept {
    if (page_arena != nullptr && page_arena->contains(address)) return page_arena;
    return other_arena_of(address);
  }
  void add_arena(std::unique_ptr<Arena> arena);
  std::unique_ptr<Arena> remove_arena(const Arena* arena);
  void note_reserved_peak() noexcept { counts.peak_reserved_bytes = std::max(counts.peak_reserved_bytes, reserved); }
  Ledger ledger() const noexcept;
  AllocationView view_of(const Arena& arena, core::BlockIndex block) const;
  void note_backing_change(const Arena& arena, core::Range range, bool mapped);

 private:
  Arena* other_arena_of(device::Address address) const noexcept;

  std::vector<Arena*> by_address_;  // ascending base
};

// No lock held.
void tell_backing_changes(PoolCore& pool);

}  // namespace cistern::pool
