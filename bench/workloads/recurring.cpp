#include "bench/workloads/recurring.hpp"

#include "bench/workloads/random.hpp"

namespace cistern::bench {
namespace {

constexpr std::uint32_t kSizes = 16;
constexpr std::uint32_t kSmallest = 1024;  // and its multiples: with four of each, 136 KiB in all

// Freed at once: what it leaves behind is room, so that no cache has to be emptied for a request.
constexpr std::uint32_t kRoom = std::uint32_t{16} << 20;

std::uint32_t size_number(std::uint32_t number) { return kSmallest * (number + 1); }

}  // namespace

Workload hits() {
  Workload workload;
  workload.name = "hit";
  workload.slots = 1;
  workload.opening = {{0, kRoom}, {0, 0}};
  for (std::uint32_t i = 0; i < kSizes; ++i) {
    workload.cycle.push_back({0, size_number(i)});
    workload.cycle.push_back({0, 0});
  }
  return workload;
}

Workload hit_burst() {
  constexpr std::uint32_t kOfEach = 4;
  Workload workload;
  workload.name = "alloc";
  workload.slots = kSizes * kOfEach;
  workload.opening = {{0, kRoom}, {0, 0}};
  for (std::uint32_t slot = 0; slot < workload.slots; ++slot) {
    workload.cycle.push_back({slot, size_number(slot % kSizes)});
  }
  for (std::uint32_t slot = workload.slots; slot > 0; --slot) workload.cycle.push_back({slot - 1, 0});
  return workload;
}

std::vector<std::uint32_t> handed_over_sizes() {
  Random random(7);
  std::vector<std::uint32_t> sizes(4096);
  for (std::uint32_t& size : sizes) size = random.size(12, 22);
  return sizes;
}

}  // namespace cistern::bench
