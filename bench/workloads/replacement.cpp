#include "bench/workloads/replacement.hpp"

#include <utility>

#include "bench/workloads/random.hpp"

namespace cistern::bench {
namespace {

struct Shape {
  std::uint32_t live;
  std::uint32_t replacements;  // in a cycle
  unsigned least_log2;         // of sizes
  unsigned most_log2;
};

Workload replacement(const char* name, std::uint64_t seed, const Shape& shape) {
  Random random(seed);
  const auto draw_size = [&] { return random.size(shape.least_log2, shape.most_log2); };
  Workload workload;
  workload.name = name;
  workload.slots = shape.live;
  workload.opening.reserve(shape.live);
  for (std::uint32_t slot = 0; slot < shape.live; ++slot) workload.opening.push_back({slot, draw_size()});
  workload.cycle.reserve(2 * std::size_t{shape.replacements});
  for (std::uint32_t i = 0; i < shape.replacements; ++i) {
    const auto slot = static_cast<std::uint32_t>(random.below(shape.live));
    workload.cycle.push_back({slot, 0});
    workload.cycle.push_back({slot, draw_size()});
  }
  return workload;
}

}  // namespace

Workload large_blocks() { return replacement("W2", 2, {10'000, 60'000, 9, 26}); }
Workload small_blocks() { return replacement("W5", 5, {4096, 40'000, 8, 12}); }
Workload ten_thousand_blocks() { return replacement("live10k", 10, {10'000, 60'000, 9, 21}); }
Workload hundred_thousand_blocks() { return replacement("live100k", 100, {100'000, 300'000, 9, 21}); }

}  // namespace cistern::bench
