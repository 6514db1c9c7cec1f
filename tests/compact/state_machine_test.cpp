// Random histories of a pool that compacts, against a naive record: blocks never overlap, every byte stays, the ledger
// and all invariants hold after each step, and a compaction keeps its promise.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

struct Step {
  unsigned kind;
  std::uint64_t size;
  std::uint64_t which;
};

struct Held {
  std::uint64_t bytes;
  unsigned char stamp;
  bool registered;
};

class Machine {
 public:
  Machine(const std::string& kind, OnMiss on_miss, bool faults)
      : device_(std::make_shared<device::FaultInjectingDevice>(make_device(kind, 64 * kMiB))),
        test_(device_, options(on_miss)),
        faults_(faults) {}
  ~Machine() { device_->plan().reset(); }

  static PoolOptions options(OnMiss on_miss) {
    PoolOptions options;
    options.limit_bytes = 24 * kTestPage;
    options.on_miss = on_miss;
    options.step_us = 120;
    return options;
  }

  void take(const Step& step) {
    switch (step.kind % 8) {
      case 0:
      case 1:
        return allocate((step.size % 8 + 1) * kTestPage);
      case 2:
        return allocate(step.size % (2 * kTestPage) + 1);
      case 3:
      case 4:
        return free_one(step.which);
      case 5:
        return compact(step.size % 12);
      case 6:
        return step.size % 4 == 0 ? static_cast<void>(test_->trim((step.which % 24) * kTestPage)) : pin(step.which);
      default:
        if (faults_) fail_soon(step.size);
    }
  }

  // Validation walks every granule of the range: not after each step.
  void check(bool whole) {
    if (whole) RC_ASSERT(test_->validate() == "");
    std::uint64_t requested = 0;
    device::Address end = 0;
    for (const auto& [at, held] : held_) {
      RC_ASSERT(at >= end);
      end = at + held.bytes;
      requested += held.bytes;
      const auto* memory = static_cast<const unsigned char*>(test_.device->host_alias(at));
      for (std::uint64_t i = 0; i < held.bytes; i += 509) RC_ASSERT(memory[i] == held.stamp);
      RC_ASSERT(memory[held.bytes - 1] == held.stamp);
    }
    const Ledger ledger = test_->ledger();
    RC_ASSERT(ledger.requested_bytes == requested);
    RC_ASSERT(ledger.reserved_bytes <= ledger.limit_bytes);
    RC_ASSERT(ledger.reserved_bytes == ledger.allocated_bytes + ledger.free_bytes + ledger.moving_bytes);
    RC_ASSERT(test_.device->counters().driver_bytes == ledger.reserved_bytes + test_.pages->counts().kept * kTestPage);
  }

 private:
  void allocate(std::uint64_t bytes) {
    const auto served = test_->allocate(bytes);
    if (!served.is_ok()) return;
    const auto stamp = static_cast<unsigned char>(++stamps_);
    std::memset(test_.device->host_alias(served.value()), stamp, bytes);
    held_[served.value()] = {bytes, stamp, false};
  }
  void free_one(std::uint64_t which) {
    if (held_.empty()) return;
    const auto victim = std::next(held_.begin(), static_cast<long>(which % held_.size()));
    if (victim->second.registered) {
      RC_ASSERT(test_->unregister_range(victim->first, victim->second.bytes).is_ok());
    }
    RC_ASSERT(test_->free(victim->first).is_ok());
    held_.erase(victim);
  }
  void compact(std::uint64_t pages) {
    CompactionRequest request;
    if (pages != 0) request.max_bytes = pages * kTestPage;
    if (pages % 2 == 1) request.rate_goal = 0.1;
    const std::uint64_t reserved = test_->ledger().reserved_bytes;
    auto done = test_->compact(request);
    if (!done.is_ok()) return;
    RC_ASSERT(done.value().moved_bytes <= request.max_bytes);
    RC_ASSERT(test_->ledger().reserved_bytes <= reserved);
    // What a fault has interrupted may leave less than there was; else the largest hole never shrinks.
    if (!faults_) RC_ASSERT(done.value().largest_free_after >= done.value().largest_free_before);
  }
  void pin(std::uint64_t which) {
    if (held_.empty()) return;
    const auto at = std::next(held_.begin(), static_cast<long>(which % held_.size()));
    if (at->second.registered) return;
    RC_ASSERT(test_->register_range(at->first, at->second.bytes).is_ok());
    at->second.registered = true;
  }
  void fail_soon(std::uint64_t nth) {
    device::Fault fault;
    fault.nth = nth % 9 + 1;
    fault.times = nth % 3 + 1;
    device_->plan().reset();
    device_->plan().add(fault);
  }

  std::shared_ptr<device::FaultInjectingDevice> device_;
  TestPool test_;
  bool faults_;
  std::map<device::Address, Held> held_;
  unsigned stamps_ = 0;
};

void run_history(const char* kind, bool faults) {
  const auto on_miss = *rc::gen::element(OnMiss::stitch_first, OnMiss::grow_first);
  const auto steps = *rc::gen::container<std::vector<Step>>(rc::gen::construct<Step>(
      rc::gen::inRange(0U, 8U), rc::gen::inRange<std::uint64_t>(0, 1U << 20), rc::gen::inRange<std::uint64_t>(0, 64)));
  Machine machine(kind, on_miss, faults);
  std::size_t taken = 0;
  for (const Step& step : steps) {
    machine.take(step);
    machine.check(++taken % 16 == 0);
  }
  machine.check(true);
}

RC_GTEST_PROP(PoolThatCompacts, KeepsEveryByteOnTheHost, ()) { run_history("host", false); }
RC_GTEST_PROP(PoolThatCompacts, KeepsEveryByteOnASimulatedDevice, ()) { run_history("simulated", false); }
RC_GTEST_PROP(PoolThatCompacts, KeepsEveryByteWhenCallsFail, ()) { run_history("simulated", true); }
RC_GTEST_PROP(PoolThatCompacts, KeepsEveryByteWhenCallsOfTheHostFail, ()) { run_history("host", true); }

}  // namespace
}  // namespace cistern::pool
