// The time of a target's bookkeeping: nanoseconds per allocation and free, and how they are spread.
//
// Per pair: events are decoded beforehand; each pass has a fresh target, plays the trace once while the target grows
// and a second time in the memory it then has; one warm-up, then the median of the passes. The same loop over a counter
// that only counts bytes is measured and told apart, so that the target's own time is the difference. Time is CPU time
// of the thread. A second thread exists, parked: the C library spares a process of one thread the atomics of its
// mutexes, and no server is one.
//
// Percentiles come from a pass of their own, of the same two plays, that looks at the clock around each operation; the
// clock's own time is subtracted. Operations during which the driver was called are counted apart.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.hpp"
#include "replay/decoded_trace.hpp"
#include "replay/replay_target.hpp"

namespace cistern::replay {

inline constexpr unsigned kUsualPasses = 5;

struct Spread {
  std::uint64_t operations = 0;
  double mean_ns = 0;
  std::uint64_t p50_ns = 0;  // nearest rank
  std::uint64_t p99_ns = 0;
  std::uint64_t p999_ns = 0;
  std::uint64_t max_ns = 0;
};

// Of one play of the trace.
struct PlaySpread {
  Spread allocations;         // without driver calls
  Spread frees;               // without driver calls
  Spread driver;              // allocations and frees during which the driver was called
  std::uint64_t p999_ns = 0;  // of allocations and frees together, without driver calls

  // An allocation and a free that called no driver, in the mean.
  double hit_pair_ns() const noexcept { return allocations.mean_ns + frees.mean_ns; }
};

struct ReplayTimes {
  double first_ns = 0;   // per pair, in a fresh target, growth included
  double steady_ns = 0;  // per pair, the same trace again in the same target
  double loop_ns = 0;    // per pair, the loop alone
  PlaySpread first;
  PlaySpread steady;

  double net_ns() const noexcept { return first_ns - loop_ns; }
  double net_steady_ns() const noexcept { return steady_ns - loop_ns; }
  double events_per_second() const noexcept { return first_ns > 0 ? 2e9 / first_ns : 0; }
};

using TargetMaker = std::function<base::Result<std::unique_ptr<ReplayTarget>>()>;

// Plays of the whole trace that measure_times() makes.
constexpr std::uint64_t timed_plays(unsigned passes) noexcept { return passes == 0 ? 0 : 2 * (passes + 2); }

// passes > 0. `played` is called after every play.
base::Result<ReplayTimes> measure_times(const DecodedTrace& trace, unsigned passes, const TargetMaker& make,
                                        const std::function<void()>& played);

}  // namespace cistern::replay
