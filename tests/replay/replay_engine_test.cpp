// Replay of traces small enough that every figure is worked out by hand.
#include "replay/replay_engine.hpp"

#include <gtest/gtest.h>

#include "small_trace.hpp"

namespace cistern::replay {
namespace {

constexpr std::uint64_t kPage = 64 * 1024;
constexpr std::uint64_t kMiB = 1024 * 1024;

ReplayOptions with_pages() {
  ReplayOptions options;
  options.pool.page_bytes = kPage;
  options.passes = 0;
  return options;
}

// A, B, C of a page each; A and C go; then `last` bytes are wanted, and freed again, and a page after them.
SmallTrace two_holes(std::uint64_t last) {
  SmallTrace trace;
  const auto a = trace.allocate(kPage);
  trace.allocate(kPage);
  const auto c = trace.allocate(kPage);
  trace.free(a);
  trace.free(c);
  const auto d = trace.allocate(last, 3);
  trace.free(d);
  trace.allocate(kPage);
  return trace;
}

ReplayReport replayed(const SmallTrace& trace, const ReplayOptions& options) {
  auto report = replay(trace.data(), options);
  EXPECT_TRUE(report.is_ok()) << report.status().to_string();
  return report.is_ok() ? report.take() : ReplayReport{};
}

TEST(Replay, StitchFirstPutsTheHolesTogether) {
  const ReplayReport report = replayed(two_holes(2 * kPage), with_pages());
  EXPECT_EQ(report.events, 8U);
  EXPECT_EQ(report.allocations, 5U);
  EXPECT_EQ(report.peak_live_bytes, 3 * kPage);
  EXPECT_EQ(report.ledger.peak_reserved_bytes, 3 * kPage);
  EXPECT_EQ(report.calls.peak_driver_bytes, 3 * kPage);
  EXPECT_DOUBLE_EQ(report.overhead(), 1.0);
  EXPECT_EQ(report.ledger.misses, 4U);  // A, B, C, D
  EXPECT_EQ(report.ledger.growths, 3U);
  EXPECT_EQ(report.ledger.stitches, 1U);
  EXPECT_EQ(report.calls.pages_created, 3U);
  EXPECT_EQ(report.failed, 0U);
  EXPECT_FALSE(report.first_failure.has_value());
  EXPECT_FALSE(report.times.has_value());
}

TEST(Replay, GrowFirstTakesAnotherPage) {
  ReplayOptions options = with_pages();
  options.pool.on_miss = pool::OnMiss::grow_first;
  const ReplayReport report = replayed(two_holes(2 * kPage), options);
  EXPECT_EQ(report.ledger.peak_reserved_bytes, 4 * kPage);  // C's hole and one page behind it
  EXPECT_DOUBLE_EQ(report.overhead(), 4.0 / 3.0);
  EXPECT_EQ(report.ledger.stitches, 0U);
}

TEST(Replay, AFailingRequestIsDescribedAndLeftOut) {
  ReplayOptions options = with_pages();
  options.capacity_bytes = 3 * kPage;
  const ReplayReport report = replayed(two_holes(3 * kPage), options);
  EXPECT_EQ(report.failed, 1U);
  ASSERT_TRUE(report.first_failure.has_value());
  EXPECT_EQ(report.first_failure->index, 5U);
  EXPECT_EQ(report.first_failure->time_ns, 5000U);
  EXPECT_EQ(report.first_failure->bytes, 3 * kPage);
  EXPECT_EQ(report.first_failure->stream, 3U);
  EXPECT_EQ(report.first_failure->free_bytes, 2 * kPage);
  EXPECT_EQ(report.first_failure->largest_free_bytes, kPage);
  EXPECT_EQ(report.first_failure->reserved_bytes, 3 * kPage);
  EXPECT_EQ(report.ledger.allocations, 4U);  // the one after it, too
  EXPECT_EQ(report.ledger.frees, 2U);        // not that of the block that is missing
  EXPECT_EQ(report.ledger.live_blocks, 2U);
  EXPECT_EQ(report.peak_live_bytes, 4 * kPage);  // the trace's
  EXPECT_DOUBLE_EQ(report.overhead(), 1.0);      // of what was served
}

TEST(Replay, TheBaselineTakesThePoolsPlace) {
  ReplayOptions options = with_pages();
  options.segments = true;
  const ReplayReport report = replayed(two_holes(2 * kPage), options);
  EXPECT_EQ(report.ledger.peak_reserved_bytes, 2 * kMiB);
  EXPECT_EQ(report.calls.mallocs, 1U);
  EXPECT_EQ(report.page_bytes, 0U);
}

TEST(Replay, ExposureCountsRequestsThatOnlyTheSumCouldHold) {
  SmallTrace trace;
  const auto a = trace.allocate(12 * kMiB);
  const auto b = trace.allocate(12 * kMiB);
  trace.free(a);
  trace.free(b);
  trace.allocate(24 * kMiB);
  ReplayOptions options = with_pages();
  options.segments = true;
  options.capacity_bytes = 24 * kMiB;
  const ReplayReport report = replayed(trace, options);
  EXPECT_EQ(report.failed, 1U);
  EXPECT_EQ(report.fragmentation.every_events, 1U);
  EXPECT_EQ(report.fragmentation.samples, 5U);
  EXPECT_DOUBLE_EQ(report.fragmentation.max_rate, 0.5);
  EXPECT_DOUBLE_EQ(report.fragmentation.mean_rate, 1.0 / 5);  // 0, 0, 0, 1/2, 1/2
  EXPECT_DOUBLE_EQ(report.fragmentation.max_exposure, 1.0 / 3);
  EXPECT_DOUBLE_EQ(report.fragmentation.mean_exposure, 1.0 / 15);
}

TEST(Replay, WithoutACapacityPagesFitTheTrace) {
  SmallTrace trace;
  trace.allocate(512 * kMiB);
  ReplayOptions options = with_pages();
  options.pool.page_bytes = 0;
  EXPECT_EQ(replayed(trace, options).page_bytes, kMiB / 2);
  options.capacity_bytes = 1024 * kMiB;
  EXPECT_EQ(replayed(trace, options).page_bytes, kMiB);
}

TEST(Replay, WhatCannotBeReplayedIsRefused) {
  const SmallTrace trace = two_holes(2 * kPage);
  const auto refusal = [&trace](const ReplayOptions& options) {
    const auto report = replay(trace.data(), options);
    return report.is_ok() ? std::string("served") : report.status().to_string();
  };
  ReplayOptions small = with_pages();
  small.capacity_bytes = kPage;
  EXPECT_EQ(refusal(small),
            "invalid_argument: small: a capacity of 64KiB is smaller than the largest block of 131072 bytes (128 KiB)");
  ReplayOptions checked = with_pages();
  checked.check = true;
  EXPECT_NE(refusal(checked).find("choose --device host or simulated"), std::string::npos);
  ReplayOptions segments = with_pages();
  segments.segments = true;
  segments.device = ReplayDevice::host;
  EXPECT_NE(refusal(segments).find("bookkeeping without memory"), std::string::npos);
  EXPECT_EQ(replay(TraceData{}, with_pages()).status().code(), base::StatusCode::io_error);
}

class ContentCheckTest : public testing::TestWithParam<ReplayDevice> {
 protected:
  ReplayOptions checked() const {
    ReplayOptions options = with_pages();
    options.check = true;
    options.device = GetParam();
    options.capacity_bytes = 64 * kMiB;
    return options;
  }
};

TEST_P(ContentCheckTest, SoundMemoryPasses) {
  const ReplayReport report = replayed(two_holes(2 * kPage), checked());
  EXPECT_EQ(report.ledger.stitches, 1U);
  ASSERT_TRUE(report.check.has_value());
  EXPECT_EQ(report.check->blocks, 5U);  // those live at the end, too
  EXPECT_EQ(report.check->damaged, 0U);
}

// Damage in A, freed by event 3: in its first, a middle and its last stamp.
TEST_P(ContentCheckTest, PlantedDamageIsFound) {
  SmallTrace trace;
  const std::uint64_t bytes = 3 * kPage + 1000;
  const auto a = trace.allocate(bytes);
  trace.allocate(100);
  trace.allocate(5);
  trace.free(a);
  for (const std::uint64_t offset : {std::uint64_t{0}, 2 * kPage, bytes - 8}) {
    ReplayOptions options = checked();
    options.after_event = [offset](std::uint64_t event, device::Address address) {
      if (event == 0) ++reinterpret_cast<unsigned char*>(address)[offset];
    };
    const ReplayReport report = replayed(trace, options);
    EXPECT_EQ(report.check->blocks, 3U);
    EXPECT_EQ(report.check->damaged, 1U);
    ASSERT_TRUE(report.check->first.has_value());
    EXPECT_EQ(report.check->first->index, 3U);
    EXPECT_EQ(report.check->first->bytes, bytes);
    EXPECT_EQ(report.check->first->offset, offset);
    EXPECT_EQ(report.check->first->found & 0xFF, (report.check->first->expected + 1) & 0xFF);
    EXPECT_EQ(report.check->first->found >> 8, report.check->first->expected >> 8);
  }
}

TEST_P(ContentCheckTest, DamageInWhatIsNeverFreedIsFoundAtTheEnd) {
  SmallTrace trace;
  trace.allocate(100);
  trace.allocate(5);
  ReplayOptions options = checked();
  options.after_event = [](std::uint64_t event, device::Address address) {
    if (event == 1) ++reinterpret_cast<unsigned char*>(address)[4];
  };
  const ReplayReport report = replayed(trace, options);
  ASSERT_TRUE(report.check->first.has_value());
  EXPECT_EQ(report.check->first->index, 2U);
  EXPECT_EQ(report.check->first->bytes, 5U);
}

INSTANTIATE_TEST_SUITE_P(Devices, ContentCheckTest, testing::Values(ReplayDevice::host, ReplayDevice::simulated),
                         [](const auto& device) { return std::string(replay_device_name(device.param)); });

}  // namespace
}  // namespace cistern::replay
