// Pages that must stay where they are: what pins leave unpinned, and pins that overlap.
#include "core/pinned_ranges.hpp"

#include <gtest/gtest.h>

namespace cistern::core {
namespace {

std::vector<GranuleSpan> unpinned(const PinnedRanges& pins, GranuleSpan span, std::uint64_t page) {
  std::vector<GranuleSpan> found;
  pins.for_each_unpinned_pages(span, page, [&](GranuleSpan pages) { found.push_back(pages); });
  return found;
}

TEST(PinnedRanges, WithoutPinsEveryWholePageIsUnpinned) {
  const PinnedRanges pins;
  EXPECT_TRUE(pins.empty());
  EXPECT_EQ(unpinned(pins, {3, 21}, 4), (std::vector<GranuleSpan>{{4, 20}}));
  EXPECT_TRUE(unpinned(pins, {5, 8}, 4).empty());
  EXPECT_TRUE(unpinned(pins, {5, 7}, 4).empty());
}

TEST(PinnedRanges, AGranuleKeepsItsWholePage) {
  PinnedRanges pins;
  pins.add({9, 10});
  EXPECT_EQ(unpinned(pins, {0, 20}, 4), (std::vector<GranuleSpan>{{0, 8}, {12, 20}}));
  EXPECT_TRUE(pins.overlaps({8, 12}));
  EXPECT_FALSE(pins.overlaps({10, 12}));
  EXPECT_FALSE(pins.overlaps({0, 9}));
}

TEST(PinnedRanges, EachPinNeedsItsUnpin) {
  PinnedRanges pins;
  pins.add({0, 8});
  pins.add({4, 12});
  pins.add({0, 8});
  EXPECT_FALSE(pins.remove({0, 12}));
  EXPECT_TRUE(pins.remove({0, 8}));
  EXPECT_TRUE(pins.overlaps({0, 1})) << "pinned twice, unpinned once";
  EXPECT_TRUE(pins.remove({0, 8}));
  EXPECT_FALSE(pins.overlaps({0, 4}));
  EXPECT_TRUE(pins.overlaps({4, 5}));
  EXPECT_FALSE(pins.remove({0, 8}));
  EXPECT_TRUE(pins.remove({4, 12}));
  EXPECT_TRUE(pins.empty());
}

TEST(PinnedRanges, PinsInOnePageLeaveNoPageBetween) {
  PinnedRanges pins;
  pins.add({1, 2});
  pins.add({6, 7});
  pins.add({9, 10});
  EXPECT_EQ(unpinned(pins, {0, 24}, 8), (std::vector<GranuleSpan>{{16, 24}}));
}

}  // namespace
}  // namespace cistern::core
