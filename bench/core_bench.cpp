// What the core costs: one release and one allocation, the block found by its offset as a free by pointer does.
//
// Two kinds of load. `replacement`: N blocks stay live, 512 B to 2 MiB log-uniform, and one at random makes way for a
// new one of another size: every pair meets cold nodes. `inference`: patterns of 20 to 60 tensors, 4 KiB to 64 MiB,
// freed last in first out, which is what a model does. All sizes and choices are drawn beforehand.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "core/suballocator.hpp"

namespace {

using cistern::core::BlockIndex;
using cistern::core::FitPolicy;
using cistern::core::kNoBlock;
using cistern::core::Suballocator;
using cistern::core::SuballocatorConfig;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::size_t kDrawn = std::size_t{1} << 16;

std::vector<std::uint64_t> draw_sizes(std::uint64_t least, std::uint64_t most, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> exponent(std::log2(static_cast<double>(least)),
                                                  std::log2(static_cast<double>(most)));
  std::vector<std::uint64_t> sizes(kDrawn);
  for (std::uint64_t& size : sizes) size = static_cast<std::uint64_t>(std::exp2(exponent(random)));
  return sizes;
}

std::unique_ptr<Suballocator> filled_arena(FitPolicy policy, std::uint64_t bytes) {
  SuballocatorConfig config;
  config.range_bytes = bytes;
  config.page_bytes = std::uint64_t{2} << 20;
  config.policy = policy;
  config.starts_filled = true;
  return Suballocator::create(config).take();
}

std::uint64_t place(Suballocator& arena, std::uint64_t bytes) {
  const BlockIndex block = arena.allocate(bytes, 512);
  return block == kNoBlock ? ~std::uint64_t{0} : arena.view(block).range.offset;
}

void replacement(benchmark::State& state, FitPolicy policy) {
  const auto live = static_cast<std::size_t>(state.range(0));
  const auto sizes = draw_sizes(512, std::uint64_t{2} << 20, 1);
  const auto arena = filled_arena(policy, kGiB + live * (std::uint64_t{1} << 20));
  std::mt19937 random(2);
  std::vector<std::uint32_t> victims(kDrawn);
  for (std::uint32_t& victim : victims) victim = static_cast<std::uint32_t>(random() % live);
  std::vector<std::uint64_t> offsets(live);
  for (std::size_t i = 0; i < live; ++i) offsets[i] = place(*arena, sizes[(i * 7) % kDrawn]);

  std::size_t step = 0;
  const auto replace_one = [&] {
    std::uint64_t& offset = offsets[victims[step % kDrawn]];
    arena->release(arena->find_live(offset));
    offset = place(*arena, sizes[(step * 5) % kDrawn]);
    ++step;
  };
  for (std::size_t i = 0; i < 4 * live; ++i) replace_one();  // to the steady state
  for (auto _ : state) replace_one();
  benchmark::DoNotOptimize(offsets.data());
}

void inference(benchmark::State& state, FitPolicy policy) {
  constexpr std::size_t kPatterns = 64;
  const auto sizes = draw_sizes(4096, std::uint64_t{64} << 20, 3);
  const auto arena = filled_arena(policy, 16 * kGiB);
  std::mt19937 random(4);
  std::vector<std::size_t> tensors(kPatterns);
  for (std::size_t& count : tensors) count = 20 + random() % 41;
  std::vector<std::uint64_t> offsets(64);
  std::int64_t pairs = 0;
  for (auto _ : state) {
    const std::size_t pattern = random() % kPatterns;
    const std::size_t count = tensors[pattern];
    for (std::size_t i = 0; i < count; ++i) offsets[i] = place(*arena, sizes[pattern * 64 + i]);
    for (std::size_t i = count; i > 0; --i) arena->release(arena->find_live(offsets[i - 1]));
    pairs += static_cast<std::int64_t>(count);
  }
  state.counters["ns_per_pair"] =
      benchmark::Counter(static_cast<double>(pairs) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace

BENCHMARK_CAPTURE(replacement, best_fit, FitPolicy::best_fit)->Arg(64)->Arg(10'000)->Arg(100'000);
BENCHMARK_CAPTURE(replacement, first_fit, FitPolicy::first_fit)->Arg(64)->Arg(10'000)->Arg(100'000);
BENCHMARK_CAPTURE(replacement, exact_best_fit, FitPolicy::exact_best_fit)->Arg(64)->Arg(10'000)->Arg(100'000);
BENCHMARK_CAPTURE(inference, best_fit, FitPolicy::best_fit);
BENCHMARK_CAPTURE(inference, first_fit, FitPolicy::first_fit);
BENCHMARK_CAPTURE(inference, exact_best_fit, FitPolicy::exact_best_fit);
BENCHMARK_MAIN();
