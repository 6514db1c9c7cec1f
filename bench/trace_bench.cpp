// What recording costs the thread that allocates: an event by itself, and a pair of allocation and free with and
// without a recorder. The writer's thread works meanwhile, as it does in a program.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>

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

}  // namespace

BENCHMARK_MAIN();
