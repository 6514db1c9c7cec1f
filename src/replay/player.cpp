#include "replay/player.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace cistern::replay {
namespace {

// Of this thread: on a busy machine the wall clock would charge a way for what other programs do.
std::uint64_t cpu_time_ns() noexcept {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

MemoryCost CostSeries::total() const noexcept {
  MemoryCost sum;
  for (const MemoryCost& cost : costs_) {
    sum.measured_ns += cost.measured_ns;
    sum.modelled_ns += cost.modelled_ns;
    sum.driver_calls += cost.driver_calls;
    sum.allocations += cost.allocations;
  }
  return sum;
}

std::uint64_t CostSeries::nearest_rank(std::vector<std::uint64_t> values, unsigned percent) {
  if (values.empty()) return 0;
  const std::size_t rank = std::max<std::size_t>(1, (values.size() * percent + 99) / 100);
  const auto wanted = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), wanted, values.end());
  return *wanted;
}

Player::~Player() { (void)release(); }

base::Result<MemoryCost> Player::play(const TensorPlan& plan) {
  by_slot_.assign(plan.tensors(), 0);
  kept_.reserve(kept_.size() + plan.kept_tensors());  // the clock must not see the list grow
  const device::DeviceCounters before = way_.counters();
  const std::uint64_t start = cpu_time_ns();
  base::Status status = run(plan);
  const std::uint64_t elapsed = cpu_time_ns() - start;
  if (!status.is_ok()) return status.with_context(way_.name());
  const device::DeviceCounters after = way_.counters();
  peak_live_bytes_ = std::max(peak_live_bytes_, live_bytes_ + plan.peak_bytes());
  live_bytes_ += plan.kept_bytes();
  by_slot_.clear();
  MemoryCost cost;
  cost.measured_ns = way_.works_on_this_machine() ? elapsed : 0;
  cost.modelled_ns = after.modelled_ns - before.modelled_ns;
  cost.driver_calls = driver_calls(after) - driver_calls(before);
  cost.allocations = plan.tensors();
  return cost;
}

base::Status Player::run(const TensorPlan& plan) {
  for (const TensorEvent& event : plan.events()) {
    if (event.kind == TensorEvent::Kind::drop) {
      const device::Address address = std::exchange(by_slot_[event.slot], 0);
      if (base::Status refused = way_.free(address); !refused.is_ok()) return refused;
      continue;
    }
    if (event.buffer != 0 && way_.grows_in_place()) {
      if (base::Status refused = way_.extend(event.buffer, event.bytes); !refused.is_ok()) return refused;
      continue;
    }
    auto address = way_.allocate(event.bytes, event.alignment);
    if (!address.is_ok()) return address.take_status();
    if (event.kind == TensorEvent::Kind::keep) {
      kept_.push_back(address.value());
    } else {
      by_slot_[event.slot] = address.value();
    }
  }
  return {};
}

base::Status Player::release() {
  base::Status first;
  for (auto* addresses : {&by_slot_, &kept_}) {
    for (const device::Address address : *addresses) {
      if (address == 0) continue;
      base::Status refused = way_.free(address);
      if (first.is_ok() && !refused.is_ok()) first = std::move(refused);
    }
    addresses->clear();
  }
  base::Status released = way_.release_buffers();
  if (first.is_ok() && !released.is_ok()) first = std::move(released);
  live_bytes_ = 0;
  return first;
}

}  // namespace cistern::replay
