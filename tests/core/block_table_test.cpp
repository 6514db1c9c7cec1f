// The table of blocks: nodes are handed out once and come back, links form a circle, records stay with their index.
#include "core/block_table.hpp"

#include <gtest/gtest.h>

namespace cistern::core {
namespace {

TEST(BlockTable, HandsOutEveryNodeOnceAndTheLastOneGivenBackFirst) {
  BlockTable blocks = BlockTable::create(3).take();
  EXPECT_EQ(blocks.spare(), 3U);
  const BlockIndex first = blocks.take();
  const BlockIndex second = blocks.take();
  const BlockIndex third = blocks.take();
  EXPECT_NE(first, kNoBlock);
  EXPECT_NE(first, second);
  EXPECT_NE(second, third);
  EXPECT_EQ(blocks.spare(), 0U);
  blocks.give(first);
  blocks.give(third);
  EXPECT_EQ(blocks.spare(), 2U);
  EXPECT_EQ(blocks.take(), third);
  EXPECT_EQ(blocks.take(), first);
}

TEST(BlockTable, KnowsOnlyNodesThatHaveBeenBlocks) {
  BlockTable blocks = BlockTable::create(100).take();
  const BlockIndex block = blocks.take();
  EXPECT_TRUE(blocks.knows(block));
  EXPECT_FALSE(blocks.knows(block + 1));
  blocks.give(block);
  EXPECT_TRUE(blocks.knows(block));
  EXPECT_EQ(blocks[block].state, BlockState::unused);
}

TEST(BlockTable, LinksByAddressAsACircleThroughNoBlock) {
  BlockTable blocks = BlockTable::create(3).take();
  const BlockIndex middle = blocks.take();
  const BlockIndex before = blocks.take();
  const BlockIndex after = blocks.take();
  blocks.link_before(kNoBlock, middle);
  blocks.link_before(middle, before);
  blocks.link_after(middle, after);
  EXPECT_EQ(blocks[kNoBlock].next, before);
  EXPECT_EQ(blocks[before].next, middle);
  EXPECT_EQ(blocks[middle].next, after);
  EXPECT_EQ(blocks[after].next, kNoBlock);
  EXPECT_EQ(blocks[kNoBlock].previous, after);
  blocks.unlink(middle);
  EXPECT_EQ(blocks[before].next, after);
  EXPECT_EQ(blocks[after].previous, before);
}

TEST(BlockTable, RecordsStayWithTheirIndex) {
  BlockTable blocks = BlockTable::create(2).take();
  const BlockIndex block = blocks.take();
  EXPECT_EQ(blocks.record(block).generation, 0U);
  blocks.record(block).generation = 7;
  blocks.give(block);
  EXPECT_EQ(blocks.record(blocks.take()).generation, 7U);
}

TEST(BlockTable, ANodeGivenBackTwiceIsSeen) {
  BlockTable blocks = BlockTable::create(4).take();
  const BlockIndex block = blocks.take();
  blocks.take();
  blocks.give(block);
  EXPECT_TRUE(blocks.recycled_nodes_are_sound());
  blocks.give(block);
  EXPECT_FALSE(blocks.recycled_nodes_are_sound());
}

}  // namespace
}  // namespace cistern::core
