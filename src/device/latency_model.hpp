// LatencyModel: what the calls of a simulated driver cost, as data.
//
// All figures are assumptions to be set by whoever knows better. The 0.5 to 2 ms for a malloc and its free together is
// what published accounts of NPU inference report; it is not confirmed by a measurement of our own. The rest is of the
// order that other vendors' drivers show. Costs that vary are drawn from a seed, one draw per pair, so that a run's
// sum repeats exactly.
#pragma once

#include <cstdint>

#include "device/operation.hpp"

namespace cistern::device {

struct LatencyModel {
  bool enabled = true;
  std::uint64_t seed = 1;
  // A malloc and its free together, uniform between the two; each call pays half. Allocations in huge pages, and
  // those below (DriverRounding::huge_from_bytes), whose pages are normal ones.
  std::uint64_t malloc_free_pair_min_ns = 500'000;
  std::uint64_t malloc_free_pair_max_ns = 2'000'000;
  std::uint64_t small_malloc_free_pair_min_ns = 500'000;
  std::uint64_t small_malloc_free_pair_max_ns = 2'000'000;
  std::uint64_t reserve_ns = 10'000;      // and release
  std::uint64_t create_page_ns = 50'000;  // and destroy_page
  std::uint64_t map_ns = 10'000;
  std::uint64_t unmap_ns = 10'000;
  std::uint64_t set_access_ns = 10'000;  // a call, however many pages
  std::uint64_t copy_bytes_per_second = 400'000'000'000;
  bool wait_for_real = false;  // callers wait as long as the model says
  friend bool operator==(const LatencyModel&, const LatencyModel&) = default;
};

// The draws of one device, in the order of its mallocs.
class LatencyDraws {
 public:
  explicit LatencyDraws(const LatencyModel& model) noexcept : model_(model), state_(model.seed) {}
  std::uint64_t next_pair_ns(bool huge) noexcept;

 private:
  LatencyModel model_;
  std::uint64_t state_;
};

// Cost of one successful call. `quantity` is the pair's cost for malloc and free, bytes for copies.
std::uint64_t latency_ns(const LatencyModel& model, Operation operation, std::uint64_t quantity) noexcept;

// Returns after that long: sleeps through most of it and spins at the end, for the scheduler wakes late.
void wait_for_real(std::uint64_t nanoseconds) noexcept;

}  // namespace cistern::device
