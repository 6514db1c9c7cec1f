// What recording costs the thread that allocates: an event by itself, and a pair of allocation and free with and
// without a recorder; and what the writer's thread can take, from a thread that does nothing but allocate and free.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "device/counting_device.hpp"
#include "pool/pool.hpp"
#include "trace/recorder.hpp"

namespace {

using namespace cistern;

// Nothing may be dropped: that would be too cheap. The counter says whether.
trace::RecorderOptions options_for(unsigned stack_depth) {
  trace::RecorderOptions options;
  options.path = "/dev/null";
  options.stack_depth = stack_depth;
  options.ring_words = std::uint64_t{1} << 19;  // 4 MiB
  return options;
}

std::unique_ptr<pool::Pool> make_pool(std::shared_ptr<pool::Observer> observer) {
  device::CountingConfig config;
  config.capacity_bytes = std::uint64_t{1} << 30;
  pool::PoolOptions options;
  options.growth = pool::Growth::arenas;
  return pool::Pool::create(device::CountingDevice::create(config).take(), nullptr, options, {}, std::move(observer))
      .take();
}

// Argument: depth of stacks.
void record_event(benchmark::State& state) {
  const auto recorder = trace::Recorder::start(options_for(static_cast<unsigned>(state.range(0))));
  const auto observer = recorder->observe("bench", "none");
  pool::Event event;
  event.granted_bytes = event.requested_bytes = 4096;
  // In bursts that fit the ring, emptied between: what is measured is a warm ring with room, as in steady state.
  constexpr int kBurst = 4096;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kBurst; ++i) {
      event.sequence = observer->next_sequence();
      observer->on_event(event);
    }
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(passed.count() / kBurst);
    recorder->flush();
  }
  recorder->stop();
  state.counters["dropped"] = static_cast<double>(recorder->counts().dropped);
}
BENCHMARK(record_event)->Arg(0)->Arg(16)->Iterations(200)->UseManualTime()->Repetitions(5)->ReportAggregatesOnly();

// Argument: 0 without recorder; 1 with, without stacks; 2 with both.
void pair(benchmark::State& state) {
  const auto recorder = trace::Recorder::start(options_for(state.range(0) == 2 ? 16 : 0));
  const auto pool = make_pool(state.range(0) == 0 ? nullptr : recorder->observe("bench", "none"));
  for (auto _ : state) {
    const auto served = pool->allocate(4096);
    if (!served.is_ok() || !pool->free(served.value()).is_ok()) std::abort();
  }
  recorder->stop();
  state.counters["dropped"] = static_cast<double>(recorder->counts().dropped);
}
BENCHMARK(pair)->Arg(0)->Arg(1)->Arg(2)->Iterations(500'000)->Repetitions(5)->ReportAggregatesOnly();

std::uint64_t cpu_ns(clockid_t clock) {
  std::timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// Arguments: depth of stacks; blocks that live meanwhile. writer_ns: the writer's CPU time an event that it wrote;
// dropped: share of events that found no room; million_per_second: events that reached the file.
void keep_up(benchmark::State& state) {
  const int kPairs = state.range(0) == 0 ? 4'000'000 : 200'000;
  trace::RecorderOptions options = trace::RecorderOptions();
  options.path = "/dev/null";
  options.stack_depth = static_cast<unsigned>(state.range(0));
  const auto recorder = trace::Recorder::start(options);
  const auto pool = make_pool(recorder->observe("bench", "none"));
  std::vector<device::Address> live(static_cast<std::size_t>(state.range(1)));
  for (device::Address& block : live) block = pool->allocate(4096).value();
  recorder->flush();
  const std::uint64_t own = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  const std::uint64_t all = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
  for (auto _ : state) {
    for (int i = 0; i < kPairs; ++i) {
      device::Address& block = live[static_cast<std::size_t>(i) * 7919 % live.size()];
      if (!pool->free(block).is_ok()) std::abort();
      block = pool->allocate(4096).value();
    }
  }
  recorder->stop();
  const std::uint64_t writer = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - all - (cpu_ns(CLOCK_THREAD_CPUTIME_ID) - own);
  const trace::RecorderCounts counts = recorder->counts();
  state.counters["writer_ns"] = static_cast<double>(writer) / static_cast<double>(counts.events);
  state.counters["dropped"] = static_cast<double>(counts.dropped) / (2.0 * kPairs);
  state.counters["million_per_second"] =
      benchmark::Counter(static_cast<double>(counts.events) / 1e6, benchmark::Counter::kIsRate);
  for (const device::Address block : live) static_cast<void>(pool->free(block));
}
BENCHMARK(keep_up)
    ->Args({0, 1})
    ->Args({0, 1000})
    ->Args({16, 1000})
    ->Iterations(1)
    ->Repetitions(5)
    ->UseRealTime()
    ->ReportAggregatesOnly();

}  // namespace

BENCHMARK_MAIN();
