// The clock of the machine: CLOCK_MONOTONIC, which never jumps and costs no system call on Linux.
#include "base/clock.hpp"

#include <ctime>

namespace cistern::base {

std::uint64_t SteadyClock::now_ns() const noexcept {
  std::timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace cistern::base
