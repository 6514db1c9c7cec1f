// What the header promises, one promise a test. Random histories are in suballocator_property_test.cpp.
#include "core/suballocator.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace cistern::core {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

std::unique_ptr<Suballocator> arena_of(std::uint64_t range_bytes, std::uint64_t page_bytes, bool starts_filled,
                                       FitPolicy policy = FitPolicy::best_fit) {
  SuballocatorConfig config;
  config.range_bytes = range_bytes;
  config.page_bytes = page_bytes;
  config.policy = policy;
  config.starts_filled = starts_filled;
  auto arena = Suballocator::create(config);
  EXPECT_TRUE(arena.is_ok()) << arena.status().to_string();
  return arena.take();
}

// The arena as a line: a letter and a number of granules for each block.
std::string picture(const Suballocator& arena) {
  EXPECT_EQ(arena.validate(), "");
  std::string line;
  for (BlockIndex block = arena.first_block(); block != kNoBlock; block = arena.next_block(block)) {
    const BlockView view = arena.view(block);
    constexpr char kLetters[] = "?LFVM";
    char letter = kLetters[static_cast<unsigned>(view.state)];
    if (letter == 'F' && view.readiness.slot != kReadySlot) letter = 'P';
    line += (line.empty() ? "" : " ") + std::string(1, letter) + std::to_string(view.range.bytes / kGranuleBytes);
  }
  return line;
}

TEST(Suballocator, RefusesConfigurationsThatCantBeAndSaysWhy) {
  struct {
    std::uint64_t range, page;
    const char* about;
  } const cases[] = {{0, 512, "positive multiple"}, {1000, 512, "positive multiple"},
                     {4096, 0, "page size"},        {4096, 256, "page size"},
                     {4096, 1536, "page size"},     {std::uint64_t{1} << 41, 512, "2 TiB"}};
  for (const auto& bad : cases) {
    SuballocatorConfig config;
    config.range_bytes = bad.range;
    config.page_bytes = bad.page;
    auto arena = Suballocator::create(config);
    ASSERT_FALSE(arena.is_ok());
    EXPECT_EQ(arena.status().code(), base::StatusCode::invalid_argument);
    EXPECT_NE(arena.status().text().find(bad.about), std::string_view::npos) << arena.status().text();
  }
}

TEST(Suballocator, BeginsVacantOrFilled) {
  EXPECT_EQ(picture(*arena_of(16 * kKiB, 4 * kKiB, false)), "V32");
  EXPECT_EQ(picture(*arena_of(16 * kKiB, 4 * kKiB, true)), "F32");
  EXPECT_EQ(arena_of(16 * kKiB, 4 * kKiB, false)->allocate(1, 1), kNoBlock) << "nothing has pages";
}

TEST(Suballocator, RoundsSizesUpToGranules) {
  const auto arena = arena_of(16 * kKiB, 4 * kKiB, true);
  EXPECT_EQ(arena->view(arena->allocate(1, 1)).range, (Range{0, 512}));
  EXPECT_EQ(arena->view(arena->allocate(512, 1)).range, (Range{512, 512}));
  EXPECT_EQ(arena->view(arena->allocate(513, 1)).range, (Range{1024, 1024}));
  EXPECT_EQ(arena->totals().live_bytes, 2048U);
  EXPECT_EQ(arena->totals().live_blocks, 3U);
}

TEST(Suballocator, RefusesSizesAndAlignmentsThatCantBe) {
  const auto arena = arena_of(16 * kKiB, 4 * kKiB, true);
  for (const std::uint64_t bytes : {std::uint64_t{0}, 16 * kKiB + 1, kHuge, kHuge - 1, kHuge - 511, kHuge - 512}) {
    EXPECT_EQ(arena->allocate(bytes, 512), kNoBlock) << bytes;
    EXPECT_FALSE(arena->fits(bytes)) << bytes;
  }
  for (const std::uint64_t alignment : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{513}, kHuge}) {
    EXPECT_EQ(arena->allocate(512, alignment), kNoBlock) << alignment;
  }
  // Offset 0 is a multiple of everything.
  EXPECT_NE(arena->allocate(512, std::uint64_t{1} << 63), kNoBlock);
  EXPECT_EQ(arena->allocate(512, std::uint64_t{1} << 63), kNoBlock);
  EXPECT_EQ(picture(*arena), "L1 F31");
}

TEST(Suballocator, CoalescesWithEitherAndBothNeighbours) {
  const auto arena = arena_of(16 * kKiB, 4 * kKiB, true);
  BlockIndex block[4];
  for (BlockIndex& each : block) each = arena->allocate(8 * 512, 512);
  EXPECT_EQ(picture(*arena), "L8 L8 L8 L8");
  EXPECT_TRUE(arena->release(block[0]));
  EXPECT_TRUE(arena->release(block[1]));  // with the one before
  EXPECT_EQ(picture(*arena), "F16 L8 L8");
  EXPECT_TRUE(arena->release(block[3]));
  EXPECT_EQ(picture(*arena), "F16 L8 F8");
  EXPECT_TRUE(arena->release(block[2]));  // with both
  EXPECT_EQ(picture(*arena), "F32");
  const BlockIndex first = arena->allocate(512, 512);
  EXPECT_TRUE(arena->release(first));  // with the one after
  EXPECT_EQ(picture(*arena), "F32");
}

TEST(Suballocator, RefusesToReleaseTwiceOrWhatIsNoBlock) {
  const auto arena = arena_of(16 * kKiB, 4 * kKiB, true);
  const BlockIndex block = arena->allocate(512, 512);
  EXPECT_TRUE(arena->release(block));
  EXPECT_FALSE(arena->release(block));
  EXPECT_FALSE(arena->release(kNoBlock));
  EXPECT_FALSE(arena->release(12345));
  EXPECT_FALSE(arena->release(kHuge & 0xFFFFFFFF));
  EXPECT_EQ(arena->view(12345).state, BlockState::unused);
  EXPECT_EQ(picture(*arena), "F32");
}

TEST(Suballocator, PendingHolesServeTheirStreamOnlyAndMergeWhenReady) {
  const auto arena = arena_of(16 * kKiB, 4 * kKiB, true);
  BlockIndex block[4];
  for (BlockIndex& each : block) each = arena->allocate(8 * 512, 512);
  EXPECT_TRUE(arena->release(block[0], {2, 1}));
  EXPECT_TRUE(arena->release(block[1], {2, 5}));  // merges; the later batch wins
  EXPECT_TRUE(arena->release(block[2], {3, 1}));  // another stream: does not merge
  EXPECT_EQ(picture(*arena), "P16 P8 L8");
  EXPECT_EQ(arena->totals().free_pending_bytes, 24U * 512);
  EXPECT_EQ(arena->allocate(512, 512), kNoBlock);
  EXPECT_EQ(arena->largest_free_bytes(), 0U);
  EXPECT_EQ(arena->view(arena->allocate(512, 512, 3)).range.offset, 16U * 512);
  EXPECT_EQ(arena->make_ready(2, 4), 0U) << "batch 5 is not complete";
  EXPECT_EQ(arena->make_ready(kReadySlot, 9), 0U);
  EXPECT_EQ(arena->make_ready(kMaxReadinessSlots, 9), 0U);
  EXPECT_EQ(arena->make_ready(2, 5), 16U * 512);
  EXPECT_EQ(picture(*arena), "F16 L1 P7 L8");
  EXPECT_TRUE(arena->release(block[3]));
  EXPECT_EQ(arena->make_ready(3, 1), 7U * 512);
  EXPECT_EQ(picture(*arena), "F16 L1 F15") << "a hole that becomes ready joins ready neighbours";
}

// What was ready for one stream becomes pending for others, and moves from one stream's memory to another's.
TEST(Suballocator, FreeBlocksChangeFromAnyReadinessToAnyOther) {
  SuballocatorConfig config;
  config.range_bytes = 64 * 512;
  config.page_bytes = 512;
  config.starts_filled = true;
  auto arena = Suballocator::create(config).take();
  const BlockIndex first = arena->allocate(8 * 512, 512);
  const BlockIndex second = arena->allocate(8 * 512, 512);
  const BlockIndex third = arena->allocate(8 * 512, 512);
  ASSERT_TRUE(arena->release(first, {2, 5}));
  EXPECT_EQ(arena->change_readiness(kReadySlot, 0, {1, 7}), 40U * 512);  // the tail
  EXPECT_EQ(arena->totals().free_ready_bytes, 0U);
  EXPECT_EQ(arena->largest_free_bytes(1), 40U * 512);
  ASSERT_TRUE(arena->release(third, {1, 3}));
  EXPECT_EQ(arena->largest_free_bytes(1), 48U * 512) << "one slot's blocks merge";
  EXPECT_EQ(arena->change_readiness(1, 6, {2, 9}), 0U) << "the later batch won";
  ASSERT_TRUE(arena->release(second, {2, 4}));
  EXPECT_EQ(arena->change_readiness(1, 7, {2, 9}), 48U * 512);
  EXPECT_EQ(arena->largest_free_bytes(2), 64U * 512) << "and merge with what they join";
  EXPECT_EQ(arena->change_readiness(2, 8, {}), 0U);
  EXPECT_EQ(arena->change_readiness(2, 9, {2, 10}), 0U) << "the same slot: nothing to change";
  EXPECT_EQ(arena->change_readiness(kMaxReadinessSlots, 9, {}), 0U);
  EXPECT_EQ(arena->change_readiness(2, 9, {kMaxReadinessSlots, 1}), 0U);
  EXPECT_EQ(arena->validate(), "");
  EXPECT_EQ(arena->make_ready(2, 9), 64U * 512);
  EXPECT_EQ(arena->totals().free_ready_bytes, 64U * 512);
  EXPECT_EQ(arena->totals().free_pending_bytes, 0U);
  EXPECT_EQ(arena->validate(), "");
}

TEST(Suballocator, TheLaterBatchWinsWhicheverNeighbourHasIt) {
  for (const bool later_before : {false, true}) {
    for (const bool later_after : {false, true}) {
      const auto arena = arena_of(12 * kKiB, 4 * kKiB, true);
      BlockIndex block[3];
      for (BlockIndex& each : block) each = arena->allocate(4 * kKiB, 512);
      EXPECT_TRUE(arena->release(block[0], {1, later_before ? 9U : 2U}));
      EXPECT_TRUE(arena->release(block[2], {1, later_after ? 9U : 2U}));
      EXPECT_TRUE(arena->release(block[1], {1, later_before || later_after ? 3U : 9U}));
      EXPECT_EQ(picture(*arena), "P24");
      EXPECT_EQ(arena->make_ready(1, 8), 0U);
      EXPECT_EQ(arena->make_ready(1, 9), 12 * kKiB);
    }
  }
  const auto arena = arena_of(12 * kKiB, 4 * kKiB, true);
  const BlockIndex first = arena->allocate(4 * kKiB, 512);
  const BlockIndex second = arena->allocate(8 * kKiB, 512);
  EXPECT_TRUE(arena->release(second, {1, 2}));
  EXPECT_TRUE(arena->release(first, {1, 9}));  // joins the block after it alone
  EXPECT_EQ(arena->view(arena->first_block()).readiness.batch, 9U);
}

TEST(Suballocator, FillsAndVacatesPages) {
  const auto arena = arena_of(16 * kKiB, 4 * kKiB, false);
  EXPECT_TRUE(arena->fill({4096, 4096}));
  EXPECT_EQ(picture(*arena), "V8 F8 V16");
  EXPECT_FALSE(arena->fill({4096, 4096})) << "has pages";
  EXPECT_FALSE(arena->fill({0, 8192})) << "half has pages";
  EXPECT_FALSE(arena->fill({0, 512})) << "no whole page";
  EXPECT_TRUE(arena->fill({0, 4096}));
  EXPECT_EQ(picture(*arena), "F16 V16");
  EXPECT_TRUE(arena->fill({12288, 4096}));
  EXPECT_TRUE(arena->fill({8192, 4096}));
  EXPECT_EQ(picture(*arena), "F32");
  const BlockIndex block = arena->allocate(512, 512);
  EXPECT_FALSE(arena->vacate({0, 4096})) << "part of it is live";
  EXPECT_TRUE(arena->vacate({8192, 4096}));
  EXPECT_EQ(picture(*arena), "L1 F15 V8 F8");
  EXPECT_TRUE(arena->release(block, {1, 1}));
  EXPECT_FALSE(arena->vacate({0, 512})) << "pending, and no whole page";
  EXPECT_EQ(arena->make_ready(1, 1), 512U);
  EXPECT_TRUE(arena->vacate({0, 8192}));
  EXPECT_EQ(picture(*arena), "V24 F8") << "vacant joins vacant";
}

TEST(Suballocator, AllocatesOnlyWherePagesAre) {
  const auto arena = arena_of(16 * kKiB, 4 * kKiB, false);
  EXPECT_TRUE(arena->fill({4096, 4096}));
  EXPECT_EQ(arena->allocate(4097, 512), kNoBlock);
  EXPECT_EQ(arena->view(arena->allocate(4096, 512)).range, (Range{4096, 4096}));
}

TEST(Suballocator, MovingBlocksAreTouchedByNobody) {
  const auto arena = arena_of(32 * kKiB, 4 * kKiB, true);
  const BlockIndex moving = arena->begin_move({8192, 8192});
  ASSERT_NE(moving, kNoBlock);
  EXPECT_EQ(picture(*arena), "F16 M16 F32");
  EXPECT_EQ(arena->begin_move({8192, 4096}), kNoBlock);
  EXPECT_FALSE(arena->vacate({8192, 4096}));
  EXPECT_FALSE(arena->fill({8192, 4096}));
  EXPECT_FALSE(arena->release(moving));
  EXPECT_FALSE(arena->pin_range({8192, 1}));
  EXPECT_TRUE(arena->pin_range({0, 8192}));
  EXPECT_EQ(arena->allocate(20 * kKiB, 512), kNoBlock);
  const BlockIndex beside = arena->begin_move({16384, 4096});
  EXPECT_EQ(picture(*arena), "F16 M16 M8 F24") << "moving blocks do not merge";
  EXPECT_EQ(arena->settle(moving, BlockState::free), kNoBlock);
  EXPECT_EQ(arena->settle(beside, BlockState::vacant), kNoBlock);
  EXPECT_EQ(picture(*arena), "F32 V8 F24");
  EXPECT_EQ(arena->settle(moving, BlockState::free), kNoBlock) << "nothing of it moves any more";
}

TEST(Suballocator, SettlesInParts) {
  const auto arena = arena_of(32 * kKiB, 4 * kKiB, false);
  BlockIndex moving = arena->begin_move({0, 32 * kKiB});
  moving = arena->settle(moving, BlockState::free, 4096);
  EXPECT_EQ(picture(*arena), "F8 M56");
  moving = arena->settle(moving, BlockState::free, 8192);
  EXPECT_EQ(picture(*arena), "F24 M40");
  moving = arena->settle(moving, BlockState::vacant, 4096);
  EXPECT_EQ(picture(*arena), "F24 V8 M32");
  for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{100}, std::uint64_t{512}}) {
    EXPECT_EQ(arena->settle(moving, BlockState::vacant, wrong), moving) << wrong;
  }
  EXPECT_EQ(arena->settle(moving, BlockState::live), moving);
  EXPECT_EQ(picture(*arena), "F24 V8 M32");
  EXPECT_EQ(arena->settle(moving, BlockState::vacant), kNoBlock);
  EXPECT_EQ(picture(*arena), "F24 V40");
}

TEST(Suballocator, PartsOfHolesMayMoveButNotOfVacantPages) {
  const auto arena = arena_of(16 * kKiB, 4 * kKiB, true);
  EXPECT_TRUE(arena->vacate({8192, 8192}));
  EXPECT_EQ(arena->begin_move({8192, 512}), kNoBlock);
  EXPECT_EQ(arena->begin_move({7680, 4096}), kNoBlock) << "reaches over two blocks";
  const BlockIndex keep = arena->begin_move({7168, 1024});
  ASSERT_NE(keep, kNoBlock);
  EXPECT_EQ(arena->settle(keep, BlockState::vacant), keep) << "not whole pages";
  EXPECT_EQ(arena->settle(keep, BlockState::free), kNoBlock);
  EXPECT_EQ(picture(*arena), "F16 V16");
}

TEST(Suballocator, PinnedPagesAreNeverVacated) {
  const auto arena = arena_of(16 * kKiB, 4 * kKiB, true);
  EXPECT_TRUE(arena->pin_range({5000, 10}));
  EXPECT_TRUE(arena->pin_range({5000, 10}));
  EXPECT_FALSE(arena->vacate({4096, 4096}));
  EXPECT_TRUE(arena->vacate({0, 4096}));
  const BlockIndex keep = arena->begin_move({4096, 4096});
  ASSERT_NE(keep, kNoBlock) << "a pinned part may be kept in place while others move";
  EXPECT_EQ(arena->settle(keep, BlockState::vacant), keep);
  EXPECT_EQ(arena->settle(keep, BlockState::free), kNoBlock);
  EXPECT_EQ(arena->wholly_free_pages(), (std::vector<Range>{{8192, 8192}}));
  EXPECT_TRUE(arena->unpin_range({5000, 10}));
  EXPECT_FALSE(arena->vacate({4096, 4096})) << "pinned twice";
  EXPECT_TRUE(arena->unpin_range({5000, 10}));
  EXPECT_FALSE(arena->unpin_range({5000, 10}));
  EXPECT_TRUE(arena->vacate({4096, 4096}));
  for (const Range wrong : {Range{0, 0}, Range{16 * kKiB, 1}, Range{0, 16 * kKiB + 1}, Range{1, kHuge}}) {
    EXPECT_FALSE(arena->pin_range(wrong));
  }
}

TEST(Suballocator, WhollyFreePagesComeHighestFirstAndNoMoreThanAsked) {
  const auto arena = arena_of(32 * kKiB, 4 * kKiB, true);
  EXPECT_NE(arena->begin_move({13 * kKiB, 512}), kNoBlock);  // a used spot in the fourth page
  EXPECT_EQ(arena->wholly_free_pages(), (std::vector<Range>{{16384, 16384}, {0, 12288}}));
  EXPECT_EQ(arena->wholly_free_pages(20480), (std::vector<Range>{{16384, 16384}, {8192, 4096}}));
  EXPECT_EQ(arena->wholly_free_pages(8191), (std::vector<Range>{{28672, 4096}}));
  EXPECT_TRUE(arena->wholly_free_pages(4095).empty());
}

TEST(Suballocator, FindsLiveBlocksByTheirExactStartOnly) {
  const auto arena = arena_of(16 * kKiB, 4 * kKiB, true);
  EXPECT_NE(arena->allocate(1024, 512), kNoBlock);
  const BlockIndex block = arena->allocate(2048, 512);
  EXPECT_EQ(arena->find_live(1024), block);
  EXPECT_EQ(arena->find_live(1536), kNoBlock);
  EXPECT_EQ(arena->find_live(1025), kNoBlock);
  EXPECT_EQ(arena->find_live(16 * kKiB), kNoBlock);
  EXPECT_EQ(arena->find_containing(3071), block);
  EXPECT_EQ(arena->view(arena->find_containing(3072)).state, BlockState::free);
  EXPECT_EQ(arena->find_containing(16 * kKiB), kNoBlock);
  EXPECT_TRUE(arena->release(block));
  EXPECT_EQ(arena->find_live(1024), kNoBlock);
}

TEST(Suballocator, RecordsBelongToTheBlock) {
  const auto arena = arena_of(16 * kKiB, 4 * kKiB, true);
  const BlockIndex first = arena->allocate(512, 512);
  const BlockIndex second = arena->allocate(512, 512);
  arena->record(first).requested_bytes = 100;
  arena->record(second).requested_bytes = 200;
  EXPECT_EQ(arena->record(first).requested_bytes, 100U);
}

TEST(Suballocator, BucketsListReadyHolesAscending) {
  const auto arena = arena_of(64 * kKiB, 4 * kKiB, true);
  const BlockIndex small = arena->allocate(512, 512);
  EXPECT_NE(arena->allocate(512, 512), kNoBlock);
  const BlockIndex other = arena->allocate(512, 512);
  EXPECT_NE(arena->allocate(512, 512), kNoBlock);
  EXPECT_TRUE(arena->release(small));
  EXPECT_TRUE(arena->release(other));
  const auto buckets = arena->buckets();
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0].min_bytes, 512U);
  EXPECT_EQ(buckets[0].blocks, 2U);
  EXPECT_EQ(buckets[0].bytes, 1024U);
  EXPECT_EQ(buckets[1].blocks, 1U);
  EXPECT_EQ(buckets[1].bytes, 64 * kKiB - 2048);
  EXPECT_LE(buckets[1].min_bytes, buckets[1].bytes);
}

TEST(Suballocator, AFullBlockTableRefusesCleanlyAndRecovers) {
  SuballocatorConfig config;
  config.range_bytes = 1 << 20;
  config.page_bytes = 4096;
  config.starts_filled = true;
  config.max_blocks = 10;
  const auto arena = Suballocator::create(config).take();
  std::vector<BlockIndex> blocks;
  for (BlockIndex block = arena->allocate(512, 512); block != kNoBlock; block = arena->allocate(512, 512)) {
    blocks.push_back(block);
    ASSERT_LT(blocks.size(), 20U);
  }
  EXPECT_GE(blocks.size(), 9U);
  EXPECT_TRUE(arena->fits(512)) << "there is memory; it is the table that is full";
  EXPECT_EQ(arena->validate(), "");
  // Pages can still move, and releasing still works.
  const BlockIndex moving = arena->begin_move({512 * kKiB, 4096});
  ASSERT_NE(moving, kNoBlock);
  EXPECT_EQ(arena->settle(moving, BlockState::vacant), kNoBlock);
  EXPECT_TRUE(arena->fill({512 * kKiB, 4096}));
  for (const BlockIndex block : blocks) EXPECT_TRUE(arena->release(block));
  EXPECT_EQ(picture(*arena), "F2048");
  EXPECT_NE(arena->allocate(512, 512), kNoBlock);
}

TEST(Suballocator, PageOperationsAtTheVeryLastNodeAreRefusedCleanly) {
  SuballocatorConfig config;
  config.range_bytes = 4 << 20;
  config.page_bytes = 4096;
  config.max_blocks = 1;
  const auto arena = Suballocator::create(config).take();
  std::uint64_t filled = 0;
  for (std::uint64_t at = 4096; at < config.range_bytes && arena->fill({at, 4096}); at += 8192) ++filled;
  EXPECT_GE(filled, 30U);
  EXPECT_LT(filled, 40U) << "room for 64 nodes beyond the blocks, two a fill";
  EXPECT_EQ(arena->begin_move({2 << 20, 4096}), kNoBlock);
  EXPECT_EQ(arena->validate(), "");
}

TEST(Suballocator, SettlesNoPartWithoutANodeForItButAlwaysTheWhole) {
  SuballocatorConfig config;
  config.range_bytes = 4 << 20;
  config.page_bytes = 4096;
  config.max_blocks = 1;
  const auto arena = Suballocator::create(config).take();
  const BlockIndex moving = arena->begin_move({0, 32 * 4096});
  for (std::uint64_t at = 40 * 4096; at < config.range_bytes && arena->fill({at, 4096});) at += 8192;
  // At most one node is left. Heads settled in turn as free and vacant never merge: each would need one.
  std::uint64_t settled = 0;
  for (BlockState to = BlockState::free; settled < 32; ++settled) {
    const std::uint64_t before = arena->totals().moving_bytes;
    EXPECT_EQ(arena->settle(moving, to, 4096), moving);
    if (arena->totals().moving_bytes == before) break;
    to = to == BlockState::free ? BlockState::vacant : BlockState::free;
  }
  EXPECT_LE(settled, 1U);
  EXPECT_EQ(arena->validate(), "");
  EXPECT_EQ(arena->settle(moving, BlockState::vacant), kNoBlock);
  EXPECT_EQ(arena->validate(), "");
}

// The ranges of real devices, on whatever machine runs the tests: the tables are touched only where blocks are.
TEST(Suballocator, ServesRangesLargerThanTheMachine) {
  const std::uint64_t largest = (std::uint64_t{1} << 41) - (2 << 20);
  for (const FitPolicy policy : {FitPolicy::best_fit, FitPolicy::first_fit, FitPolicy::exact_best_fit}) {
    for (const std::uint64_t range : {140 * kGiB, largest}) {
      const auto arena = arena_of(range, 2 << 20, true, policy);
      const BlockIndex small = arena->allocate(1, 1);
      const BlockIndex large = arena->allocate(range - (4 << 20), 2 << 20);
      ASSERT_NE(large, kNoBlock);
      EXPECT_EQ(arena->view(large).range.offset, std::uint64_t{2} << 20);
      EXPECT_EQ(arena->find_containing(range / 2), large);
      const BlockIndex last = arena->allocate(2 << 20, 2 << 20);
      ASSERT_NE(last, kNoBlock);
      EXPECT_EQ(arena->find_live(range - (2 << 20)), last);
      EXPECT_EQ(arena->find_containing(range - 1), last);
      EXPECT_EQ(arena->validate(), "");
      for (const BlockIndex block : {large, small, last}) EXPECT_TRUE(arena->release(block));
      EXPECT_EQ(arena->largest_free_bytes(), range);
      EXPECT_NE(arena->allocate(range, 512), kNoBlock);
      EXPECT_EQ(arena->validate(), "");
    }
  }
}

TEST(Suballocator, ServesTheVeryLastGranuleOfTheLargestRange) {
  const std::uint64_t range = (std::uint64_t{1} << 41) - 512;
  const auto arena = arena_of(range, 512, true, FitPolicy::first_fit);
  EXPECT_NE(arena->allocate(range - 512, 512), kNoBlock);
  const BlockIndex last = arena->allocate(512, 512);
  ASSERT_NE(last, kNoBlock);
  EXPECT_EQ(arena->find_containing(range - 1), last);
  EXPECT_EQ(arena->validate(), "");
  EXPECT_EQ(arena->allocate(1, 1), kNoBlock);
}

}  // namespace
}  // namespace cistern::core
