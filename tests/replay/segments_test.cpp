// The caching-allocator baseline, rule by rule, with figures worked out by hand. (Over recorded traces it was compared
// with an independent simulation: docs/guide/replay.md.)
#include "replay/segments.hpp"

#include <gtest/gtest.h>

namespace cistern::replay {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

std::uint64_t reserved_after(std::initializer_list<std::uint64_t> requests) {
  Segments segments;
  for (const std::uint64_t bytes : requests) EXPECT_TRUE(segments.allocate(bytes).is_ok());
  EXPECT_EQ(segments.ledger().peak_reserved_bytes, segments.ledger().reserved_bytes);
  return segments.ledger().reserved_bytes;
}

TEST(Segments, SizesOfSegments) {
  EXPECT_EQ(reserved_after({1}), 2 * kMiB);
  EXPECT_EQ(reserved_after({kMiB}), 2 * kMiB);
  EXPECT_EQ(reserved_after({kMiB + 1}), 20 * kMiB);
  EXPECT_EQ(reserved_after({10 * kMiB - 512}), 20 * kMiB);
  EXPECT_EQ(reserved_after({10 * kMiB - 511}), 10 * kMiB);  // rounds to 10 MiB, which is not below 10 MiB
  EXPECT_EQ(reserved_after({12 * kMiB + 1}), 14 * kMiB);
}

TEST(Segments, SmallAndLargeRequestsShareNothing) {
  EXPECT_EQ(reserved_after({kMiB, kMiB}), 2 * kMiB);
  EXPECT_EQ(reserved_after({kMiB, kMiB, 512}), 4 * kMiB);
  EXPECT_EQ(reserved_after({2 * kMiB, 512}), 22 * kMiB);  // the 18 MiB left are not for small ones
}

TEST(Segments, GrantsAreRoundedAndCounted) {
  Segments segments;
  ASSERT_TRUE(segments.allocate(513).is_ok());
  const pool::Ledger ledger = segments.ledger();
  EXPECT_EQ(ledger.requested_bytes, 513U);
  EXPECT_EQ(ledger.allocated_bytes, 1024U);
  EXPECT_EQ(ledger.free_bytes, 2 * kMiB - 1024);
  EXPECT_EQ(ledger.largest_free_bytes, 2 * kMiB - 1024);
  EXPECT_EQ(segments.counters().mallocs, 1U);
}

TEST(Segments, ALargeRestOfOneMebibyteIsNotSplitOff) {
  Segments segments;
  const auto whole = segments.allocate(14 * kMiB);
  ASSERT_TRUE(segments.free(whole.value()).is_ok());
  const auto part = segments.allocate(13 * kMiB);
  EXPECT_EQ(segments.ledger().allocated_bytes, 14 * kMiB);
  ASSERT_TRUE(segments.free(part.value()).is_ok());
  ASSERT_TRUE(segments.allocate(13 * kMiB - 512).is_ok());  // leaves 1 MiB and 512
  EXPECT_EQ(segments.ledger().allocated_bytes, 13 * kMiB - 512);
  EXPECT_EQ(segments.ledger().growths, 1U);
}

TEST(Segments, NeighboursMergeInEitherOrder) {
  Segments segments;
  std::vector<device::Address> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(segments.allocate(6 * kMiB).value());  // 20 = 6 + 6 + 6 + 2
  EXPECT_EQ(segments.ledger().free_blocks, 1U);
  for (const int i : {0, 2, 1}) ASSERT_TRUE(segments.free(blocks[static_cast<std::size_t>(i)]).is_ok());
  EXPECT_EQ(segments.ledger().free_blocks, 1U);
  EXPECT_EQ(segments.ledger().largest_free_bytes, 20 * kMiB);
  EXPECT_EQ(segments.ledger().reserved_bytes, 20 * kMiB);
}

TEST(Segments, TheTightestServesAndNothingGoesBack) {
  Segments segments;
  const auto large = segments.allocate(30 * kMiB);
  const auto tight = segments.allocate(16 * kMiB);
  ASSERT_TRUE(segments.free(large.value()).is_ok());
  ASSERT_TRUE(segments.free(tight.value()).is_ok());
  ASSERT_TRUE(segments.allocate(15 * kMiB).is_ok());
  EXPECT_EQ(segments.ledger().largest_free_bytes, 30 * kMiB);
  ASSERT_TRUE(segments.allocate(40 * kMiB).is_ok());
  EXPECT_EQ(segments.ledger().reserved_bytes, 86 * kMiB);
}

TEST(Segments, ACapacityIsKept) {
  Segments segments(22 * kMiB);
  ASSERT_TRUE(segments.allocate(5 * kMiB).is_ok());
  const auto refused = segments.allocate(16 * kMiB);
  EXPECT_EQ(refused.status().code(), base::StatusCode::limit_exceeded);
  EXPECT_EQ(segments.ledger().failed_allocations, 1U);
  EXPECT_EQ(segments.ledger().reserved_bytes, 20 * kMiB);
  ASSERT_TRUE(segments.allocate(kMiB).is_ok());  // 2 MiB are left
}

TEST(Segments, MisuseIsRefused) {
  Segments segments;
  const auto block = segments.allocate(512);
  EXPECT_FALSE(segments.allocate(0).is_ok());
  EXPECT_FALSE(segments.free(0).is_ok());
  EXPECT_FALSE(segments.free(99).is_ok());
  ASSERT_TRUE(segments.free(block.value()).is_ok());
  EXPECT_FALSE(segments.free(block.value()).is_ok());
  EXPECT_EQ(segments.ledger().frees, 1U);
}

}  // namespace
}  // namespace cistern::replay
