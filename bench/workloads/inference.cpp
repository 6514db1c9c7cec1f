#include "bench/workloads/inference.hpp"

#include "bench/workloads/random.hpp"

namespace cistern::bench {
namespace {

constexpr std::uint64_t kLeastTensors = 20;
constexpr std::uint64_t kMostTensors = 60;
constexpr unsigned kLeastSize = 12;  // log2: 4 KB
constexpr unsigned kMostSize = 26;   // log2: 64 MB

constexpr unsigned kFreePercent = 40;    // that a tensor is freed before the next is made
constexpr unsigned kNewestPercent = 85;  // that it is the newest

using Inference = std::vector<Operation>;

Inference draw_inference(Random& random) {
  Inference inference;
  std::vector<std::uint32_t> live;
  const auto free_at = [&](std::size_t position) {
    inference.push_back({live[position], 0});
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(position));
  };
  const std::uint64_t tensors = random.between(kLeastTensors, kMostTensors);
  for (std::uint32_t slot = 0; slot < tensors; ++slot) {
    inference.push_back({slot, random.size(kLeastSize, kMostSize)});
    live.push_back(slot);
    while (!live.empty() && random.chance(kFreePercent)) {
      free_at(random.chance(kNewestPercent) ? live.size() - 1 : random.below(live.size()));
    }
  }
  while (!live.empty()) free_at(live.size() - 1);
  return inference;
}

void append(const Inference& inference, Workload* workload) {
  workload->cycle.insert(workload->cycle.end(), inference.begin(), inference.end());
}

Workload empty_workload(const char* name) {
  Workload workload;
  workload.name = name;
  workload.slots = kMostTensors;
  return workload;
}

}  // namespace

Workload recurring_inferences(std::uint64_t seed) {
  constexpr std::size_t kInferences = 64;
  constexpr std::size_t kRequests = 512;
  Random random(seed);
  std::vector<Inference> inferences;
  for (std::size_t i = 0; i < kInferences; ++i) inferences.push_back(draw_inference(random));
  Workload workload = empty_workload("W1");
  for (std::size_t i = 0; i < kRequests; ++i) append(inferences[random.below(kInferences)], &workload);
  return workload;
}

Workload single_inference(std::uint64_t seed) {
  Random random(seed);
  Workload workload = empty_workload("W1s");
  append(draw_inference(random), &workload);
  return workload;
}

Workload fresh_inferences(std::uint64_t seed) {
  constexpr std::size_t kRequests = 2048;  // enough that nothing remembers the first when it comes again
  Random random(seed);
  Workload workload = empty_workload("W1f");
  for (std::size_t i = 0; i < kRequests; ++i) append(draw_inference(random), &workload);
  return workload;
}

}  // namespace cistern::bench
