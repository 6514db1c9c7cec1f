// Replay with every kind of compaction, on traces small enough that every figure is worked out by hand.
#include <gtest/gtest.h>

#include "replay/replay_engine.hpp"
#include "small_trace.hpp"

namespace cistern::replay {
namespace {

constexpr std::uint64_t kBlock = 1024;

// Eight blocks, every other one goes, then two blocks' worth is wanted twice.
SmallTrace checker() {
  SmallTrace trace;
  std::vector<std::uint32_t> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(trace.allocate(kBlock));
  for (std::size_t i = 0; i < blocks.size(); i += 2) trace.free(blocks[i]);
  trace.allocate(2 * kBlock);
  trace.allocate(2 * kBlock);
  return trace;
}

ReplayOptions one_arena(Compaction compaction, double over_peak) {
  ReplayOptions options;
  options.pool.growth = pool::Growth::arenas;
  options.compaction = compaction;
  options.capacity_over_peak = over_peak;
  options.filled = true;
  options.passes = 0;
  return options;
}

ReplayReport replayed(const SmallTrace& trace, const ReplayOptions& options) {
  auto report = replay(trace.data(), options);
  EXPECT_TRUE(report.is_ok()) << report.status().to_string();
  return report.is_ok() ? report.take() : ReplayReport{};
}

TEST(ReplayCompaction, RelocationServesWhatOneArenaHolds) {
  for (const Compaction compaction : {Compaction::relocate, Compaction::all}) {
    const ReplayReport report = replayed(checker(), one_arena(compaction, 1.0));
    EXPECT_EQ(report.ledger.peak_reserved_bytes, 8 * kBlock);
    EXPECT_EQ(report.failed, 0U);
    EXPECT_EQ(report.ledger.moves, 2U);
    EXPECT_EQ(report.ledger.moved_bytes, 2 * kBlock);
    EXPECT_EQ(report.compaction.steps, 2U);
    EXPECT_EQ(report.compaction.served, 2U);
    EXPECT_EQ(report.compaction.most_bytes, kBlock);
    EXPECT_GT(report.compaction.pauses.longest_ns, 0U);
    EXPECT_EQ(report.compaction.pauses.count(), report.compaction.steps);
    EXPECT_EQ(report.fragmentation.mean_stitchable_share, 0.0) << "a driver arena has no pages";
  }
}

TEST(ReplayCompaction, WithoutItTheRequestsFail) {
  for (const Compaction compaction : {Compaction::none, Compaction::stitch}) {
    const ReplayReport report = replayed(checker(), one_arena(compaction, 1.0));
    EXPECT_EQ(report.failed, 2U);
    EXPECT_EQ(report.compaction.steps, 0U);
    EXPECT_EQ(report.ledger.movable_blocks, 0U);
  }
}

TEST(ReplayCompaction, NoneNeverStitches) {
  constexpr std::uint64_t kPage = 64 * 1024;
  SmallTrace trace;
  const auto a = trace.allocate(kPage);
  trace.allocate(kPage);
  const auto c = trace.allocate(kPage);
  trace.free(a);
  trace.free(c);
  trace.allocate(2 * kPage);
  ReplayOptions options;
  options.pool.page_bytes = kPage;
  options.passes = 0;
  options.compaction = Compaction::none;
  EXPECT_EQ(replayed(trace, options).ledger.peak_reserved_bytes, 4 * kPage);
  options.compaction = Compaction::stitch;
  const ReplayReport stitched = replayed(trace, options);
  EXPECT_EQ(stitched.ledger.peak_reserved_bytes, 3 * kPage);
  EXPECT_EQ(stitched.compaction.steps, 1U);
  EXPECT_EQ(stitched.compaction.served, 1U);
}

TEST(ReplayCompaction, ContentsAreLookedAtAfterEveryStep) {
  for (const ReplayDevice device : {ReplayDevice::host, ReplayDevice::simulated}) {
    ReplayOptions options = one_arena(Compaction::relocate, 1.0);
    options.device = device;
    options.check = true;
    const ReplayReport report = replayed(checker(), options);
    EXPECT_EQ(report.failed, 0U);
    EXPECT_EQ(report.calls.bytes_copied, 2 * kBlock);
    ASSERT_TRUE(report.check);
    EXPECT_EQ(report.check->blocks, 10U);
    EXPECT_EQ(report.check->looks, 2U);
    EXPECT_EQ(report.check->damaged, 0U);
  }
}

TEST(ReplayCompaction, ACapacityIsAMultipleOfTheTracesPeak) {
  SmallTrace trace;
  trace.allocate(1'000'000);
  ReplayOptions options;
  options.passes = 0;
  options.capacity_over_peak = 1.5;
  EXPECT_EQ(options_for(trace.data(), options).value().capacity_bytes, 1'500'160U);
  options.filled = true;
  options.pool.growth = pool::Growth::arenas;
  EXPECT_EQ(replayed(trace, options).ledger.peak_reserved_bytes, 1'500'160U);
  options.capacity_over_peak = 0;
  EXPECT_EQ(replay(trace.data(), options).status().code(), base::StatusCode::invalid_argument);
}

}  // namespace
}  // namespace cistern::replay
