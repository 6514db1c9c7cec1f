// Work: what is submitted to a stream of a device that runs in this process (host, simulated, counting).
#pragma once

#include <cstdint>
#include <functional>

namespace cistern::device {

struct Work {
  std::uint64_t duration_ns = 0;  // how long it takes, in the device's work time (work_time.hpp)
  // Runs when the duration is over, on the stream's thread, with no lock held; may be empty. Must not throw, and must
  // not wait for its own stream.
  std::function<void()> body;
};

}  // namespace cistern::device
