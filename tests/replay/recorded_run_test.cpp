// A pool's run is recorded, read as any trace and replayed: events and peak are the pool's own figures, exactly, and
// the replayed pool ends as the recorded one did.
#include <gtest/gtest.h>

#include <random>

#include "replay/replay_engine.hpp"
#include "replay/sources/read_trace.hpp"
#include "trace/trace_fixture.hpp"

namespace cistern::replay {
namespace {

class RecordedRun : public ::testing::TestWithParam<const char*> {
 protected:
  trace::TestDirectory directory_;
  std::string file_ = directory_.file(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Forms, RecordedRun, ::testing::Values("a.trace", "a.log"),
                         [](const auto& param) { return std::string(param.index == 0 ? "binary" : "text"); });

// What a server does, at random: `most_live` blocks at a time of up to 300 KB.
void work(pool::Pool& pool, int steps, std::size_t most_live) {
  std::mt19937 random(7);
  std::vector<device::Address> live;
  for (int step = 0; step < steps; ++step) {
    if (live.size() < most_live && random() % 2 == 0) {
      const device::Address block = pool::must_allocate(pool, 1 + random() % 300'000);
      ASSERT_NE(block, 0U);
      live.push_back(block);
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_TRUE(pool.free(live.back()).is_ok());
      live.pop_back();
    }
  }
}

TEST_P(RecordedRun, ReplaysWithThePoolsOwnFigures) {
  auto recorder = trace::Recorder::start(trace::record_to(file_, 0));
  trace::RecordedPool pool(recorder);
  work(*pool.pool, 4000, 100);
  const pool::Ledger own = pool->ledger();
  recorder->stop();
  auto read = read_trace(file_);
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  const TraceData& trace = read.value();
  EXPECT_TRUE(trace.missing.empty());
  EXPECT_EQ(trace.events.size(), own.allocations + own.frees);
  EXPECT_EQ(trace.slots, own.allocations);
  EXPECT_EQ(peak_live_bytes(trace), own.peak_requested_bytes);

  ReplayOptions options;
  options.passes = 0;
  options.capacity_bytes = 1024 * pool::kMiB;  // the recorded pool's
  options.pool.page_bytes = pool::kTestPage;
  const auto same = replay(trace, options);
  ASSERT_TRUE(same.is_ok()) << same.status().to_string();
  EXPECT_EQ(same.value().ledger.peak_reserved_bytes, own.peak_reserved_bytes) << "the same pool, the same requests";
  EXPECT_EQ(same.value().ledger.stitches, own.stitches);
  EXPECT_EQ(same.value().ledger.live_blocks, own.live_blocks);
  for (const core::FitPolicy policy : {core::FitPolicy::first_fit, core::FitPolicy::exact_best_fit}) {
    options.pool.policy = policy;
    const auto other = replay(trace, options);
    ASSERT_TRUE(other.is_ok()) << other.status().to_string();
    EXPECT_EQ(other.value().ledger.peak_requested_bytes, own.peak_requested_bytes);
    EXPECT_EQ(other.value().failed, 0U);
  }
}

TEST_P(RecordedRun, PoolsThatEndTakeTheirBlocksWithThem) {
  auto recorder = trace::Recorder::start(trace::record_to(file_, 0));
  std::uint64_t events = 0;
  std::uint64_t left = 0;
  for (int run = 0; run < 3; ++run) {
    trace::RecordedPool pool(recorder);
    work(*pool.pool, 500, 50);
    const pool::Ledger own = pool->ledger();
    events += own.allocations + own.frees + own.live_blocks;
    left += own.live_blocks;
  }
  recorder->stop();
  const TraceData trace = read_trace(file_).take();
  ASSERT_GT(left, 0U);
  EXPECT_EQ(trace.remarks.freed_with_pool, left);
  EXPECT_EQ(trace.events.size(), events);
  EXPECT_EQ(trace.streams, 3U);
}

TEST_P(RecordedRun, DroppedEventsAreTold) {
  trace::RecorderOptions to = trace::record_to(file_, 0);
  to.ring_words = 128;
  to.round_ms = 60'000;
  auto recorder = trace::Recorder::start(to);
  trace::RecordedPool pool(recorder);
  work(*pool.pool, 20'000, 100);
  const pool::Ledger own = pool->ledger();
  recorder->stop();
  const TraceData trace = read_trace(file_).take();
  ASSERT_GT(trace.remarks.dropped_events, 0U);
  EXPECT_EQ(trace.remarks.dropped_events, recorder->counts().dropped);
  EXPECT_LT(trace.slots, own.allocations);
  ASSERT_EQ(trace.missing.size(), 1U);
}

}  // namespace
}  // namespace cistern::replay
