#include "pool/stream_steps.hpp"

#include "pool/pool_core.hpp"
#include "pool/stream_queues.hpp"

namespace cistern::pool {

namespace {

bool has_single_user(const PoolCore& pool) noexcept { return pool.streams.users != StreamQueues::Users::many; }

class RetireEventsStep final : public RescueStep {
 public:
  std::string_view name() const noexcept override { return "retire events"; }
  RescueOrder order() const noexcept override { return RescueOrder::retire_events; }
  RescueResult run(PoolCore& pool, const Need&, PoolLock& lock) override {
    RescueResult result;
    result.is_idle = has_single_user(pool);
    result.changed = ask_events(pool, lock, &result.failure) > 0;
    if (result.changed) result.failure = {};
    return result;
  }
};

// Another stream's pending memory, for a stream that waits for that stream's event before it does anything more.
class InsertWaitStep final : public RescueStep {
 public:
  std::string_view name() const noexcept override { return "insert wait"; }
  RescueOrder order() const noexcept override { return RescueOrder::insert_wait; }
  RescueResult run(PoolCore& pool, const Need& need, PoolLock& lock) override {
    RescueResult result;
    result.is_idle = !pool.options.stream_waits || has_single_user(pool);
    if (result.is_idle || !need.stream || need.slot == core::kReadySlot) return result;
    const core::ReadinessSlot giver = find_giver(pool, need);
    if (giver == core::kReadySlot) return result;
    const EventInFlight last = pool.streams.slots[giver].in_flight.back();
    lock.unlock();
    result.failure = pool.device->stream_wait_event(*need.stream, last.event);
    lock.lock();
    if (!result.failure.is_ok()) return result;
    // The stream's next event comes after the wait, so it speaks for what the giver had done, too.
    StreamSlot& taker = pool.streams.slots[need.slot];
    std::uint64_t bytes = 0;
    for (const auto& arena : pool.arenas) {
      bytes += arena->blocks().change_readiness(giver, last.batch, {need.slot, taker.open_batch});
    }
    if (bytes != 0) ++taker.open_frees;
    taker.open_bytes += bytes;
    result.changed = bytes != 0;
    return result;
  }

 private:
  // The slot with the smallest hole that is large enough, behind an event.
  static core::ReadinessSlot find_giver(const PoolCore& pool, const Need& need) {
    core::ReadinessSlot giver = core::kReadySlot;
    std::uint64_t smallest = ~std::uint64_t{0};
    for (core::ReadinessSlot slot = 1; slot < core::kMaxReadinessSlots; ++slot) {
      if (slot == need.slot || pool.streams.slots[slot].in_flight.empty()) continue;
      for (const auto& arena : pool.arenas) {
        const std::uint64_t largest = arena->blocks().largest_free_bytes(slot);
        if (largest < need.bytes || largest >= smallest) continue;
        smallest = largest;
        giver = slot;
      }
    }
    return giver;
  }
};

class WaitForOldestStep final : public RescueStep {
 public:
  std::string_view name() const noexcept override { return "wait for work"; }
  RescueOrder order() const noexcept override { return RescueOrder::wait_oldest; }
  RescueResult run(PoolCore& pool, const Need&, PoolLock& lock) override {
    RescueResult result;
    result.is_idle = has_single_user(pool);
    result.changed = wait_for_oldest(pool, lock, &result.failure);
    if (result.changed) result.failure = {};
    result.again = result.changed;
    return result;
  }
};

}  // namespace

std::vector<std::unique_ptr<RescueStep>> stream_steps() {
  std::vector<std::unique_ptr<RescueStep>> steps;
  steps.push_back(std::make_unique<RetireEventsStep>());
  steps.push_back(std::make_unique<InsertWaitStep>());
  steps.push_back(std::make_unique<WaitForOldestStep>());
  return steps;
}

}  // namespace cistern::pool
