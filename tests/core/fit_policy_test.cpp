// What each policy takes where they differ.
#include <gtest/gtest.h>

#include <vector>

#include "core/suballocator.hpp"

namespace cistern::core {
namespace {

// Holes of the given lengths, in granules, ascending by address, a live granule after each; freed in the given order.
std::unique_ptr<Suballocator> arena_with_holes(FitPolicy policy, const std::vector<std::uint64_t>& lengths,
                                               const std::vector<std::size_t>& order) {
  SuballocatorConfig config;
  for (const std::uint64_t length : lengths) config.range_bytes += (length + 1) * kGranuleBytes;
  config.page_bytes = kGranuleBytes;
  config.policy = policy;
  config.starts_filled = true;
  auto arena = Suballocator::create(config).take();
  std::vector<BlockIndex> blocks;
  for (const std::uint64_t length : lengths) {
    blocks.push_back(arena->allocate(length * kGranuleBytes, 512));
    EXPECT_NE(arena->allocate(kGranuleBytes, 512), kNoBlock);
  }
  EXPECT_EQ(arena->totals().free_ready_bytes, 0U);
  for (const std::size_t i : order) EXPECT_TRUE(arena->release(blocks[i]));
  return arena;
}

std::uint64_t place(Suballocator& arena, std::uint64_t granules, std::uint64_t alignment = 512) {
  const BlockIndex block = arena.allocate(granules * kGranuleBytes, alignment);
  EXPECT_NE(block, kNoBlock);
  EXPECT_EQ(arena.validate(), "");
  return arena.view(block).range.offset / kGranuleBytes;
}

TEST(FitPolicies, FirstFitTakesTheLowestAndBestFitsTheTightest) {
  const std::vector<std::uint64_t> holes = {100, 12, 10};  // at granules 0, 101, 114
  EXPECT_EQ(place(*arena_with_holes(FitPolicy::first_fit, holes, {0, 1, 2}), 10), 0U);
  EXPECT_EQ(place(*arena_with_holes(FitPolicy::best_fit, holes, {0, 1, 2}), 10), 114U);
  EXPECT_EQ(place(*arena_with_holes(FitPolicy::exact_best_fit, holes, {0, 1, 2}), 10), 114U);
}

TEST(FitPolicies, ExactBestFitTakesTheLowestAmongEquals) {
  const std::vector<std::uint64_t> holes = {20, 10, 10, 10};
  EXPECT_EQ(place(*arena_with_holes(FitPolicy::exact_best_fit, holes, {0, 2, 1, 3}), 10), 21U);
}

TEST(FitPolicies, BestFitTakesTheTightestOfTheFourLastFreedOfItsBucket) {
  // All in the bucket of 1024 to 1055; the fifth back, a perfect fit, is not looked at.
  const std::vector<std::uint64_t> holes = {1030, 1050, 1040, 1045, 1032};
  EXPECT_EQ(place(*arena_with_holes(FitPolicy::best_fit, holes, {0, 1, 2, 3, 4}), 1030), 1031U + 1051 + 1041 + 1046);
  EXPECT_EQ(place(*arena_with_holes(FitPolicy::exact_best_fit, holes, {0, 1, 2, 3, 4}), 1030), 0U);
}

TEST(FitPolicies, BestFitWalksItsBucketBeforeItSaysNo) {
  // Only the one freed first fits, and nothing larger exists.
  const std::vector<std::uint64_t> holes = {1050, 1024, 1025, 1026, 1027, 1028};
  const auto arena = arena_with_holes(FitPolicy::best_fit, holes, {0, 1, 2, 3, 4, 5});
  EXPECT_TRUE(arena->fits(1050 * kGranuleBytes));
  EXPECT_EQ(place(*arena, 1050), 0U);
  EXPECT_FALSE(arena->fits(1050 * kGranuleBytes));
}

TEST(FitPolicies, EveryPolicyFindsTheOnlyAlignedPlace) {
  // Ten holes of 16 granules at multiples of 17: only the first and the ninth (at 136) hold 16 aligned by 8.
  const std::vector<std::uint64_t> holes(10, 16);
  const std::vector<std::size_t> without_first = {8, 1, 2, 3, 4, 5, 6, 7, 9};
  for (const FitPolicy policy : {FitPolicy::best_fit, FitPolicy::first_fit, FitPolicy::exact_best_fit}) {
    const auto arena = arena_with_holes(policy, holes, without_first);
    EXPECT_EQ(place(*arena, 16, 8 * kGranuleBytes), 136U);
    EXPECT_EQ(arena->allocate(16 * kGranuleBytes, 8 * kGranuleBytes), kNoBlock);
  }
}

TEST(FitPolicies, AnAlignedBlockLeavesTheHoleBeforeAndAfterIt) {
  const auto arena = arena_with_holes(FitPolicy::best_fit, {3, 40}, {1});  // a hole at 4 to 44
  EXPECT_EQ(place(*arena, 8, 16 * kGranuleBytes), 16U);
  EXPECT_EQ(arena->totals().free_blocks, 2U);
  EXPECT_EQ(arena->view(arena->find_containing(15 * kGranuleBytes)).range, (Range{4 * 512, 12 * 512}));
  EXPECT_EQ(arena->view(arena->find_containing(24 * kGranuleBytes)).range, (Range{24 * 512, 20 * 512}));
}

TEST(FitPolicies, FirstFitFindsTheWayPastBrokenPromises) {
  // Holes come and go in many regions: the tree's bounds go stale and are corrected by searches.
  SuballocatorConfig config;
  config.range_bytes = 64 << 20;
  config.page_bytes = 4096;
  config.policy = FitPolicy::first_fit;
  config.starts_filled = true;
  auto arena = Suballocator::create(config).take();
  std::vector<BlockIndex> blocks;
  for (int i = 0; i < 512; ++i) blocks.push_back(arena->allocate(128 << 10, 512));
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < blocks.size(); i += 2) EXPECT_TRUE(arena->release(blocks[i]));
    for (std::size_t i = 0; i < blocks.size(); i += 2) {
      blocks[i] = arena->allocate(128 << 10, 512);
      ASSERT_EQ(arena->view(blocks[i]).range.offset, i * (128 << 10));
    }
    ASSERT_EQ(arena->validate(), "");
  }
  EXPECT_EQ(arena->allocate(512, 512), kNoBlock);
  EXPECT_TRUE(arena->release(blocks[509]));
  EXPECT_EQ(arena->view(arena->allocate(512, 512)).range.offset, 509U * (128 << 10));
}

}  // namespace
}  // namespace cistern::core
