// The two measures of fragmentation, on layouts small enough to count by hand: the articles' rate, and exposure.
#include "core/fragmentation.hpp"

#include <gtest/gtest.h>

namespace cistern::core {
namespace {

std::unique_ptr<Suballocator> filled(std::uint64_t granules) {
  SuballocatorConfig config;
  config.range_bytes = granules * kGranuleBytes;
  config.page_bytes = kGranuleBytes;
  config.starts_filled = true;
  return Suballocator::create(config).take();
}

TEST(Fragmentation, RateIsTheShareOfFreeMemoryOutsideTheLargestHole) {
  const auto arena = filled(16);
  EXPECT_DOUBLE_EQ(fragmentation_rate(*arena), 0.0);
  const BlockIndex first = arena->allocate(4 * 512, 512);
  EXPECT_NE(arena->allocate(512, 512), kNoBlock);
  EXPECT_TRUE(arena->release(first));  // holes of 4 and 11 granules
  EXPECT_DOUBLE_EQ(fragmentation_rate(*arena), 1.0 - 11.0 / 15.0);
  EXPECT_NE(arena->allocate(11 * 512, 512), kNoBlock);
  EXPECT_NE(arena->allocate(4 * 512, 512), kNoBlock);
  EXPECT_DOUBLE_EQ(fragmentation_rate(*arena), 0.0) << "no free memory, nothing fragmented";
}

TEST(Fragmentation, ExposureCountsWhatWouldFitInSumButInNoHole) {
  const auto arena = filled(16);
  const BlockIndex first = arena->allocate(4 * 512, 512);
  EXPECT_NE(arena->allocate(512, 512), kNoBlock);
  EXPECT_TRUE(arena->release(first));  // largest 11, sum 15
  ExposureWindow window;
  EXPECT_DOUBLE_EQ(window.exposure(*arena), 0.0);
  window.record(11 * 512);      // fits
  window.record(11 * 512 + 1);  // needs 12: exposed
  window.record(15 * 512);      // exposed
  window.record(15 * 512 + 1);  // more than there is: no compaction would help
  EXPECT_DOUBLE_EQ(window.exposure(*arena), 0.5);
}

TEST(Fragmentation, ExposureForgetsAllButTheLast256) {
  ExposureWindow window;
  window.record(100);
  for (int i = 0; i < 255; ++i) window.record(10);
  EXPECT_DOUBLE_EQ(window.exposure(50, 200), 1.0 / 256.0);
  window.record(10);
  EXPECT_DOUBLE_EQ(window.exposure(50, 200), 0.0);
  for (int i = 0; i < 64; ++i) window.record(100);
  EXPECT_DOUBLE_EQ(window.exposure(50, 200), 0.25);
}

}  // namespace
}  // namespace cistern::core
