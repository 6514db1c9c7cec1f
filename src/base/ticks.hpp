// Ticks: the cheapest clock of the machine, for events that are recorded by the million. A tick has no unit by itself;
// whoever stores ticks stores a pair of (ticks, nanoseconds) beside them, at two moments at least.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace cistern::base {

inline std::uint64_t read_ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return SteadyClock().now_ns();
#endif
}

}  // namespace cistern::base
