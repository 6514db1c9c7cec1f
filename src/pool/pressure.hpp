// Memory pressure: who can drop something is asked before a request fails.
//
// Programs hold memory that they could do without: caches, weights that can be loaded again, what can be offloaded.
// They register callbacks, and a miss that nothing else has helped calls them, the lowest priority number first, one at
// a time; after each that says it has given something the rescue list begins again, so no more is dropped than it
// takes. Each is called once in a miss. A miss for want of the pool's own limit asks that pool's callbacks only; one
// for want of the device asks also those of other contexts, as far as they have borrowed memory.
//
// Callbacks run in the thread that misses, without any lock and without the turn of any pool, so they may allocate,
// free, trim, and register and remove callbacks, in any pool. A miss inside a callback calls none. What a callback
// throws is logged and counts as nothing given.
//
// Thread-safety: all.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.hpp"
#include "pool/rescue.hpp"

namespace cistern::pool {

struct Pressure {
  std::string pool;  // the one in need
  std::string device_kind;
  std::uint32_t device_ordinal = 0;
  bool by_own_limit = false;  // else the device has no more
  std::uint64_t requested_bytes = 0;
  std::uint64_t missing_bytes = 0;  // that growth for the request lacks, as things are now
};

// True: something was given up that may help.
using PressureCallback = std::function<bool(const Pressure&)>;

// The callbacks of one pool.
class PressureCallbacks {
 public:
  struct Entry {
    std::int32_t priority = 0;
    std::uint64_t id = 0;  // unique in the process
    PressureCallback call;
    std::mutex mutex;
    std::vector<std::thread::id> inside;
    bool is_removed = false;
  };

  std::uint64_t add(std::int32_t priority, PressureCallback callback);
  // Nobody else is inside the callback any more when this returns. not_found: no such callback of this pool.
  base::Status remove(std::uint64_t id);
  void remove_all();
  void append_to(std::vector<std::shared_ptr<Entry>>* all) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_;
};

class PressureStep final : public RescueStep {
 public:
  std::string_view name() const noexcept override { return "pressure callbacks"; }
  RescueOrder order() const noexcept override { return RescueOrder::pressure; }
  RescueResult run(PoolCore& pool, const Need& need, PoolLock& lock) override;
};

}  // namespace cistern::pool
