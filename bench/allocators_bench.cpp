// bench_allocators: every contender with every workload, in one process. The names are WORKLOAD/CONTENDER; with
// --benchmark_enable_random_interleaving=true the repetitions of all take turns, so that a disturbance of the machine
// hits nobody alone. bench/table.py makes the table.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "bench/contenders/binned_pool.hpp"
#include "bench/contenders/cistern_pool.hpp"
#include "bench/contenders/core_alone.hpp"
#include "bench/contenders/host_heap.hpp"
#include "bench/contenders/naive_pool.hpp"
#include "bench/measure.hpp"
#include "bench/workloads/inference.hpp"
#include "bench/workloads/recurring.hpp"
#include "bench/workloads/replacement.hpp"
#include "bench/workloads/serving.hpp"

namespace {

using namespace cistern;
using namespace cistern::bench;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Prepared prepare(Workload workload) {
  WorkloadFacts facts = facts_of(workload);
  if (!facts.fault.empty()) {
    std::fprintf(stderr, "workload %s: %s\n", workload.name.c_str(), facts.fault.c_str());
    std::abort();
  }
  return {std::move(workload), std::move(facts)};
}

// Drawn once, when first needed, and kept to the end: benchmarks refer to them.
struct Workloads {
  std::deque<Prepared> one_thread;
  std::deque<std::pair<std::string, std::deque<Prepared>>> threads;
  Prepared burst;
  std::vector<std::uint32_t> handed_over;
};

Workloads draw_workloads() {
  Workloads all;
  all.one_thread.push_back(prepare(recurring_inferences(1)));
  all.one_thread.push_back(prepare(single_inference(1)));
  all.one_thread.push_back(prepare(fresh_inferences(1)));
  for (const auto make : {serving, small_blocks, large_blocks, ten_thousand_blocks, hundred_thousand_blocks, hits}) {
    all.one_thread.push_back(prepare(make()));
  }
  for (const unsigned threads : {1u, 2u, 8u}) {
    auto& [name, each] = all.threads.emplace_back(std::to_string(threads) + "t", std::deque<Prepared>{});
    for (unsigned thread = 0; thread < threads; ++thread) each.push_back(prepare(recurring_inferences(thread + 1)));
  }
  for (const unsigned threads : {1u, 2u}) {
    auto& [name, each] = all.threads.emplace_back("hit" + std::to_string(threads) + "t", std::deque<Prepared>{});
    for (unsigned thread = 0; thread < threads; ++thread) each.push_back(prepare(hits()));
  }
  all.burst = prepare(hit_burst());
  all.handed_over = handed_over_sizes();
  return all;
}

const Workloads& workloads() {
  static const Workloads all = draw_workloads();
  return all;
}

// With its footprint as a counter; computed once, because it never changes.
template <typename Make>
std::function<void(benchmark::State&)> with_footprint(const Prepared& prepared, const Make& make) {
  return [&prepared, make, footprint = 0.0, found = Found{}](benchmark::State& state) mutable {
    if (footprint == 0) {
      const auto contender = make(prepared.facts.peak_live_bytes);
      footprint = footprint_of(*contender, prepared.workload, prepared.facts);
    }
    measure_one_thread(state, prepared, make, &found);
    state.counters["footprint"] = footprint;
  };
}

template <typename Make>
void enter_one_thread(const std::string& name, bool has_footprint, const Make& make) {
  for (const Prepared& prepared : workloads().one_thread) {
    const std::string title = prepared.workload.name + "/" + name;
    if (has_footprint) {
      benchmark::RegisterBenchmark(title.c_str(), with_footprint(prepared, make));
    } else {
      benchmark::RegisterBenchmark(title.c_str(), [&prepared, make, found = Found{}](benchmark::State& state) mutable {
        measure_one_thread(state, prepared, make, &found);
      });
    }
  }
  benchmark::RegisterBenchmark(("alloc/" + name).c_str(), [make](benchmark::State& state) {
    measure_allocations(state, workloads().burst, make);
  })->UseManualTime();
}

template <typename Make>
void enter_threads(const std::string& name, const Make& make) {
  for (const auto& [row, prepared] : workloads().threads) {
    const std::string title = std::string(row).append("/").append(name);
    benchmark::RegisterBenchmark(title.c_str(), [&each = prepared, make,
                                                 found = Found{}](benchmark::State& state) mutable {
      measure_threads(state, each, make, &found);
    })->UseManualTime();
  }
  benchmark::RegisterBenchmark(("pc/" + name).c_str(), [make](benchmark::State& state) {
    measure_handover(state, workloads().handed_over, make);
  })->UseManualTime();
}

template <typename Make>
void enter(const std::string& name, bool has_footprint, const Make& make) {
  enter_one_thread(name, has_footprint, make);
  enter_threads(name, make);
}

// Each thread needs a loop of its own here: the counters of NullLoop would pass from processor to processor.
class NullLoops {
 public:
  Place allocate(std::uint64_t bytes) noexcept { return loop().allocate(bytes); }
  void free(Place place) noexcept { loop().free(place); }

 private:
  static NullLoop& loop() noexcept {
    thread_local NullLoop own;
    return own;
  }
};

void enter_all() {
  enter_one_thread("null", false, [](std::uint64_t) { return std::make_unique<NullLoop>(); });
  enter_threads("null", [](std::uint64_t) { return std::make_unique<NullLoops>(); });
  const auto enter_pool = [](const char* name, const PoolVariant& variant) {
    enter(name, true, [variant](std::uint64_t peak) { return std::make_unique<CisternPool>(variant, peak); });
  };
  enter_pool("cistern", {});
  enter_pool("cistern_grow_first", {.on_miss = pool::OnMiss::grow_first});
  enter_pool("cistern_mag_4m", {.magazine_bytes = 4 * kMiB});
  enter_pool("cistern_mag_64m", {.magazine_bytes = 64 * kMiB});
  enter_pool("cistern_exact", {.policy = core::FitPolicy::exact_best_fit});
  enter_one_thread("core", true, [](std::uint64_t peak) { return std::make_unique<CoreAlone>(peak); });
  enter("binned", true, [](std::uint64_t) { return std::make_unique<BinnedPool>(); });
  enter("naive", true, [](std::uint64_t) { return std::make_unique<NaivePool>(); });
  for (const HeapLibrary& library : load_heaps()) {
    if (library.missing.empty()) {
      enter(library.name, false, [library](std::uint64_t) { return std::make_unique<HostHeap>(library); });
    } else {
      benchmark::AddCustomContext("left_out_" + library.name, library.missing);
      std::fprintf(stderr, "%s is left out: %s\n", library.name.c_str(), library.missing.c_str());
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  make_room_for_heaps(arguments);
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 2;
  enter_all();
  const ParkedThread second_thread;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
