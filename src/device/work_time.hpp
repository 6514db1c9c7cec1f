// WorkTime: how the time of submitted work passes: for real, on a device's virtual clock, or when a test says so.
//
// A stream keeps its own timeline: work begins when it was submitted or when the work before it ended, whichever is
// later, and ends its duration after that. How the stream's thread gets from the one moment to the other is decided
// here, so that a test can hold any work half-way without sleeping.
//
// Thread-safety: all functions of all classes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

#include "base/clock.hpp"

namespace cistern::device {

class WorkTime {
 public:
  virtual ~WorkTime() = default;
  WorkTime(const WorkTime&) = delete;
  WorkTime& operator=(const WorkTime&) = delete;
  virtual std::uint64_t now_ns() const noexcept = 0;
  // On a stream's thread: returns when it is `at_ns`, or at once when `stop` is asked for.
  virtual void wait_until(std::uint64_t at_ns, const std::stop_token& stop) noexcept = 0;
  // The host has waited for work that ended at `at_ns`.
  virtual void host_waited(std::uint64_t at_ns) noexcept = 0;

 protected:
  WorkTime() = default;
};

// Work takes as long as it says.
class RealWorkTime final : public WorkTime {
 public:
  std::uint64_t now_ns() const noexcept override { return clock_.now_ns(); }
  void wait_until(std::uint64_t at_ns, const std::stop_token& stop) noexcept override;
  void host_waited(std::uint64_t) noexcept override {}

 private:
  base::SteadyClock clock_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
};

// Work takes no time of this machine's; a wait of the host's moves the clock to where the work ended.
class VirtualWorkTime final : public WorkTime {
 public:
  explicit VirtualWorkTime(base::ManualClock& clock) noexcept : clock_(clock) {}  // must outlive this
  std::uint64_t now_ns() const noexcept override { return clock_.now_ns(); }
  void wait_until(std::uint64_t, const std::stop_token&) noexcept override {}
  void host_waited(std::uint64_t at_ns) noexcept override { clock_.advance_to(at_ns); }

 private:
  base::ManualClock& clock_;
};

// Work ends when advance() has brought the time there.
class ManualWorkTime final : public WorkTime {
 public:
  std::uint64_t now_ns() const noexcept override { return clock_.now_ns(); }
  void wait_until(std::uint64_t at_ns, const std::stop_token& stop) noexcept override;
  void host_waited(std::uint64_t) noexcept override {}
  void advance(std::uint64_t ns) noexcept;

 private:
  base::ManualClock clock_;
  std::mutex mutex_;
  std::condition_variable_any advanced_;
};

}  // namespace cistern::device
