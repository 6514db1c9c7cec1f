// Player: plays tensor plans against a way of getting memory and says what each cost.
//
// Holds every tensor it has made, so whatever happens they are freed in the end. The clock runs only around the way's
// own calls.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "replay/memory_way.hpp"
#include "replay/tensor_plan.hpp"

namespace cistern::replay {

// What the memory of one inference cost.
struct MemoryCost {
  std::uint64_t measured_ns = 0;  // CPU time of the way's own work on this machine
  std::uint64_t modelled_ns = 0;  // the simulated driver's time
  std::uint64_t driver_calls = 0;
  std::uint64_t allocations = 0;
  std::uint64_t nanoseconds() const noexcept { return measured_ns + modelled_ns; }
};

// The costs of inferences of one sort.
class CostSeries {
 public:
  void add(const MemoryCost& cost) { costs_.push_back(cost); }
  std::size_t size() const noexcept { return costs_.size(); }
  const std::vector<MemoryCost>& costs() const noexcept { return costs_; }

  // The value that `percent` of the inferences do not exceed (nearest rank); 0 when there are none.
  std::uint64_t nanoseconds(unsigned percent) const { return percentile(percent, &MemoryCost::nanoseconds); }
  std::uint64_t modelled_ns(unsigned percent) const {
    return percentile(percent, [](const MemoryCost& cost) { return cost.modelled_ns; });
  }
  std::uint64_t driver_calls(unsigned percent) const {
    return percentile(percent, [](const MemoryCost& cost) { return cost.driver_calls; });
  }
  std::uint64_t allocations(unsigned percent) const {
    return percentile(percent, [](const MemoryCost& cost) { return cost.allocations; });
  }
  MemoryCost total() const noexcept;

 private:
  template <typename Key>
  std::uint64_t percentile(unsigned percent, Key key) const {
    std::vector<std::uint64_t> values;
    values.reserve(costs_.size());
    for (const MemoryCost& cost : costs_) values.push_back(std::invoke(key, cost));
    return nearest_rank(std::move(values), percent);
  }
  static std::uint64_t nearest_rank(std::vector<std::uint64_t> values, unsigned percent);

  std::vector<MemoryCost> costs_;
};

class Player {
 public:
  explicit Player(MemoryWay& way) noexcept : way_(way) {}
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // One inference. A refusal ends it; its tensors so far stay until release() or the end.
  base::Result<MemoryCost> play(const TensorPlan& plan);
  // Frees everything, kept tensors too; the first refusal if there was one.
  base::Status release();

  std::uint64_t live_bytes() const noexcept { return live_bytes_; }
  std::uint64_t peak_live_bytes() const noexcept { return peak_live_bytes_; }

 private:
  base::Status run(const TensorPlan& plan);

  MemoryWay& way_;
  std::vector<device::Address> kept_;
  std::vector<device::Address> by_slot_;  // of the plan being played; 0: not live
  std::uint64_t live_bytes_ = 0;          // of kept tensors, between plans
  std::uint64_t peak_live_bytes_ = 0;
};

}  // namespace cistern::replay
