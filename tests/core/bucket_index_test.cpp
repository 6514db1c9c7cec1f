// Free blocks by size: the buckets' bounds, the order inside them, and bitmaps that agree with the lists.
#include "core/bucket_index.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/lazy_table.hpp"

namespace cistern::core {
namespace {

class BucketIndexTest : public ::testing::Test {
 protected:
  BlockIndex hole(std::uint32_t length) {
    const BlockIndex block = blocks_.take();
    blocks_[block].length = length;
    blocks_[block].state = BlockState::free;
    return block;
  }
  void insert(BlockIndex block) { holes().insert(blocks_, block, BucketIndex::bucket_of(blocks_[block].length)); }
  BucketIndex& holes() { return table_[0]; }

  BlockTable blocks_ = BlockTable::create(64).take();
  base::LazyTable<BucketIndex> table_ = base::LazyTable<BucketIndex>::create(1).take();
};

TEST(Buckets, HaveTheirOwnForEverySmallLength) {
  for (std::uint32_t length = 1; length < 64; ++length) {
    EXPECT_EQ(BucketIndex::bucket_of(length), length);
    EXPECT_EQ(BucketIndex::min_length(length), length);
  }
}

TEST(Buckets, AscendWithLengthAndDifferByAtMostAThirtySecond) {
  for (Bucket bucket = 2; bucket < BucketIndex::kBuckets; ++bucket) {
    const std::uint32_t least = BucketIndex::min_length(bucket);
    EXPECT_EQ(BucketIndex::bucket_of(least), bucket);
    EXPECT_EQ(BucketIndex::bucket_of(least - 1), bucket - 1);
    if (bucket >= 64) {
      EXPECT_LE(least - BucketIndex::min_length(bucket - 1), least / 32);
    }
  }
  EXPECT_EQ(BucketIndex::bucket_of(0xFFFFFFFFU), BucketIndex::kBuckets - 1);
}

TEST_F(BucketIndexTest, AnIndexOfZeroesIsEmpty) {
  EXPECT_EQ(holes().first_non_empty(), BucketIndex::kNoBucket);
  EXPECT_EQ(holes().last_non_empty(), BucketIndex::kNoBucket);
  EXPECT_TRUE(holes().bitmaps_match_lists());
}

TEST_F(BucketIndexTest, WalksNonEmptyBucketsInOrderAcrossRows) {
  // Both ends of a row, the row after, a far row and the last bucket of all.
  const std::vector<std::uint32_t> lengths = {1, 31, 32, 63, 64, 5'000'000, 0xFFFFFFFFU};
  for (const std::uint32_t length : lengths) insert(hole(length));
  std::vector<Bucket> walked;
  for (Bucket bucket = holes().first_non_empty(); bucket != BucketIndex::kNoBucket;
       bucket = holes().next_non_empty(bucket)) {
    walked.push_back(bucket);
  }
  std::vector<Bucket> expected;
  for (const std::uint32_t length : lengths) expected.push_back(BucketIndex::bucket_of(length));
  EXPECT_EQ(walked, expected);
  EXPECT_EQ(holes().last_non_empty(), BucketIndex::kBuckets - 1);
}

TEST_F(BucketIndexTest, TheLastInIsTheHeadAndRemovalKeepsTheRest) {
  const BlockIndex a = hole(100);
  const BlockIndex b = hole(100);
  const BlockIndex c = hole(101);  // the same bucket: 100 and 101 differ by less than 1/32
  const Bucket bucket = BucketIndex::bucket_of(100);
  for (const BlockIndex block : {a, b, c}) insert(block);
  EXPECT_EQ(holes().head(bucket), c);
  holes().remove(blocks_, b);  // from the middle
  EXPECT_EQ(holes().head(bucket), c);
  EXPECT_EQ(blocks_[c].next_free, a);
  EXPECT_EQ(blocks_[a].previous_free, c);
  holes().remove(blocks_, c);  // the head
  EXPECT_EQ(holes().head(bucket), a);
  EXPECT_EQ(holes().first_non_empty(), bucket);
  holes().remove(blocks_, a);  // the last
  EXPECT_EQ(holes().head(bucket), kNoBlock);
  EXPECT_EQ(holes().first_non_empty(), BucketIndex::kNoBucket);
  EXPECT_TRUE(holes().bitmaps_match_lists());
}

TEST_F(BucketIndexTest, ARowStaysMarkedWhileAnyOfItsBucketsHasHoles) {
  const BlockIndex small = hole(64);
  const BlockIndex large = hole(126);  // another bucket of the same row
  insert(small);
  insert(large);
  holes().remove(blocks_, small);
  EXPECT_EQ(holes().first_non_empty(), BucketIndex::bucket_of(126));
  EXPECT_TRUE(holes().bitmaps_match_lists());
}

}  // namespace
}  // namespace cistern::core
