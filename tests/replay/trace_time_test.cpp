// A pool's compacting thread in the time of the trace, and the counts of what tells trouble.
#include "replay/trace_time.hpp"

#include <gtest/gtest.h>

#include "replay/replay_engine.hpp"
#include "small_trace.hpp"

namespace cistern::replay {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr std::uint64_t kSecond = 1'000'000'000;

// Ten blocks of 2 MiB of which every other one goes; one of 4 MiB came and went before, so that its size is a recent
// one. Then a pause, and a request of 4 MiB.
TraceData holes_and_pause(std::uint64_t pause_ns) {
  SmallTrace trace;
  trace.free(trace.allocate(4 * kMiB));
  std::vector<std::uint32_t> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(trace.allocate(2 * kMiB));
  for (std::size_t i = 0; i < blocks.size(); i += 2) trace.free(blocks[i]);
  trace.wait(pause_ns);
  trace.allocate(4 * kMiB);
  return trace.data();
}

ReplayOptions active_options() {
  ReplayOptions options;
  options.passes = 0;
  options.pool.page_bytes = 2 * kMiB;
  options.pool.compact_actively = true;
  options.pool.compact_interval_ms = 5000;
  return options;
}

TEST(TraceTime, APauseIsAQuietMoment) {
  const ReplayReport report = replay(holes_and_pause(6 * kSecond), active_options()).take();
  ASSERT_TRUE(report.active.has_value());
  EXPECT_GE(report.active->passes, 1U);
  EXPECT_GE(report.active->compacted_bytes, 2 * kMiB);
  EXPECT_GT(report.active->driver_ns, 0.0);
  EXPECT_EQ(report.triggers.blocked, 0U) << "the hole was made before the request came";
  EXPECT_EQ(report.compaction.steps, 0U) << "no request waited for pages";
  EXPECT_DOUBLE_EQ(report.overhead(), 1.0);
}

TEST(TraceTime, WithoutAPauseTheMissDoesIt) {
  const ReplayReport report = replay(holes_and_pause(0), active_options()).take();
  EXPECT_EQ(report.active->passes, 0U);
  EXPECT_EQ(report.active->compacted_bytes, 0U);
  EXPECT_EQ(report.triggers.blocked, 1U);
  EXPECT_EQ(report.triggers.blocked_exposed, 1U);
  EXPECT_EQ(report.triggers.blocked_above_threshold, 1U);
  EXPECT_EQ(report.compaction.steps, 1U);
  EXPECT_EQ(report.fragmentation.mean_stitchable_share, 1.0) << "every hole is a page of its own";
}

TEST(TraceTime, OffUnlessAskedFor) {
  ReplayOptions options = active_options();
  options.pool.compact_actively = false;
  const ReplayReport report = replay(holes_and_pause(6 * kSecond), options).take();
  EXPECT_FALSE(report.active.has_value());
  EXPECT_EQ(report.compaction.steps, 1U);
}

TEST(TraceTime, YearsWithoutEventsAreNotWaitedFor) {
  const ReplayReport report = replay(holes_and_pause(std::uint64_t{1} << 62), active_options()).take();
  EXPECT_GE(report.active->passes, 1U);
  EXPECT_LE(report.active->looks, 256U);
}

TEST(TraceTime, ContentsAreLookedAtAfterEveryPass) {
  ReplayOptions options = active_options();
  options.device = ReplayDevice::host;
  options.check = true;
  const ReplayReport report = replay(holes_and_pause(6 * kSecond), options).take();
  ASSERT_TRUE(report.check.has_value());
  EXPECT_EQ(report.check->damaged, 0U);
  EXPECT_GE(report.check->looks, 1U);
}

TEST(TraceTime, NothingToDoIsRefused) {
  ReplayOptions options = active_options();
  options.compaction = Compaction::none;
  EXPECT_EQ(replay(holes_and_pause(0), options).status().code(), base::StatusCode::invalid_argument);
  options = active_options();
  options.segments = true;
  EXPECT_EQ(replay(holes_and_pause(0), options).status().code(), base::StatusCode::invalid_argument);
}

}  // namespace
}  // namespace cistern::replay
