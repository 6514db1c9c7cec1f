#include "device/latency_model.hpp"

#include <chrono>
#include <thread>

namespace cistern::device {

std::uint64_t LatencyDraws::next_pair_ns(bool huge) noexcept {
  const std::uint64_t least = huge ? model_.malloc_free_pair_min_ns : model_.small_malloc_free_pair_min_ns;
  const std::uint64_t most = huge ? model_.malloc_free_pair_max_ns : model_.small_malloc_free_pair_max_ns;
  // splitmix64
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t bits = state_;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  bits ^= bits >> 31;
  if (most <= least) return least;
  return least + bits % (most - least + 1);
}

std::uint64_t latency_ns(const LatencyModel& model, Operation operation, std::uint64_t quantity) noexcept {
  if (!model.enabled) return 0;
  switch (operation) {
    case Operation::malloc:
      return quantity / 2;
    case Operation::free:
      return quantity - quantity / 2;
    case Operation::reserve:
    case Operation::release:
      return model.reserve_ns;
    case Operation::create_page:
    case Operation::destroy_page:
      return model.create_page_ns;
    case Operation::map:
      return model.map_ns;
    case Operation::unmap:
      return model.unmap_ns;
    case Operation::set_access:
      return model.set_access_ns;
    case Operation::move_page:
      return model.unmap_ns + model.map_ns;
    case Operation::copy:
    case Operation::copy_from_host:
    case Operation::copy_to_host:
    case Operation::set:
      if (model.copy_bytes_per_second == 0) return 0;
      return static_cast<std::uint64_t>(static_cast<double>(quantity) * 1e9 /
                                        static_cast<double>(model.copy_bytes_per_second));
    case Operation::memory:
    case Operation::create_event:
    case Operation::destroy_event:
    case Operation::record_event:
    case Operation::query_event:
    case Operation::wait_event:
    case Operation::create_stream:
    case Operation::destroy_stream:
    case Operation::wait_stream:
    case Operation::wait_device:
    case Operation::stream_wait_event:
      return 0;
  }
  return 0;
}

void wait_for_real(std::uint64_t nanoseconds) noexcept {
  using Time = std::chrono::steady_clock;
  constexpr std::uint64_t kLateWake = 100'000;
  const auto end = Time::now() + std::chrono::nanoseconds(nanoseconds);
  if (nanoseconds > 2 * kLateWake) std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds - kLateWake));
  while (Time::now() < end) {
  }
}

}  // namespace cistern::device
