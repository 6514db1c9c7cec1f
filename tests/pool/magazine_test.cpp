// Magazines: what one thread keeps, when it is given up, and that nothing of it is ever lost, served twice or
// miscounted.
#include "pool/magazine.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

TEST(MagazineOnItsOwn, ServesTheLastBlockOfExactlyThatSize) {
  Magazine magazine(1, kMiB);
  EXPECT_EQ(magazine.take(8), core::kNoBlock);
  EXPECT_TRUE(magazine.has_room(8 * 512));
  magazine.put(8, 100);
  magazine.put(8, 101);
  magazine.put(9, 102);
  EXPECT_EQ(magazine.cached_bytes.get(), 25 * 512);
  EXPECT_EQ(magazine.take(8), 101u);
  EXPECT_EQ(magazine.take(8), 100u);
  EXPECT_EQ(magazine.take(8), core::kNoBlock);
  EXPECT_EQ(magazine.take(9), 102u);
  EXPECT_EQ(magazine.cached_bytes.get(), 0);
  EXPECT_EQ(magazine.cached_blocks.get(), 0);
}

TEST(MagazineOnItsOwn, NeverHoldsMoreThanItsBytes) {
  Magazine magazine(1, 16 * 512);
  EXPECT_TRUE(magazine.accepts(4 * 512));
  EXPECT_FALSE(magazine.accepts(5 * 512));
  for (core::BlockIndex block = 1; block <= 4; ++block) {
    EXPECT_TRUE(magazine.has_room(4 * 512));
    magazine.put(4, block);
  }
  EXPECT_FALSE(magazine.has_room(512));
}

TEST(MagazineOnItsOwn, TheOldestHalfMakesRoom) {
  Magazine magazine(1, kMiB);
  core::BlockIndex block = 0;
  while (magazine.has_room(512)) magazine.put(1, ++block);
  EXPECT_EQ(block, Magazine::kMostBlocks);
  std::vector<core::BlockIndex> out;
  const auto take_out = [&out](core::BlockIndex each) { out.push_back(each); };
  magazine.make_room(512, take_out);
  ASSERT_EQ(out.size(), Magazine::kMostBlocks / 2);
  for (std::uint32_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i + 1);
  EXPECT_EQ(magazine.cached_blocks.get(), Magazine::kMostBlocks / 2);
  EXPECT_EQ(magazine.cached_bytes.get(), Magazine::kMostBlocks / 2 * 512);
  for (; block > Magazine::kMostBlocks / 2; --block) EXPECT_EQ(magazine.take(1), block);
  EXPECT_EQ(magazine.take(1), core::kNoBlock);
}

TEST(MagazineOnItsOwn, AsManyOldOnesGoAsTheBytesAsk) {
  Magazine magazine(1, 16 * 512);
  magazine.put(1, 1);
  magazine.put(1, 2);
  magazine.put(1, 3);
  magazine.put(4, 4);
  magazine.put(4, 5);
  magazine.put(3, 6);  // 14 of 16
  std::vector<core::BlockIndex> out;
  const auto take_out = [&out](core::BlockIndex each) { out.push_back(each); };
  magazine.make_room(4 * 512, take_out);
  EXPECT_EQ(out, (std::vector<core::BlockIndex>{1, 2, 3})) << "half of them, and the bytes fit";
  magazine.put(4, 7);  // 15 of 16
  out.clear();
  magazine.make_room(16 * 512, take_out);
  EXPECT_EQ(out, (std::vector<core::BlockIndex>{4, 5, 6, 7}));
  EXPECT_EQ(magazine.cached_bytes.get(), 0);
}

TEST(MagazineOnItsOwn, ABlockFromTheMiddleLeavesTheOthersInOrder) {
  Magazine magazine(1, kMiB);
  for (std::uint32_t size = 1; size <= 5; ++size) magazine.put(size, size * 10);
  EXPECT_EQ(magazine.take(3), 30u);
  EXPECT_EQ(magazine.take(3), core::kNoBlock);
  std::vector<core::BlockIndex> out;
  magazine.drain([&out](core::BlockIndex each) { out.push_back(each); });
  EXPECT_EQ(out, (std::vector<core::BlockIndex>{10, 20, 40, 50}));
  EXPECT_EQ(magazine.cached_bytes.get(), 0);
}

TEST(MagazineOnItsOwn, StandsStillWhileHeld) {
  Magazine magazine(1, kMiB);
  magazine.announce_hold();
  magazine.wait_until_held();
  EXPECT_FALSE(magazine.enter());
  magazine.let_go();
  EXPECT_TRUE(magazine.enter());
  magazine.leave();
}

PoolOptions with_magazines() {
  PoolOptions options;
  options.magazine_bytes = 4 * kMiB;
  return options;
}

TEST(MagazinesOfAPool, AFreedBlockIsCachedAndServesTheSameSizeAgain) {
  TestPool test(make_device("counting", 64 * kMiB), with_magazines());
  const device::Address at = must_allocate(*test.pool, 5000);
  ASSERT_TRUE(test->free(at).is_ok());
  Ledger ledger = test->ledger();
  EXPECT_EQ(ledger.cached_bytes, 5120u);
  EXPECT_EQ(ledger.allocated_bytes, 0u);
  EXPECT_EQ(ledger.requested_bytes, 0u);
  EXPECT_EQ(ledger.live_blocks, 0u);
  EXPECT_EQ(ledger.frees, 1u);
  AllocationRequest request;
  request.bytes = 4999;
  request.tag = test->intern_tag("again");
  const auto again = test->allocate(request);
  ASSERT_TRUE(again.is_ok());
  EXPECT_EQ(again.value(), at);
  EXPECT_EQ(test->describe(at).value().requested_bytes, 4999u);
  EXPECT_EQ(test->describe(at).value().tag, "again");
  ledger = test->ledger();
  EXPECT_EQ(ledger.cached_bytes, 0u);
  EXPECT_EQ(ledger.requested_bytes, 4999u);
  EXPECT_EQ(ledger.peak_requested_bytes, 5000u);
  EXPECT_EQ(ledger.allocations, 2u);
  EXPECT_EQ(test->validate(), "");
}

TEST(MagazinesOfAPool, PeaksAreExactWithOneThread) {
  TestPool test(make_device("counting", 64 * kMiB), with_magazines());
  const device::Address first = must_allocate(*test.pool, 1000);
  const device::Address second = must_allocate(*test.pool, 2000);
  EXPECT_TRUE(test->free(first).is_ok());
  EXPECT_TRUE(test->free(second).is_ok());
  must_allocate(*test.pool, 1024);  // from the magazine
  must_allocate(*test.pool, 2048);  // the same: 3072 live, the peak
  EXPECT_EQ(test->ledger().peak_requested_bytes, 3072u);
}

TEST(MagazinesOfAPool, DoubleFreesAreCaughtHereAndFromOtherThreads) {
  TestPool test(make_device("counting", 64 * kMiB), with_magazines());
  const device::Address at = must_allocate(*test.pool, 4096);
  ASSERT_TRUE(test->free(at).is_ok());
  EXPECT_EQ(test->free(at).code(), base::StatusCode::double_free);
  std::thread([&] { EXPECT_EQ(test->free(at).code(), base::StatusCode::double_free); }).join();
  EXPECT_EQ(test->describe(at).status().code(), base::StatusCode::not_found);
  EXPECT_EQ(test->ledger().frees, 1u);
}

TEST(MagazinesOfAPool, AMissEmptiesThemBeforeThePoolGrows) {
  PoolOptions options = with_magazines();
  options.limit_bytes = 4 * kMiB;
  TestPool test(make_device("counting", 64 * kMiB), options);
  std::vector<device::Address> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(must_allocate(*test.pool, kMiB));
  for (const device::Address at : blocks) EXPECT_TRUE(test->free(at).is_ok());
  ASSERT_GT(test->ledger().cached_bytes, 0u);
  EXPECT_NE(must_allocate(*test.pool, 4 * kMiB), 0u) << "cached blocks stood in the way of the limit";
  EXPECT_EQ(test->ledger().cached_bytes, 0u);
}

TEST(MagazinesOfAPool, AnotherThreadsMissEmptiesThemToo) {
  PoolOptions options = with_magazines();
  options.limit_bytes = 2 * kMiB;
  TestPool test(make_device("counting", 64 * kMiB), options);
  const device::Address at = must_allocate(*test.pool, kMiB);
  EXPECT_TRUE(test->free(at).is_ok());
  std::thread([&] { EXPECT_NE(must_allocate(*test.pool, 2 * kMiB), 0u); }).join();
}

TEST(MagazinesOfAPool, BlocksThatAreNotAskedForAgainGoBackToTheArena) {
  TestPool test(make_device("counting", 64 * kMiB), with_magazines());
  std::vector<device::Address> blocks;
  for (std::uint32_t i = 0; i < 3 * Magazine::kMostBlocks; ++i) blocks.push_back(must_allocate(*test.pool, 512));
  for (const device::Address at : blocks) EXPECT_TRUE(test->free(at).is_ok());
  const Ledger ledger = test->ledger();
  EXPECT_LE(ledger.cached_bytes, Magazine::kMostBlocks * 512);
  EXPECT_GT(ledger.cached_bytes, 0u);
  EXPECT_EQ(ledger.live_blocks, 0u);
  EXPECT_EQ(ledger.frees, 3 * Magazine::kMostBlocks);
  EXPECT_EQ(ledger.requested_bytes, 0u);
  EXPECT_EQ(test->validate(), "");
}

TEST(MagazinesOfAPool, TrimGivesCachedMemoryBack) {
  TestPool test(make_device("counting", 64 * kMiB), with_magazines());
  EXPECT_TRUE(test->free(must_allocate(*test.pool, kMiB)).is_ok());
  ASSERT_GT(test->ledger().cached_bytes, 0u);
  EXPECT_TRUE(test->trim(0).is_ok());
  EXPECT_EQ(test->ledger().reserved_bytes, 0u);
}

TEST(MagazinesOfAPool, AThreadThatEndsGivesItsBlocksBack) {
  TestPool test(make_device("counting", 64 * kMiB), with_magazines());
  std::thread([&] {
    EXPECT_TRUE(test->free(must_allocate(*test.pool, kMiB)).is_ok());
    EXPECT_EQ(test->ledger().cached_bytes, kMiB);
  }).join();
  const Ledger ledger = test->ledger();
  EXPECT_EQ(ledger.cached_bytes, 0u);
  EXPECT_EQ(ledger.allocations, 1u);
  EXPECT_EQ(ledger.frees, 1u);
  EXPECT_EQ(ledger.peak_requested_bytes, kMiB);
  EXPECT_EQ(test->validate(), "");
}

TEST(MagazinesOfAPool, AThreadMayOutliveItsPools) {
  std::thread([] {
    for (int i = 0; i < 20; ++i) {
      TestPool test(make_device("counting", 64 * kMiB), with_magazines());
      EXPECT_TRUE(test->free(must_allocate(*test.pool, 4096)).is_ok());
      EXPECT_EQ(test->ledger().cached_bytes, 4096u);
    }
  }).join();
}

TEST(MagazinesOfAPool, OneThreadKeepsSeveralPoolsApart) {
  TestPool left(make_device("counting", 64 * kMiB), with_magazines());
  TestPool right(make_device("host", 64 * kMiB), with_magazines());
  const device::Address in_left = must_allocate(*left.pool, 4096);
  const device::Address in_right = must_allocate(*right.pool, 4096);
  EXPECT_EQ(left->free(in_right).code(), base::StatusCode::not_found);
  EXPECT_TRUE(left->free(in_left).is_ok());
  EXPECT_TRUE(right->free(in_right).is_ok());
  EXPECT_EQ(must_allocate(*left.pool, 4096), in_left);
  EXPECT_EQ(must_allocate(*right.pool, 4096), in_right);
}

TEST(MagazinesOfAPool, SnapshotsShowCachedBlocksAsNobodys) {
  TestPool test(make_device("counting", 64 * kMiB), with_magazines());
  EXPECT_TRUE(test->free(must_allocate(*test.pool, 4096)).is_ok());
  const Snapshot snapshot = test->snapshot();
  EXPECT_TRUE(snapshot.tags.empty());
  EXPECT_TRUE(test->live_allocations().empty());
  int cached = 0;
  for (const BlockSnapshot& block : snapshot.arenas.at(0).blocks) cached += block.is_cached ? 1 : 0;
  EXPECT_EQ(cached, 1);
}

TEST(MagazinesOfAPool, NamesAndLargeAlignmentsGoTheSlowWay) {
  TestPool test(make_device("counting", 64 * kMiB), with_magazines());
  AllocationRequest request;
  request.bytes = 4096;
  request.name = "named";
  ASSERT_TRUE(test->allocate(request).is_ok());
  EXPECT_TRUE(test->free_named("named").is_ok());
  EXPECT_EQ(test->ledger().cached_bytes, 0u);
  EXPECT_TRUE(test->free(must_allocate(*test.pool, 4096)).is_ok());
  const device::Address aligned = must_allocate(*test.pool, 4096, 64 * kKiB);
  EXPECT_EQ(aligned % (64 * kKiB), 0u);
}

}  // namespace
}  // namespace cistern::pool
