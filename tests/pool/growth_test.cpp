// Growth under limits, in the sequences of numbers that broke other pools (each named by the report it comes from).
#include <gtest/gtest.h>

#include "base/units.hpp"
#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

using base::kGiB;

class GrowthTest : public ::testing::TestWithParam<Growth> {
 protected:
  TestPool make(PoolOptions options, std::uint64_t capacity) const {
    options.growth = GetParam();
    return TestPool(make_device("counting", capacity), options);
  }
};

// rapidsai/rmm 1957: growth by the missing part need not touch the first arena.
TEST_P(GrowthTest, H01_AnIdleInitialArenaDoesNotBlockTheMaximum) {
  PoolOptions options;
  options.initial_bytes = 256 * kKiB;
  options.limit_bytes = 1024 * kKiB;
  TestPool test = make(options, kGiB);
  EXPECT_NE(must_allocate(*test.pool, 1024 * kKiB), 0u);
}

// rapidsai/rmm 1664. With pages everything up to the limit is reachable; the initial 1,000,192 bytes are live nowhere,
// so they count against it only as one page's rounding.
TEST(GrowthOfPages, H02_EightBlocksFillTheMaximum) {
  PoolOptions options;
  options.initial_bytes = 1000192;
  options.limit_bytes = 67108864;
  TestPool test(make_device("counting", kGiB), options);
  for (int i = 0; i < 8; ++i) EXPECT_NE(must_allocate(*test.pool, 8388608), 0u) << i;
}

TEST(GrowthOfArenas, H02_EightBlocksFillTheMaximum) {
  PoolOptions options;
  options.growth = Growth::arenas;
  options.initial_bytes = 1000192;
  options.limit_bytes = 67108864;
  TestPool test(make_device("counting", kGiB), options);
  for (int i = 0; i < 8; ++i) EXPECT_NE(must_allocate(*test.pool, 8388608), 0u) << i;
}

// rapidsai/rmm 496: a doubled step that the device cannot give shrinks to the request.
TEST_P(GrowthTest, H03_TheStepShrinksToTheRequestBeforeFailing) {
  PoolOptions options;
  options.page_bytes = 2 * kMiB;
  TestPool test = make(options, 32510 * kMiB);
  EXPECT_NE(must_allocate(*test.pool, 8 * kGiB), 0u);
  EXPECT_NE(must_allocate(*test.pool, 8 * kGiB), 0u);
  EXPECT_NE(must_allocate(*test.pool, 8 * kGiB), 0u);
  EXPECT_NE(must_allocate(*test.pool, 7 * kGiB), 0u);
}

// rapidsai/rmm 35: pairs that grow, two live at a time.
TEST_P(GrowthTest, H04_GrowingPairsStayNearTheirPeak) {
  PoolOptions options;
  options.initial_bytes = 2 * kGiB;
  options.page_bytes = 2 * kMiB;
  TestPool test = make(options, 32 * kGiB);
  for (std::uint64_t bytes = 64 * kMiB; bytes <= 2 * kGiB; bytes += 64 * kMiB) {
    const device::Address first = must_allocate(*test.pool, bytes);
    const device::Address second = must_allocate(*test.pool, bytes);
    ASSERT_NE(first, 0u);
    ASSERT_NE(second, 0u);
    EXPECT_TRUE(test->free(first).is_ok());
    EXPECT_TRUE(test->free(second).is_ok());
  }
  const Ledger ledger = test->ledger();
  const std::uint64_t step = GetParam() == Growth::expandable ? options.page_bytes : 4 * kGiB;
  EXPECT_LE(ledger.peak_reserved_bytes, ledger.peak_requested_bytes + step);
}

// LLNL/Umpire 906: a coalesced block must serve the aligned need again.
TEST_P(GrowthTest, H05_TheSecondRoundNeedsNoDriver) {
  PoolOptions options;
  TestPool test = make(options, kGiB);
  std::uint64_t after_first = 0;
  for (int round = 0; round < 5; ++round) {
    const device::Address first = must_allocate(*test.pool, 1032, 16);
    const device::Address second = must_allocate(*test.pool, 1032, 16);
    EXPECT_TRUE(test->free(first).is_ok());
    EXPECT_TRUE(test->free(second).is_ok());
    if (round == 0) after_first = test.device->counters().driver_allocations();
  }
  EXPECT_EQ(test.device->counters().driver_allocations(), after_first);
}

// cupy/cupy 7678: what is cached goes back before a request fails by the limit.
TEST_P(GrowthTest, H06_CachedMemoryIsGivenBackBeforeTheLimitRefuses) {
  PoolOptions options;
  options.limit_bytes = 1073741824;
  TestPool test = make(options, 8 * kGiB);
  const device::Address half = must_allocate(*test.pool, 536870912);
  EXPECT_TRUE(test->free(half).is_ok());
  EXPECT_NE(must_allocate(*test.pool, 805306368), 0u);
  EXPECT_LE(test->ledger().reserved_bytes, 1073741824u);
}

// cupy/cupy 1256.
TEST_P(GrowthTest, H07_AFreedBlockIsGivenBackForALargerOne) {
  PoolOptions options;
  TestPool test = make(options, 1000 * kMiB);
  ASSERT_NE(must_allocate(*test.pool, 300 * kMiB), 0u);
  const device::Address second = must_allocate(*test.pool, 300 * kMiB);
  EXPECT_TRUE(test->free(second).is_ok());
  EXPECT_NE(must_allocate(*test.pool, 600 * kMiB), 0u);
}

// microsoft/onnxruntime 15983: the step of growth has a cap.
TEST_P(GrowthTest, H11_ReservedIsTheNeedPlusOneStepAtMost) {
  PoolOptions options;
  options.page_bytes = 2 * kMiB;
  TestPool test = make(options, 64 * kGiB);
  std::uint64_t live = 0;
  for (int i = 0; i < 330; ++i) {
    ASSERT_NE(must_allocate(*test.pool, 50 * kMiB), 0u);
    live += 50 * kMiB;
  }
  EXPECT_LE(test->ledger().reserved_bytes, live + kGiB + live / 20);
}

// microsoft/onnxruntime 25800: a different size each time must not grow the pool for ever.
TEST_P(GrowthTest, H12_EverNewSizesStayNearTheirPeak) {
  PoolOptions options;
  TestPool test = make(options, 8 * kGiB);
  for (std::uint64_t length = 1; length < 2000; ++length) {
    const std::uint64_t bytes = (length * 7919 % 2000 + 1) * 8 * kKiB;
    const device::Address first = must_allocate(*test.pool, bytes);
    const device::Address second = must_allocate(*test.pool, 2 * bytes);
    EXPECT_TRUE(test->free(first).is_ok());
    EXPECT_TRUE(test->free(second).is_ok());
  }
  EXPECT_LE(test->ledger().peak_reserved_bytes, 4 * test->ledger().peak_requested_bytes);
}

// inducer/pyopencl 277: powers of two and multiples of 512 cost no rounding.
TEST_P(GrowthTest, H15_RoundSizesAreNotRounded) {
  TestPool test = make({}, kGiB);
  for (std::uint64_t bytes : {512u, 1024u, 16777216u, 67108864u}) {
    ASSERT_NE(must_allocate(*test.pool, bytes), 0u);
  }
  EXPECT_EQ(test->ledger().allocated_bytes, 512u + 1024 + 16777216 + 67108864);
}

TEST(GrowthOfPages, TakesOnlyThePagesThatTheRequestLacks) {
  TestPool test(make_device("counting", kGiB), {});
  const device::Address first = must_allocate(*test.pool, 10 * kTestPage + 512);
  EXPECT_EQ(test->ledger().reserved_bytes, 11 * kTestPage);
  const device::Address second = must_allocate(*test.pool, kTestPage + 512);
  EXPECT_EQ(test->ledger().reserved_bytes, 12 * kTestPage) << "the rest of the last page is used";
  EXPECT_EQ(second, first + 10 * kTestPage + 512);
}

// A block of whole pages that began within a page would hold two pages at its ends for as long as it lives.
TEST(GrowthOfPages, BlocksOfWholePagesBeginAtAPage) {
  TestPool test(make_device("counting", kGiB), {});
  ASSERT_NE(must_allocate(*test.pool, 512), 0u);
  const device::Address whole = must_allocate(*test.pool, 4 * kTestPage);
  EXPECT_EQ(whole % kTestPage, 0u);
  const device::Address within = must_allocate(*test.pool, kTestPage - 512);
  EXPECT_EQ(within % kTestPage, 512u) << "smaller ones fill the rest";
}

TEST(GrowthOfPages, TheConfiguredStepIsTakenAndGivenUpWhenTheDeviceIsFull) {
  PoolOptions options;
  options.growth_bytes = 16 * kTestPage;
  TestPool test(make_device("counting", 24 * kTestPage), options);
  ASSERT_NE(must_allocate(*test.pool, 512), 0u);
  EXPECT_EQ(test->ledger().reserved_bytes, 16 * kTestPage);
  ASSERT_NE(must_allocate(*test.pool, 20 * kTestPage), 0u) << "less than the step is left, but enough";
  EXPECT_LE(test->ledger().reserved_bytes, 24 * kTestPage);
}

TEST(GrowthOfArenas, ArenasDouble) {
  PoolOptions options;
  options.growth = Growth::arenas;
  TestPool test(make_device("counting", kGiB), options);
  for (int i = 0; i < 14; ++i) ASSERT_NE(must_allocate(*test.pool, kMiB), 0u);
  std::vector<std::uint64_t> sizes;
  for (const ArenaSnapshot& arena : test->snapshot().arenas) sizes.push_back(arena.range_bytes);
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{2 * kMiB, 4 * kMiB, 8 * kMiB}));
}

TEST(GrowthOfPages, ADeviceWithoutPagesFallsBackToArenasUnlessRequired) {
  PoolOptions options;
  auto made = Pool::create(make_device("counting", kGiB), nullptr, options);
  ASSERT_TRUE(made.is_ok());
  EXPECT_EQ(made.value()->options().growth, Growth::arenas);
  options.growth_is_required = true;
  auto refused = Pool::create(make_device("counting", kGiB), nullptr, options);
  ASSERT_FALSE(refused.is_ok());
  EXPECT_EQ(refused.status().code(), base::StatusCode::unsupported);
}

TEST(PoolOptionsTest, ImpossibleOptionsAreRefusedByName) {
  const auto refusal = [](PoolOptions options) {
    TestPool test(make_device("counting", kGiB), options);
    return std::string(test.creation.text());
  };
  PoolOptions options;
  options.round_bytes = 768;
  EXPECT_NE(refusal(options).find("round_bytes = 768"), std::string::npos);
  options = {};
  options.limit_bytes = 4 * kMiB;
  options.initial_bytes = 8 * kMiB;
  EXPECT_NE(refusal(options).find("initial_bytes = 8388608"), std::string::npos);
  options = {};
  options.limit_bytes = 1000;
  EXPECT_NE(refusal(options).find("limit_bytes = 1000"), std::string::npos);
}

// A pool that had all it may have, and lost it to holes: free pages join under one new range.
TEST(Stitching, FreePagesJoinWithoutGrowth) {
  for (const OnMiss on_miss : {OnMiss::grow_first, OnMiss::stitch_first}) {
    PoolOptions options;
    options.page_bytes = 2 * kMiB;
    options.on_miss = on_miss;
    options.limit_bytes = 128 * kMiB;
    TestPool test(make_device("counting", kGiB), options);
    std::vector<device::Address> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(must_allocate(*test.pool, 16 * kMiB));
    for (int i = 0; i < 8; i += 2) EXPECT_TRUE(test->free(blocks[static_cast<std::size_t>(i)]).is_ok());
    EXPECT_NE(must_allocate(*test.pool, 32 * kMiB), 0u) << on_miss_name(on_miss);
    EXPECT_NE(must_allocate(*test.pool, 32 * kMiB), 0u) << on_miss_name(on_miss);
    EXPECT_EQ(test->ledger().reserved_bytes, 128 * kMiB);
    EXPECT_EQ(test->ledger().stitches, 2u);
    EXPECT_EQ(test->validate(), "");
  }
}

TEST(Stitching, OnMissDecidesWhetherFootprintOrDriverCallsAreSaved) {
  for (const OnMiss on_miss : {OnMiss::grow_first, OnMiss::stitch_first}) {
    PoolOptions options;
    options.page_bytes = 2 * kMiB;
    options.on_miss = on_miss;
    TestPool test(make_device("counting", kGiB), options);
    std::vector<device::Address> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(must_allocate(*test.pool, 16 * kMiB));
    EXPECT_TRUE(test->free(blocks[0]).is_ok());
    EXPECT_TRUE(test->free(blocks[2]).is_ok());
    ASSERT_NE(must_allocate(*test.pool, 32 * kMiB), 0u);
    EXPECT_EQ(test->ledger().reserved_bytes, (on_miss == OnMiss::grow_first ? 96 : 64) * kMiB);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GrowthTest, ::testing::Values(Growth::expandable, Growth::arenas), growth_param_name);

}  // namespace
}  // namespace cistern::pool
