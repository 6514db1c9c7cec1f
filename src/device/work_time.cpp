#include "device/work_time.hpp"

#include <chrono>

namespace cistern::device {

void RealWorkTime::wait_until(std::uint64_t at_ns, const std::stop_token& stop) noexcept {
  std::unique_lock lock(mutex_);
  for (std::uint64_t now = now_ns(); now < at_ns && !stop.stop_requested(); now = now_ns()) {
    (void)stopped_.wait_for(lock, stop, std::chrono::nanoseconds(at_ns - now), [] { return false; });
  }
}

void ManualWorkTime::wait_until(std::uint64_t at_ns, const std::stop_token& stop) noexcept {
  std::unique_lock lock(mutex_);
  (void)advanced_.wait(lock, stop, [&] { return now_ns() >= at_ns; });
}

void ManualWorkTime::advance(std::uint64_t ns) noexcept {
  {
    std::lock_guard lock(mutex_);
    clock_.advance(ns);
  }
  advanced_.notify_all();
}

}  // namespace cistern::device
