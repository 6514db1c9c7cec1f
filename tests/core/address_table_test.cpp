// From an offset back to its block: the bitmap tree against a set of numbers, live starts, and blocks that span
// regions.
#include "core/address_table.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace cistern::core {
namespace {

class BitmapTreeOfBound : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(BitmapTreeOfBound, FindsTheGreatestMemberNotAbove) {
  const std::uint64_t bound = GetParam();
  BitmapTree tree = BitmapTree::create(bound).take();
  std::set<std::uint64_t> members;
  std::mt19937_64 random(bound);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t number = random() % bound;
    // Sparse at times, so that answers lie many words back.
    if (random() % 8 < (i % 1000 < 500 ? 5U : 1U)) {
      tree.insert(number);
      members.insert(number);
    } else if (!members.empty()) {
      const std::uint64_t victim = *members.begin();
      tree.erase(victim);
      members.erase(victim);
    }
    const std::uint64_t asked = random() % bound;
    const auto after = members.upper_bound(asked);
    const std::uint64_t expected = after == members.begin() ? BitmapTree::kNone : *std::prev(after);
    ASSERT_EQ(tree.last_at_or_below(asked), expected);
    ASSERT_EQ(tree.contains(asked), members.count(asked) == 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Bounds, BitmapTreeOfBound,
                         ::testing::Values(1, 63, 64, 65, 4096, 4097, 300'000, std::uint64_t{1} << 25));

// Three blocks in a table whose regions hold 128 granules.
class AddressTableTest : public ::testing::Test {
 protected:
  BlockIndex append(std::uint32_t offset, std::uint32_t length) {
    const BlockIndex block = blocks_.take();
    blocks_[block].offset = offset;
    blocks_[block].length = length;
    blocks_[block].state = BlockState::free;
    blocks_.link_before(kNoBlock, block);
    addresses_.block_began(blocks_, block);
    return block;
  }

  BlockTable blocks_ = BlockTable::create(8).take();
  AddressTable addresses_ = AddressTable::create(1000).take();
};

TEST_F(AddressTableTest, FindsBlocksThatSpanManyRegions) {
  const BlockIndex small = append(0, 10);
  const BlockIndex large = append(10, 900);
  const BlockIndex last = append(910, 90);
  EXPECT_EQ(addresses_.containing(blocks_, 9), small);
  EXPECT_EQ(addresses_.containing(blocks_, 10), large);
  EXPECT_EQ(addresses_.containing(blocks_, 500), large);  // no block starts in this region
  EXPECT_EQ(addresses_.containing(blocks_, 909), large);  // the region's first block starts behind
  EXPECT_EQ(addresses_.containing(blocks_, 999), last);
  EXPECT_TRUE(addresses_.matches(blocks_, 1000));
}

TEST_F(AddressTableTest, RemembersLiveStartsUntilTheyAreCleared) {
  const BlockIndex first = append(0, 100);
  const BlockIndex second = append(100, 900);
  for (const BlockIndex block : {first, second}) {
    const std::uint64_t start = blocks_[block].offset;
    EXPECT_EQ(addresses_.live_at(start), kNoBlock);
    addresses_.set_live(start, block);
    EXPECT_EQ(addresses_.live_at(start), block);
    EXPECT_EQ(addresses_.live_at(start + 1), kNoBlock);
    EXPECT_FALSE(addresses_.matches(blocks_, 1000)) << "a start of a block that is not live must be seen";
    addresses_.clear_live(start, block);
    EXPECT_EQ(addresses_.live_at(start), kNoBlock);
    EXPECT_TRUE(addresses_.matches(blocks_, 1000));
  }
}

// A live block is found whether it is the first of its region or not, and while that changes.
TEST_F(AddressTableTest, ALiveBlockIsFoundWhileBlocksBeforeItComeAndGo) {
  const BlockIndex hole = append(0, 200);
  const BlockIndex live = append(200, 800);  // the first of region 1
  addresses_.set_live(200, live);
  blocks_[live].state = BlockState::live;
  ASSERT_TRUE(addresses_.matches(blocks_, 1000));

  const BlockIndex tail = blocks_.take();  // the hole's last 50 granules, from 150 on: now the first of region 1
  blocks_[hole].length = 150;
  blocks_[tail].offset = 150;
  blocks_[tail].length = 50;
  blocks_[tail].state = BlockState::free;
  blocks_.link_after(hole, tail);
  addresses_.block_began(blocks_, tail);
  EXPECT_EQ(addresses_.live_at(200), live);
  EXPECT_EQ(addresses_.live_at(150), kNoBlock);
  EXPECT_TRUE(addresses_.matches(blocks_, 1000));

  addresses_.block_ends(blocks_, tail);
  blocks_.unlink(tail);
  blocks_[hole].length = 200;
  EXPECT_EQ(addresses_.live_at(200), live);
  EXPECT_TRUE(addresses_.matches(blocks_, 1000));
  addresses_.clear_live(200, live);
  blocks_[live].state = BlockState::free;
  EXPECT_TRUE(addresses_.matches(blocks_, 1000));
}

TEST_F(AddressTableTest, AStrayStartInsideABlockIsSeen) {
  append(0, 1000);
  addresses_.set_live(333, 1);
  EXPECT_FALSE(addresses_.matches(blocks_, 1000));
  EXPECT_TRUE(addresses_.matches(blocks_, 0)) << "only small arenas are checked granule by granule";
}

}  // namespace
}  // namespace cistern::core
