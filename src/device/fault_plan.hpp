// FaultPlan: which calls of a device shall fail, as a script.
//
// A test runs a scenario once to learn how many calls it makes, then again for each N with the Nth call failing: that
// is the whole of "every driver call may fail". The plan counts calls even when it has no faults.
//
// Thread-safety: all.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "device/native_codes.hpp"
#include "device/operation.hpp"

namespace cistern::device {

struct Fault {
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};

  std::optional<Operation> operation;  // none: any call
  std::uint64_t nth = 1;               // the first call that fails, counted from when the fault was added; >= 1
  std::uint64_t times = 1;             // so many calls of that kind in a row
  base::StatusCode code = base::StatusCode::device_error;
  std::int64_t native_code = kAclErrorDriverInternal;
};

class FaultPlan {
 public:
  void add(const Fault& fault);
  // No faults, and all counts are 0.
  void reset();

  std::uint64_t calls() const;                     // of any kind, since the last reset
  std::uint64_t calls(Operation operation) const;  // of one kind
  std::uint64_t injected() const;                  // those that the plan made fail

  // Counts a call. A failure where a fault says so.
  base::Status next(Operation operation) noexcept;

 private:
  struct Script {
    Fault fault;
    std::uint64_t seen = 0;  // calls that it is about
  };

  mutable std::mutex mutex_;
  std::vector<Script> scripts_;
  std::array<std::uint64_t, kOperations> calls_{};
  std::uint64_t injected_ = 0;
};

}  // namespace cistern::device
