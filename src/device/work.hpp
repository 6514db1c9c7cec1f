// Work: what is submitted to a stream of a device that runs in this process (host, simulated, counting), and who may
// watch it being done.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace cistern::device {

// A range of device memory that work reads or writes.
struct Touch {
  Address at = 0;
  std::uint64_t bytes = 0;
  bool writes = false;
};

struct Work {
  std::uint64_t duration_ns = 0;  // how long it takes, in the device's work time (work_time.hpp)
  // Runs when the duration is over, on the stream's thread, with no lock held; may be empty. Must not throw, and must
  // not wait for its own stream.
  std::function<void()> body = nullptr;
  // For observers; nothing is checked where there is none.
  std::vector<Touch> touches = {};
  std::uint64_t context = 0;  // on whose behalf, by the observer's numbers; 0: nobody in particular
  std::string name = {};
};

using WorkId = std::uint64_t;

// Is told of all work of a device. Called from any thread, with no lock of the device held; must not call the device.
class WorkObserver {
 public:
  virtual ~WorkObserver() = default;
  WorkObserver(const WorkObserver&) = delete;
  WorkObserver& operator=(const WorkObserver&) = delete;
  virtual void on_submit(WorkId id, StreamHandle stream, const Work& work) noexcept = 0;
  virtual void on_begin(WorkId id) noexcept = 0;
  virtual void on_end(WorkId id) noexcept = 0;  // after on_begin, or instead of it when the submission was refused

 protected:
  WorkObserver() = default;
};

}  // namespace cistern::device
