// Times: what is measured is the target's own work, and every operation is in exactly one of the spreads.
#include "replay/replay_timing.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "replay/replay_engine.hpp"
#include "replay/segments.hpp"
#include "small_trace.hpp"

namespace cistern::replay {
namespace {

constexpr std::uint64_t kPage = 64 * 1024;

// A hundred pages that come and go, of which three are live at once.
SmallTrace rolling_pages() {
  SmallTrace trace;
  std::vector<std::uint32_t> slots;
  for (std::size_t i = 0; i < 100; ++i) {
    slots.push_back(trace.allocate(kPage));
    if (i >= 2) trace.free(slots[i - 2]);
  }
  return trace;
}

// Works for 20 us at every allocation and calls the driver at each tenth.
class SlowTarget final : public ReplayTarget {
 public:
  base::Result<device::Address> allocate(std::uint64_t) noexcept override {
    const base::SteadyClock clock;
    for (const std::uint64_t start = clock.now_ns(); clock.now_ns() - start < 20'000;) {
    }
    ++allocations_;
    return allocations_;
  }
  base::Status free(device::Address) noexcept override { return {}; }
  pool::Ledger ledger() const noexcept override { return {}; }
  device::DeviceCounters counters() const noexcept override {
    device::DeviceCounters counters;
    counters.maps = allocations_ / 10;
    return counters;
  }

 private:
  std::uint64_t allocations_ = 0;
};

TEST(DecodedTrace, SlotsAreUsedAgain) {
  const DecodedTrace decoded = decode(rolling_pages().data());
  EXPECT_EQ(decoded.steps.size(), 198U);
  EXPECT_EQ(decoded.slots, 3U);
  std::vector<int> live(decoded.slots, 0);
  for (const Step& step : decoded.steps) {
    live[step.slot] += step.op == TraceOp::allocate ? 1 : -1;
    EXPECT_TRUE(live[step.slot] == 0 || live[step.slot] == 1);
  }
}

TEST(ReplayTimes, AreThoseOfTheTarget) {
  unsigned made = 0;
  std::uint64_t played = 0;
  const auto times = measure_times(
      decode(rolling_pages().data()), 2,
      [&made]() -> base::Result<std::unique_ptr<ReplayTarget>> {
        ++made;
        return std::unique_ptr<ReplayTarget>(std::make_unique<SlowTarget>());
      },
      [&played] { ++played; });
  ASSERT_TRUE(times.is_ok());
  EXPECT_EQ(made, 4U);  // a warm-up, two passes, one for the spread
  EXPECT_EQ(played, timed_plays(2));
  // 100 allocations of 20 us in 99 pairs; half, where another program has the core (CPU time stands still then).
  EXPECT_GE(times.value().first_ns, 10'000);
  EXPECT_GE(times.value().steady_ns, 10'000);
  EXPECT_GT(times.value().loop_ns, 0);
  EXPECT_LT(times.value().loop_ns, times.value().first_ns / 10);
  EXPECT_DOUBLE_EQ(times.value().net_ns(), times.value().first_ns - times.value().loop_ns);
  for (const PlaySpread& spread : {times.value().first, times.value().steady}) {
    EXPECT_EQ(spread.driver.operations, 10U);
    EXPECT_EQ(spread.allocations.operations, 90U);
    EXPECT_EQ(spread.frees.operations, 98U);
    EXPECT_GE(spread.allocations.p50_ns, 19'000U);
    EXPECT_LE(spread.allocations.p50_ns, spread.allocations.p99_ns);
    EXPECT_LE(spread.allocations.p99_ns, spread.allocations.max_ns);
    EXPECT_GE(spread.allocations.mean_ns, 19'000);
    EXPECT_LT(spread.frees.p50_ns, 19'000U);
    EXPECT_DOUBLE_EQ(spread.hit_pair_ns(), spread.allocations.mean_ns + spread.frees.mean_ns);
  }
}

TEST(ReplayTimes, OfAPoolTellDriverCallsApart) {
  ReplayOptions options;
  options.pool.page_bytes = kPage;
  options.passes = 1;
  std::uint64_t progress = 0;
  options.on_progress = [&progress](std::uint64_t events) {
    EXPECT_GE(events, progress);
    progress = events;
  };
  const SmallTrace trace = rolling_pages();
  const auto report = replay(trace.data(), options);
  ASSERT_TRUE(report.is_ok()) << report.status().to_string();
  EXPECT_EQ(progress, events_to_replay(trace.data(), options));
  ASSERT_TRUE(report.value().times.has_value());
  const ReplayTimes& times = *report.value().times;
  EXPECT_EQ(report.value().ledger.misses, 3U);
  EXPECT_EQ(times.first.driver.operations, 3U);
  EXPECT_EQ(times.first.allocations.operations, 97U);
  EXPECT_EQ(times.first.frees.operations, 98U);
  EXPECT_EQ(times.steady.driver.operations, 0U);  // the three pages are there
  EXPECT_EQ(times.steady.allocations.operations, 100U);
  EXPECT_GT(times.first_ns, times.loop_ns);
}

TEST(ReplayTimes, AFailureToMakeATargetIsPassedOn) {
  const auto times = measure_times(
      decode(rolling_pages().data()), 1,
      []() -> base::Result<std::unique_ptr<ReplayTarget>> { return base::internal_error("none today"); }, [] {});
  EXPECT_EQ(times.status().to_string(), "internal: none today");
}

}  // namespace
}  // namespace cistern::replay
