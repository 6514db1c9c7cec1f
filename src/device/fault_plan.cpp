#include "device/fault_plan.hpp"

#include <numeric>
#include <string>

namespace cistern::device {

void FaultPlan::add(const Fault& fault) {
  std::lock_guard lock(mutex_);
  scripts_.push_back({fault, 0});
}

void FaultPlan::reset() {
  std::lock_guard lock(mutex_);
  scripts_.clear();
  calls_.fill(0);
  injected_ = 0;
}

std::uint64_t FaultPlan::calls() const {
  std::lock_guard lock(mutex_);
  return std::accumulate(calls_.begin(), calls_.end(), std::uint64_t{0});
}

std::uint64_t FaultPlan::calls(Operation operation) const {
  std::lock_guard lock(mutex_);
  return calls_[static_cast<std::size_t>(operation)];
}

std::uint64_t FaultPlan::injected() const {
  std::lock_guard lock(mutex_);
  return injected_;
}

base::Status FaultPlan::next(Operation operation) noexcept {
  std::lock_guard lock(mutex_);
  const std::uint64_t count = ++calls_[static_cast<std::size_t>(operation)];
  const Fault* failing = nullptr;
  for (Script& script : scripts_) {
    if (script.fault.operation && *script.fault.operation != operation) continue;
    ++script.seen;
    const bool begun = script.seen >= script.fault.nth;
    if (begun && script.seen - script.fault.nth < script.fault.times && failing == nullptr) failing = &script.fault;
  }
  if (failing == nullptr) return {};
  ++injected_;
  return base::Status(
      failing->code,
      "scripted fault in call " + std::to_string(count) + " of " + std::string(operation_name(operation)),
      failing->native_code);
}

}  // namespace cistern::device
