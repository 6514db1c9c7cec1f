// TraceTime: a pool's compacting thread, in the time of the trace.
//
// The thread that compacts a live pool decides by the clock: it looks every interval, waits for a moment without calls,
// and pauses between passes. In a replay the clock is the trace's own, so the same decisions (compact::Watch) are made
// where they would have been made when it was recorded, and every replay makes them again. A pass itself takes no time.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "compact/scheduler.hpp"
#include "pool/pool.hpp"

namespace cistern::replay {

class TraceTime {
 public:
  explicit TraceTime(pool::Pool& pool) noexcept;
  // The next event of the trace is at `time_ns`: what was due before happens. True: there were passes.
  bool advance_to(std::uint64_t time_ns) noexcept;
  const compact::Watch::Counts& counts() const noexcept { return watch_.counts(); }

 private:
  base::ManualClock clock_;
  compact::Watch watch_;
  std::uint64_t due_ns_;
};

}  // namespace cistern::replay
