// The lowest hole that is long enough: the tree against a walk over all regions, at every width.
#include "core/hole_tree.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace cistern::core {
namespace {

std::uint64_t lowest(const std::vector<std::uint32_t>& bounds, std::uint32_t length, std::uint64_t from) {
  for (std::uint64_t i = from; i < bounds.size(); ++i) {
    if (bounds[i] >= length) return i;
  }
  return HoleTree::kNone;
}

// Widths around whole families and levels, where an index can step out of its level.
class HoleTreeOfWidth : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(HoleTreeOfWidth, FindsWhatAWalkFinds) {
  const std::uint64_t width = GetParam();
  HoleTree tree = HoleTree::create(width).take();
  std::vector<std::uint32_t> bounds(width);
  std::mt19937 random(static_cast<std::uint32_t>(width));
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t region = random() % width;
    const std::uint32_t length = 1 + random() % 50;
    if (random() % 2 == 0) {
      tree.raise(3, region, length);
      bounds[region] = std::max(bounds[region], length);
    } else {
      const std::uint32_t truth = random() % 2 == 0 ? 0 : bounds[region] / 2;
      tree.lower(3, region, truth);
      bounds[region] = truth;
    }
    ASSERT_TRUE(tree.path_is_sound(3, region));
    const std::uint32_t wanted = 1 + random() % 50;
    const std::uint64_t from = random() % (width + 1);
    ASSERT_EQ(tree.find(3, wanted, from), lowest(bounds, wanted, from)) << "from " << from;
    ASSERT_EQ(tree.find(3, wanted, 0), lowest(bounds, wanted, 0));
  }
  // The other slots' trees are theirs.
  EXPECT_EQ(tree.find(2, 1, 0), HoleTree::kNone);
  EXPECT_EQ(tree.find(4, 1, 0), HoleTree::kNone);
}

INSTANTIATE_TEST_SUITE_P(Widths, HoleTreeOfWidth,
                         ::testing::Values(1, 2, 7, 8, 9, 63, 64, 65, 511, 512, 513, 4096, 5000));

TEST(HoleTree, HoldsTheLongestHoleOfTheLargestArena) {
  const std::uint64_t regions = std::uint64_t{1} << 25;
  HoleTree tree = HoleTree::create(regions).take();
  tree.raise(0, regions - 1, 0xFFFFFFFFU);
  EXPECT_EQ(tree.find(0, 0xFFFFFFFFU, 0), regions - 1);
  EXPECT_EQ(tree.find(0, 1, regions), HoleTree::kNone);
}

}  // namespace
}  // namespace cistern::core
