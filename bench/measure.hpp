// Measure: the three ways in which a contender is measured with a workload, as bodies of Google Benchmark's.
//
// An iteration is a pair of allocation and free, so the reported time is that of a pair, the loop included. One thread:
// CPU time. Several: wall time by as many processors as were busy, so that it is what a pair costs a processor; without
// contention it is that of one thread. Make is a function that makes the contender anew from the workload's peak.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "bench/crew.hpp"
#include "bench/handover.hpp"
#include "bench/player.hpp"

namespace cistern::bench {

// A workload, drawn once, with its facts.
struct Prepared {
  Workload workload;
  WorkloadFacts facts;
};

// What the first call of a benchmark's body found out; the later ones, its repetitions, do the same.
struct Found {
  bool is_too_slow = false;
  bool is_able = false;
  std::size_t pairs = 0;  // of each thread in a round
};

// How many requests no hole could hold, where the contender counts them.
template <typename Contender>
std::uint64_t misses_of(const Contender& contender) {
  if constexpr (requires { contender.misses(); }) return contender.misses();
  return 0;
}

inline constexpr std::chrono::milliseconds kWarmUp{300};
inline constexpr std::chrono::seconds kMostOpening{2};
inline constexpr std::chrono::hours kNoEnd{1};
inline constexpr const char* kTooSlow = "refused a request, or took longer than 2 s for the opening";

// With the time of a pair: CPU time of this thread.
template <typename Make>
void measure_one_thread(benchmark::State& state, const Prepared& prepared, const Make& make, Found* found) {
  constexpr std::size_t kPairs = 128;
  if (found->is_too_slow) {
    state.SkipWithError(kTooSlow);
    return;
  }
  const auto contender = make(prepared.facts.peak_live_bytes);
  Player player(*contender, prepared.workload);
  if (!player.warm_up(kWarmUp, found->is_able ? std::chrono::nanoseconds(kNoEnd) : kMostOpening)) {
    found->is_too_slow = true;
    state.SkipWithError(kTooSlow);
    return;
  }
  found->is_able = true;
  const std::uint64_t misses = misses_of(*contender);
  while (state.KeepRunningBatch(kPairs)) player.advance(2 * kPairs);
  state.counters["misses"] =
      benchmark::Counter(static_cast<double>(misses_of(*contender) - misses), benchmark::Counter::kAvgIterations);
}

// With the time of an allocation: the cycle allocates all, then frees all, and the frees are not timed.
template <typename Make>
void measure_allocations(benchmark::State& state, const Prepared& prepared, const Make& make) {
  const auto contender = make(prepared.facts.peak_live_bytes);
  const std::span<const Operation> cycle(prepared.workload.cycle);
  const std::size_t allocations = prepared.facts.pairs_in_cycle;
  std::vector<Place> places(prepared.workload.slots);
  play(*contender, prepared.workload.opening, places.data());
  for (int i = 0; i < 100; ++i) play(*contender, cycle, places.data());
  while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(allocations))) {
    const std::chrono::nanoseconds start = cpu_time();
    play(*contender, cycle.first(allocations), places.data());
    state.SetIterationTime(std::chrono::duration<double>(cpu_time() - start).count());
    play(*contender, cycle.subspan(allocations), places.data());
  }
}

// Rounds of so many pairs each, wall time by `processors`.
template <typename Contender>
void measure_rounds(benchmark::State& state, const Contender& contender, Crew& crew, std::size_t pairs,
                    double processors) {
  std::chrono::nanoseconds cpu{0};
  const std::uint64_t misses = misses_of(contender);
  while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(pairs))) {
    const Crew::Times times = crew.round();
    state.SetIterationTime(std::chrono::duration<double>(times.wall).count() * processors);
    cpu += times.cpu;
  }
  state.counters["cpu_ns"] = benchmark::Counter(static_cast<double>(cpu.count()), benchmark::Counter::kAvgIterations);
  state.counters["misses"] =
      benchmark::Counter(static_cast<double>(misses_of(contender) - misses), benchmark::Counter::kAvgIterations);
}

inline constexpr std::size_t kLeastPairs = 128;
inline constexpr std::size_t kMostPairs = 16384;

// As many pairs a round as take some milliseconds, where kLeastPairs took `least`: long against the round's start.
inline std::size_t pairs_for(std::chrono::nanoseconds least) noexcept {
  constexpr std::chrono::milliseconds kWanted{4};
  const auto times = static_cast<std::size_t>(kWanted / std::max(least, std::chrono::nanoseconds(1)));
  return std::clamp(times * kLeastPairs, kLeastPairs, kMostPairs);
}

// A workload for each thread, one contender.
template <typename Make>
void measure_threads(benchmark::State& state, const std::deque<Prepared>& prepared, const Make& make, Found* found) {
  const auto threads = static_cast<unsigned>(prepared.size());
  std::uint64_t peak = 0;
  for (const Prepared& one : prepared) peak += one.facts.peak_live_bytes;
  const auto contender = make(peak);
  using Contender = std::remove_reference_t<decltype(*contender)>;
  std::deque<Player<Contender>> players;
  for (const Prepared& one : prepared) players.emplace_back(*contender, one.workload);
  std::size_t pairs = 0;  // of each thread in a round
  Crew crew(threads, [&](unsigned member) {
    if (pairs > 0) {
      players[member].advance(2 * pairs);
    } else {
      (void)players[member].warm_up(kWarmUp, kNoEnd);
      players[member].advance(2 * kLeastPairs);
    }
  });
  crew.round();
  pairs = kLeastPairs;
  const std::chrono::nanoseconds least = crew.round().wall;
  if (found->pairs == 0) found->pairs = pairs_for(least);
  pairs = found->pairs;
  const double processors = std::min(threads, std::max(1u, std::thread::hardware_concurrency()));
  measure_rounds(state, *contender, crew, threads * pairs, processors);
}

// One thread allocates, another frees. Wall time.
template <typename Make>
void measure_handover(benchmark::State& state, const std::vector<std::uint32_t>& sizes, const Make& make) {
  const auto contender = make(std::uint64_t{2} << 30);  // more than the queue can hold of these sizes
  const auto queue = std::make_unique<Handover>();
  Crew crew(2, [&](unsigned member) {
    for (const std::uint32_t bytes : sizes) {
      if (member == 0) queue->put(contender->allocate(bytes));
      if (member == 1) contender->free(queue->take());
    }
  });
  crew.round();
  measure_rounds(state, *contender, crew, sizes.size(), 1);
}

}  // namespace cistern::bench
