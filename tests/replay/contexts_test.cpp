// Streams as contexts: joint and separate reserves of traces worked out by hand.
#include "replay/contexts.hpp"

#include <gtest/gtest.h>

#include "replay/small_trace.hpp"

namespace cistern::replay {
namespace {

constexpr std::uint64_t kPage = 64 * 1024;

ReplayOptions pages_of_64_kib(Compaction compaction = Compaction::stitch) {
  ReplayOptions options;
  options.pool.page_bytes = kPage;
  options.compaction = compaction;
  return options;
}

// Each in turn has four pages, in blocks of one, and frees them.
SmallTrace in_turns(std::uint32_t streams) {
  SmallTrace trace;
  for (std::uint32_t stream = 0; stream < streams; ++stream) {
    std::vector<std::uint32_t> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(trace.allocate(kPage, stream));
    for (const std::uint32_t block : blocks) trace.free(block);
  }
  return trace;
}

TEST(ReplayContexts, StreamsInTurnsShareTheSamePages) {
  const auto report = replay_contexts(in_turns(3).data(), pages_of_64_kib());
  ASSERT_TRUE(report.is_ok()) << report.status().to_string();
  const ContextsReport& found = report.value();
  EXPECT_EQ(found.joint_peak_live_bytes, 4 * kPage);
  EXPECT_EQ(found.joint_reserved_bytes, 4 * kPage);
  EXPECT_EQ(found.separate_reserved_bytes(), 12 * kPage);
  EXPECT_EQ(found.lent_bytes, 8 * kPage);
  EXPECT_EQ(found.failed, 0u);
  ASSERT_EQ(found.contexts.size(), 3u);
  for (const StreamContext& each : found.contexts) {
    EXPECT_EQ(each.allocations, 4u);
    EXPECT_EQ(each.peak_live_bytes, 4 * kPage);
    EXPECT_EQ(each.peak_reserved_bytes, 4 * kPage);
    EXPECT_EQ(each.alone_bytes, 4 * kPage);
  }
}

TEST(ReplayContexts, WhatIsLiveAtOnceIsNotShared) {
  SmallTrace trace;
  trace.allocate(3 * kPage, 0);
  trace.allocate(2 * kPage, 1);
  const auto report = replay_contexts(trace.data(), pages_of_64_kib());
  ASSERT_TRUE(report.is_ok());
  EXPECT_EQ(report.value().joint_reserved_bytes, 5 * kPage);
  EXPECT_DOUBLE_EQ(report.value().joint_overhead(), 1.0);
  EXPECT_DOUBLE_EQ(report.value().separate_overhead(), 1.0);
  EXPECT_EQ(report.value().lent_bytes, 0u);
}

TEST(ReplayContexts, ACapacityIsAWall) {
  SmallTrace trace;
  trace.allocate(3 * kPage, 0);
  trace.allocate(2 * kPage, 1);
  trace.allocate(kPage, 0);
  ReplayOptions options = pages_of_64_kib();
  options.capacity_bytes = 4 * kPage;
  const auto report = replay_contexts(trace.data(), options);
  ASSERT_TRUE(report.is_ok());
  EXPECT_EQ(report.value().failed, 1u);
  ASSERT_TRUE(report.value().first_failure.has_value());
  EXPECT_EQ(report.value().first_failure->index, 1u);
  EXPECT_EQ(report.value().first_failure->stream, 1u);
  EXPECT_EQ(report.value().joint_reserved_bytes, 4 * kPage);
}

// Free pages in pieces are of no use to a pool that can't stitch, so it lacks more than one that can.
TEST(ReplayContexts, NothingFailsWithoutACapacityWhetherPoolsStitchOrNot) {
  SmallTrace trace;
  const std::uint32_t first = trace.allocate(kPage, 0);
  trace.allocate(kPage, 0);
  const std::uint32_t third = trace.allocate(kPage, 0);
  trace.allocate(kPage, 0);
  trace.free(first);
  trace.free(third);
  trace.allocate(2 * kPage, 0);
  for (const auto& [compaction, pages] : {std::pair{Compaction::stitch, 4U}, std::pair{Compaction::none, 6U}}) {
    const auto report = replay_contexts(trace.data(), pages_of_64_kib(compaction));
    ASSERT_TRUE(report.is_ok());
    EXPECT_EQ(report.value().failed, 0u) << compaction_name(compaction);
    EXPECT_EQ(report.value().joint_reserved_bytes, pages * kPage) << compaction_name(compaction);
  }
}

TEST(ReplayContexts, BlocksFreedOnOtherStreamsGoWhereTheyCameFrom) {
  SmallTrace trace;
  const std::uint32_t block = trace.allocate(kPage, 1);
  TraceData data = trace.data();
  data.events.push_back({.time_ns = 5000, .bytes = kPage, .slot = block, .stream = 0, .op = TraceOp::free});
  const auto report = replay_contexts(data, pages_of_64_kib());
  ASSERT_TRUE(report.is_ok()) << report.status().to_string();
  ASSERT_EQ(report.value().contexts.size(), 1u);
  EXPECT_EQ(report.value().contexts[0].stream, 1u);
  EXPECT_EQ(report.value().contexts[0].alone_bytes, kPage);
}

}  // namespace
}  // namespace cistern::replay
