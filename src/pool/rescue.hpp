// The rescue list: what a pool tries, in which order, when no hole holds a request.
//
// A step either makes room or says why it could not; after every step that changed something the search is repeated.
// The order is the list's own, whoever brings a step (rooms above the pool add theirs), so the life of a miss can be
// read off this one enumeration.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/types.hpp"
#include "device/device.hpp"
#include "pool/pool_mutex.hpp"

namespace cistern::pool {

struct PoolCore;

// Steps run by ascending number. Gaps are for steps that later features bring.
enum class RescueOrder : std::uint16_t {
  remote_frees = 100,    // take in blocks that other threads have freed
  retire_events = 200,   // pending blocks whose work is complete become ready
  same_stream = 300,     // the same stream's pending memory
  insert_wait = 400,     // another stream's pending memory behind a wait on the device
  flush_caches = 500,    // magazines
  release_arenas = 550,  // wholly free driver arenas, too small for this request, go back
  stitch_first = 600,    // stitch, under on_miss = stitch_first
  grow = 700,            // more memory from the device
  stitch = 800,          // stitch, under on_miss = grow_first
  wait_oldest = 1000,    // wait for work to complete
  relocate = 1100,       // copy movable blocks
  other_pools = 1200,    // ask the device's other pools to trim
  pressure = 1300,       // pressure callbacks
};

// What steps remember of one miss, so that beginning the list again comes to an end.
struct MissProgress {
  std::uint32_t rounds_of_others = 0;  // times other contexts were asked
  std::vector<std::uint64_t> asked;    // pressure callbacks, by number
};

// The request that missed, rounded as it would be served.
struct Need {
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 0;
  std::optional<device::StreamHandle> stream = std::nullopt;  // none: for work of any stream
  core::ReadinessSlot slot = core::kReadySlot;                // whose pending memory will do as well
  MissProgress* progress = nullptr;                           // of a miss; null: nobody is in need yet
};

struct RescueResult {
  bool changed = false;  // search again
  bool limited = false;  // the pool's own limit stood in the way
  bool again = false;    // what was tried before may succeed now: begin the list again
  bool is_idle = false;  // this pool has no use for the step, so there is nothing to tell of it
  base::Status failure;  // why nothing (more) was done; ok when the step had nothing to do
};

// What one batch of compaction may cost.
struct BatchBudget {
  std::uint64_t max_bytes = 0;
  std::uint64_t max_us = 0;
  // What is left for all batches, this one included: who can't reach the hole with it must not make things worse.
  std::uint64_t all_bytes = 0;
  std::uint64_t all_us = 0;
};

struct BatchResult {
  std::uint64_t moved_bytes = 0;   // of pages put elsewhere, not copied
  std::uint64_t copied_bytes = 0;  // of blocks copied elsewhere
  base::Status failure;            // of the device
};

class RescueStep {
 public:
  virtual ~RescueStep() = default;
  virtual std::string_view name() const noexcept = 0;
  virtual RescueOrder order() const noexcept = 0;
  // `lock` holds the pool's lock on entry and on return; driver calls are made with it dropped. Only one miss runs at a
  // time, so nobody else grows, trims or moves pages meanwhile; allocations that find a hole, and frees, go on.
  virtual RescueResult run(PoolCore& pool, const Need& need, PoolLock& lock) = 0;
  // Compaction: what this step can do, in one batch, towards a hole for `hole` that nobody is in need of yet; it takes
  // no memory from the device. Nothing moved: there is nothing (more) to do, or not enough to reach that size. Locks as
  // for run(); other threads must not wait longer than the budget's time for anything that is held meanwhile.
  virtual BatchResult compact(PoolCore& pool, const Need& hole, const BatchBudget& budget, PoolLock& lock) {
    static_cast<void>(pool);
    static_cast<void>(hole);
    static_cast<void>(budget);
    static_cast<void>(lock);
    return {};
  }
};

}  // namespace cistern::pool
