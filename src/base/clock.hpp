// Clock: time as an interface, so that tests and simulations own it.
#pragma once

#include <atomic>
#include <cstdint>

namespace cistern::base {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::uint64_t now_ns() const noexcept = 0;
};

// CLOCK_MONOTONIC.
class SteadyClock final : public Clock {
 public:
  std::uint64_t now_ns() const noexcept override;
};

// Stands still unless moved. Thread-safe.
class ManualClock final : public Clock {
 public:
  std::uint64_t now_ns() const noexcept override { return now_.load(std::memory_order_relaxed); }
  void advance(std::uint64_t ns) noexcept { now_.fetch_add(ns, std::memory_order_relaxed); }
  // Never backwards: a moment that is past changes nothing.
  void advance_to(std::uint64_t ns) noexcept {
    std::uint64_t now = now_ns();
    while (now < ns && !now_.compare_exchange_weak(now, ns, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<std::uint64_t> now_{0};
};

}  // namespace cistern::base
