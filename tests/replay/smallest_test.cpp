// The smallest pool that never fails, for traces whose answer is known.
#include "replay/smallest.hpp"

#include <gtest/gtest.h>

#include "small_trace.hpp"

namespace cistern::replay {
namespace {

constexpr std::uint64_t kPage = 64 * 1024;

// A, B, C of a page each; A and C go; then two pages are wanted.
SmallTrace two_holes() {
  SmallTrace trace;
  const auto a = trace.allocate(kPage);
  trace.allocate(kPage);
  const auto c = trace.allocate(kPage);
  trace.free(a);
  trace.free(c);
  trace.allocate(2 * kPage);
  return trace;
}

SmallestPool smallest(const ReplayOptions& options) {
  const auto found = find_smallest(two_holes().data(), options);
  EXPECT_TRUE(found.is_ok() && found.value().has_value());
  return found.is_ok() && found.value() ? *found.value() : SmallestPool{};
}

TEST(Smallest, WithStitchingThePeakSuffices) {
  ReplayOptions options;
  options.pool.page_bytes = kPage;
  options.capacity_bytes = options.pool.limit_bytes = 2 * kPage;  // not what is asked here
  const SmallestPool found = smallest(options);
  EXPECT_EQ(found.peak_live_bytes, 3 * kPage);
  EXPECT_EQ(found.capacity_bytes, 3 * kPage);
  EXPECT_EQ(found.pools_tried, 1U);
  EXPECT_DOUBLE_EQ(found.over_peak(), 1.0);
}

// One arena: A and C are holes of a page on both sides of B, so D needs a page behind C. Steps of 0.25 % of three pages
// reach four at the 133rd, rounded up to 512 bytes; the pools before it had each number of granules once.
TEST(Smallest, WithoutPagesTheHolesCostAPage) {
  ReplayOptions options;
  options.pool.growth = pool::Growth::arenas;
  const SmallestPool found = smallest(options);
  EXPECT_EQ(found.capacity_bytes, 4 * kPage);
  EXPECT_EQ(found.pools_tried, 129U);
}

TEST(Smallest, TheBaselineNeedsWholeSegments) {
  ReplayOptions options;
  options.segments = true;
  const auto found = smallest(options);
  EXPECT_GE(found.capacity_bytes, 2U << 20);
  EXPECT_LT(found.capacity_bytes, (2U << 20) + 3 * kPage / 400 + 512);
}

TEST(Smallest, BeyondSixteenTimesThePeakThereIsNone) {
  SmallTrace trace;
  trace.allocate(512);
  ReplayOptions options;
  options.segments = true;  // 2 MiB for 512 bytes
  const auto found = find_smallest(trace.data(), options);
  ASSERT_TRUE(found.is_ok());
  EXPECT_FALSE(found.value().has_value());
}

}  // namespace
}  // namespace cistern::replay
