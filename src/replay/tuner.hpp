// Tuner: which settings serve given traces best, by trying them.
//
// Every candidate is a pool as users can set it up; each replays every trace, through the real pool on a device that
// only counts. Two figures matter, and they pull apart: memory (peak reserved over peak live, the geometric mean over
// the traces) and time (per allocation and free: bookkeeping as measured, driver calls by the simulated device's
// model). A goal says which comes first; differences too small to mean anything are told as none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pool/profiles.hpp"
#include "replay/replay_engine.hpp"

namespace cistern::replay {

// What may differ between candidates.
struct Candidate {
  core::FitPolicy policy = core::FitPolicy::best_fit;
  pool::Growth growth = pool::Growth::expandable;
  pool::OnMiss on_miss = pool::OnMiss::stitch_first;
  std::uint64_t page_bytes = 0;  // 0: by the pool's size
  std::uint64_t magazine_bytes = 0;
  bool movable = false;                  // blocks are movable: the program must ask for them so
  std::uint64_t active_interval_ms = 0;  // a thread compacts in quiet moments, and looks so often; 0: there is none
  double active_threshold = 0;           // and acts above this fragmentation rate
  std::string profile = {};              // its name, where the candidate is one of pool::profiles()
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// What a profile sets.
Candidate candidate_of(const pool::Profile& profile);

struct Tried {
  Candidate candidate;
  std::uint64_t failed = 0;  // requests, of all traces
  double overhead = 0;       // geometric mean over the traces
  double worst_overhead = 0;
  double bookkeeping_ns = 0;  // per pair in steady state, geometric mean; 0: not measured
  double driver_ns = 0;       // per pair, modelled, over all traces; what requests wait for
  double background_ns = 0;   // the same of the compacting thread, which nobody waits for
  double pair_ns() const noexcept { return bookkeeping_ns + driver_ns; }
};

enum class Goal : std::uint8_t { memory, time };

struct TuneOptions {
  pool::PoolOptions base;  // of every candidate, but for what candidates differ in
  Goal goal = Goal::memory;
  std::uint64_t capacity_bytes = 0;  // of the device; 0: none
  double capacity_over_peak = 0;
  unsigned passes = 1;                // of the measurement of time; 0: driver calls alone
  std::function<void()> on_progress;  // after every replay of a trace
  std::vector<Candidate> candidates;  // empty: sweep()
};

// All candidates: the profiles, then policies, growth, order in a miss, page sizes, magazines, a compacting thread;
// movable blocks where a capacity limits the pool, for they are moved only then.
std::vector<Candidate> sweep(const TuneOptions& options);

// Best first. Ranked by failed requests, then by the goal's figure; among those that are as good as the best within
// kSameMemory or kSameTime, by the other figure.
base::Result<std::vector<Tried>> tune(const std::vector<TraceData>& traces, const TuneOptions& options);

// Differences below these are none: steps of pages for memory, noise of the machine for time.
inline constexpr double kSameMemory = 0.005;
inline constexpr double kSameTime = 0.10;

enum class Difference : std::uint8_t { none, memory, time, both };
// In which figures two candidates really differ.
Difference difference(const Tried& left, const Tried& right) noexcept;

}  // namespace cistern::replay
