// Compaction on demand: what it makes, what it costs, when it ends.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

// Blocks of `pages` pages each, of which every other one is freed, in a pool that may not grow; before that, `asked`
// bytes were asked for once and freed, so that they are a recent size.
struct Comb {
  Comb(const std::string& kind, std::uint64_t asked, int teeth = 16, std::uint64_t pages = 1, PoolOptions options = {})
      : test(make_device(kind, 1024 * kMiB), limited(options, teeth, pages)) {
    const device::Address once = must_allocate(*test.pool, asked);
    EXPECT_TRUE(test->free(once).is_ok());
    for (int i = 0; i < teeth; ++i) blocks.push_back(must_allocate(*test.pool, pages * kTestPage));
    for (std::size_t i = 0; i < blocks.size(); i += 2) EXPECT_TRUE(test->free(blocks[i]).is_ok());
  }
  static PoolOptions limited(PoolOptions options, int teeth, std::uint64_t pages) {
    options.limit_bytes = static_cast<std::uint64_t>(teeth) * pages * kTestPage;
    return options;
  }
  CompactionReport compact(const CompactionRequest& request = {}) { return test->compact(request).take(); }

  TestPool test;
  std::vector<device::Address> blocks;
};

TEST(Compaction, AfterItTheRecentSizesFitWithoutAMiss) {
  Comb comb("counting", 6 * kTestPage);
  EXPECT_GT(comb.test->ledger().exposure, 0);
  const std::uint64_t misses = comb.test->ledger().misses;
  const CompactionReport report = comb.compact();
  EXPECT_EQ(report.end, CompactionEnd::done);
  EXPECT_GT(report.exposure_before, 0);
  EXPECT_EQ(report.exposure_after, 0);
  EXPECT_EQ(report.largest_free_before, kTestPage);
  EXPECT_GE(report.largest_free_after, 6 * kTestPage);
  EXPECT_LE(report.moved_pages, 6U);
  EXPECT_NE(must_allocate(*comb.test.pool, 6 * kTestPage), 0U);
  EXPECT_EQ(comb.test->ledger().misses, misses);
  EXPECT_EQ(comb.test->validate(), "");
}

TEST(Compaction, MovesNothingWhenEverySizeFits) {
  Comb comb("counting", kTestPage);
  const device::DeviceCounters before = comb.test.device->counters();
  const CompactionReport report = comb.compact();
  EXPECT_EQ(report.end, CompactionEnd::done);
  EXPECT_EQ(report.moved_pages, 0U);
  EXPECT_EQ(comb.test.device->counters().pages_moved, before.pages_moved);
  EXPECT_EQ(comb.test->ledger().compactions, 0U);
}

TEST(Compaction, NeverGrowsThePool) {
  PoolOptions options;
  Comb comb("counting", 12 * kTestPage, 16, 1, options);  // more than is free
  const std::uint64_t reserved = comb.test->ledger().reserved_bytes;
  EXPECT_EQ(comb.compact().moved_pages, 0U);
  EXPECT_EQ(comb.test->ledger().reserved_bytes, reserved);
}

// A size that too few whole pages are free for must not keep smaller ones from getting their hole.
TEST(Compaction, WhatCannotBeHadDoesNotStandInTheWayOfLess) {
  TestPool test(make_device("counting", kMiB * 64), [] {
    PoolOptions options;
    options.limit_bytes = 12 * kTestPage;
    return options;
  }());
  for (const std::uint64_t pages : {8U, 3U}) {
    EXPECT_TRUE(test->free(must_allocate(*test.pool, pages * kTestPage)).is_ok());
  }
  std::vector<device::Address> blocks;
  for (int i = 0; i < 24; ++i) blocks.push_back(must_allocate(*test.pool, kTestPage / 2 - (i % 2 != 0 ? 0 : 512)));
  // Free: three whole pages apart from each other, and the first half of every other page.
  for (const std::size_t i : {2U, 3U, 10U, 11U, 18U, 19U}) EXPECT_TRUE(test->free(blocks[i]).is_ok());
  for (const std::size_t i : {0U, 4U, 6U, 8U, 12U, 14U, 16U, 20U, 22U}) EXPECT_TRUE(test->free(blocks[i]).is_ok());
  const CompactionReport report = test->compact().take();
  EXPECT_GE(report.largest_free_after, 3 * kTestPage) << "eight pages can't be had, three can";
  EXPECT_LT(report.exposure_after, report.exposure_before);
  EXPECT_EQ(test->validate(), "");
}

TEST(Compaction, EndsAtItsBytesAndGoesOnWhereItWas) {
  Comb comb("counting", 8 * kTestPage);
  CompactionRequest request;
  request.max_bytes = 3 * kTestPage;
  const CompactionReport first = comb.compact(request);
  EXPECT_EQ(first.end, CompactionEnd::budget);
  EXPECT_EQ(first.moved_pages, 3U);
  EXPECT_GT(first.largest_free_after, first.largest_free_before);
  std::uint64_t moved = first.moved_pages;
  for (int calls = 0; calls < 4 && comb.test->ledger().exposure > 0; ++calls)
    moved += comb.compact(request).moved_pages;
  EXPECT_EQ(comb.test->ledger().exposure, 0);
  EXPECT_LE(moved, 8U) << "no page moves twice";
}

// Time is the device's: each page that moves takes a millisecond of a clock that only it moves.
class SlowDevice final : public device::FaultInjectingDevice {
 public:
  SlowDevice(std::shared_ptr<device::Device> behind, base::ManualClock* clock)
      : FaultInjectingDevice(std::move(behind)), clock_(clock) {}
  base::Status move_page(device::Address from, device::Address to, device::PageHandle page) noexcept override {
    clock_->advance(1'000'000);
    return FaultInjectingDevice::move_page(from, to, page);
  }

 private:
  base::ManualClock* clock_;
};

TEST(Compaction, EndsWhenItsTimeIsUsedUp) {
  base::ManualClock clock;
  PoolOptions options;
  options.clock = &clock;
  options.limit_bytes = 64 * kTestPage;
  TestPool test(std::make_shared<SlowDevice>(make_device("counting", kMiB * 64), &clock), options);
  EXPECT_TRUE(test->free(must_allocate(*test.pool, 24 * kTestPage)).is_ok());
  std::vector<device::Address> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(must_allocate(*test.pool, kTestPage));
  for (std::size_t i = 0; i < blocks.size(); i += 2) EXPECT_TRUE(test->free(blocks[i]).is_ok());
  CompactionRequest request;
  request.max_us = 5000;
  std::uint64_t moved = 0;
  for (int calls = 0; calls < 6; ++calls) {
    const CompactionReport report = test->compact(request).take();
    moved += report.moved_pages;
    // What a page takes is learnt in the first call: at first a batch of ten is tried.
    if (calls > 0) {
      EXPECT_LE(report.duration_ns, 6'000'000U);
    }
    if (report.end == CompactionEnd::done) break;
  }
  EXPECT_EQ(test->ledger().exposure, 0);
  EXPECT_LE(moved, 24U);
  EXPECT_GT(moved, 10U);
}

TEST(Compaction, TheRateCanBeTheGoalWhenNoSizeIsExposed) {
  Comb comb("counting", kTestPage);
  CompactionRequest request;
  request.rate_goal = 0.25;
  const CompactionReport report = comb.compact(request);
  EXPECT_EQ(report.rate_before, 1.0 - 1.0 / 8);
  EXPECT_LE(report.rate_after, 0.25);
  EXPECT_EQ(comb.compact(request).moved_pages, 0U) << "reached";
}

TEST(Compaction, LeavesPinnedPagesAndLiveBytesAlone) {
  for (const char* kind : {"host", "simulated"}) {
    Comb comb(kind, 6 * kTestPage);
    EXPECT_TRUE(comb.test->register_range(comb.blocks[0], kTestPage).is_ok());
    const std::uint64_t pinned = comb.test->backing_generation(comb.blocks[0], kTestPage).take();
    const auto memory = [&](std::size_t i) {
      return static_cast<unsigned char*>(comb.test.device->host_alias(comb.blocks[i]));
    };
    for (std::size_t i = 1; i < comb.blocks.size(); i += 2) std::memset(memory(i), static_cast<int>(i), kTestPage);
    EXPECT_GT(comb.compact().moved_pages, 0U);
    EXPECT_EQ(comb.test->backing_generation(comb.blocks[0], kTestPage).take(), pinned);
    for (std::size_t i = 1; i < comb.blocks.size(); i += 2) {
      for (std::uint64_t at = 0; at < kTestPage; ++at) ASSERT_EQ(memory(i)[at], i) << kind;
    }
    const device::Address made = must_allocate(*comb.test.pool, 6 * kTestPage);
    ASSERT_NE(made, 0U);
    std::memset(comb.test.device->host_alias(made), 0xAB, 6 * kTestPage);
    EXPECT_EQ(comb.test->validate(), "");
  }
}

TEST(Compaction, AFailureThatLeavesNothingDoneIsTold) {
  auto device = std::make_shared<device::FaultInjectingDevice>(make_device("counting", 64 * kMiB));
  PoolOptions options;
  options.limit_bytes = 8 * kTestPage;
  TestPool test(device, options);
  EXPECT_TRUE(test->free(must_allocate(*test.pool, 4 * kTestPage)).is_ok());
  std::vector<device::Address> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(must_allocate(*test.pool, kTestPage));
  for (std::size_t i = 0; i < blocks.size(); i += 2) EXPECT_TRUE(test->free(blocks[i]).is_ok());
  device::Fault fault;
  fault.operation = device::Operation::move_page;
  fault.times = device::Fault::kForever;
  device->plan().add(fault);
  auto failed = test->compact({});
  ASSERT_FALSE(failed.is_ok());
  EXPECT_EQ(failed.status().code(), base::StatusCode::device_error);
  EXPECT_EQ(test->validate(), "");
  device->plan().reset();
  EXPECT_EQ(test->compact({}).take().exposure_after, 0);
}

TEST(Compaction, SnapshotsSayWhatCouldMoveAndHowLongAnybodyWaited) {
  Comb comb("counting", 6 * kTestPage);
  EXPECT_EQ(comb.test->snapshot().stitchable_bytes, 8 * kTestPage);
  EXPECT_EQ(comb.test->snapshot().stitchable_share(), 1.0);
  const std::uint64_t before = comb.test->snapshot().other_pauses.count();
  comb.compact();
  const Snapshot after = comb.test->snapshot();
  EXPECT_GT(after.other_pauses.count(), before);
  EXPECT_EQ(after.requester_pauses.count(), 0U) << "nobody was in need";
  EXPECT_EQ(after.ledger.compactions, 1U);
  EXPECT_EQ(after.ledger.longest_hold_ns, after.other_pauses.longest_ns);
  EXPECT_NE(must_allocate(*comb.test.pool, 8 * kTestPage), 0U);
  EXPECT_EQ(comb.test->snapshot().requester_pauses.count(), 1U);
}

TEST(Pauses, QuantilesAreTheEndsOfBuckets) {
  PauseHistogram histogram;
  for (int i = 0; i < 99; ++i) histogram.record(1500);
  histogram.record(9'000'000);
  const PauseCounts counts = histogram.read();
  EXPECT_EQ(counts.count(), 100U);
  EXPECT_EQ(counts.quantile_ns(0.5), 2000U);
  EXPECT_EQ(counts.quantile_ns(0.99), 2000U);
  EXPECT_EQ(counts.quantile_ns(1.0), 9'000'000U);
  EXPECT_EQ(counts.total_ns, 99U * 1500 + 9'000'000);
  EXPECT_EQ(PauseHistogram().read().quantile_ns(0.5), 0U);
}

}  // namespace
}  // namespace cistern::pool
