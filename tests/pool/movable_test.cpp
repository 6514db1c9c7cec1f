// The handles of movable blocks: what they refuse, what they count, and that addresses know nothing of them.
#include <gtest/gtest.h>

#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

using base::StatusCode;

class MovableHandles : public ::testing::TestWithParam<Growth> {
 protected:
  MovableHandles() : pool_(make_device("counting", 64 * kMiB), options()) {}
  static PoolOptions options() {
    PoolOptions options;
    options.growth = GetParam();
    options.limit_bytes = 16 * kMiB;
    options.direct_bytes = 4 * kMiB;
    options.magazine_bytes = kMiB;
    return options;
  }
  MovableId make(std::uint64_t bytes, std::string_view name = {}) {
    AllocationRequest request;
    request.bytes = bytes;
    request.name = name;
    return pool_->allocate_movable(request).value();
  }
  TestPool pool_;
};

TEST_P(MovableHandles, CountInTheLedgerAndTheSnapshot) {
  const MovableId block = make(1000);
  ASSERT_NE(must_allocate(*pool_.pool, 2000), 0U);
  Ledger ledger = pool_->ledger();
  EXPECT_EQ(ledger.live_blocks, 2U);
  EXPECT_EQ(ledger.requested_bytes, 3000U);
  EXPECT_EQ(ledger.movable_blocks, 1U);
  EXPECT_EQ(ledger.movable_bytes, 1024U);
  EXPECT_EQ(ledger.pinned_bytes, 0U);
  const device::Address address = pool_->pin(block).value();
  EXPECT_EQ(pool_->pin(block).value(), address);
  EXPECT_EQ(pool_->ledger().pinned_bytes, 1024U);
  std::uint64_t seen = 0;
  const Snapshot snapshot = pool_->snapshot();
  for (const BlockSnapshot& each : snapshot.arenas[0].blocks) {
    seen += each.is_movable ? 1 : 0;
    EXPECT_EQ(each.is_movable, each.address == address);
    EXPECT_EQ(each.pins, each.is_movable ? 2U : 0U);
    EXPECT_FALSE(each.is_cached);
  }
  EXPECT_EQ(seen, 1U);
  EXPECT_EQ(pool_->live_allocations().size(), 2U);
  EXPECT_EQ(pool_->validate(), "");
  ASSERT_TRUE(pool_->unpin(block).is_ok());
  ASSERT_TRUE(pool_->unpin(block).is_ok());
  ASSERT_TRUE(pool_->free_movable(block).is_ok());
  ledger = pool_->ledger();
  EXPECT_EQ(ledger.movable_blocks + ledger.movable_bytes + ledger.pinned_bytes, 0U);
  EXPECT_EQ(ledger.live_blocks, 1U);
  EXPECT_EQ(pool_->validate(), "");
}

TEST_P(MovableHandles, RefuseWhatIsWrongAndChangeNothing) {
  const MovableId block = make(1000);
  EXPECT_EQ(pool_->unpin(block).code(), StatusCode::invalid_argument);
  const device::Address address = pool_->pin(block).value();
  EXPECT_EQ(pool_->free_movable(block).code(), StatusCode::busy);
  EXPECT_EQ(pool_->free(address).code(), StatusCode::invalid_argument) << "an address frees no movable block";
  EXPECT_NE(std::string(pool_->free(address).text()).find("handle"), std::string::npos);
  ASSERT_TRUE(pool_->unpin(block).is_ok());
  EXPECT_EQ(pool_->ledger().movable_blocks, 1U);
  for (const MovableId wrong : {MovableId{0}, block + 1, block + (MovableId{2} << 32U), ~MovableId{0}}) {
    EXPECT_EQ(pool_->free_movable(wrong).code(), StatusCode::not_found) << wrong;
    EXPECT_EQ(pool_->pin(wrong).status().code(), StatusCode::not_found) << wrong;
  }
  ASSERT_TRUE(pool_->free_movable(block).is_ok());
  const MovableId next = make(1000);
  EXPECT_NE(next, block) << "a handle is never used again";
  for (const auto& refused : {pool_->free_movable(block), pool_->pin(block).status(), pool_->unpin(block),
                              pool_->describe_movable(block).status()}) {
    EXPECT_EQ(refused.code(), StatusCode::double_free);
  }
  EXPECT_EQ(pool_->validate(), "");
  ASSERT_TRUE(pool_->free_movable(next).is_ok());
}

TEST_P(MovableHandles, FlagsAreRefusedOrSeen) {
  AllocationRequest request;
  request.bytes = 100;
  request.flags = kFlagPinned;
  EXPECT_EQ(pool_->allocate_movable(request).status().code(), StatusCode::invalid_argument);
  request.flags = kFlagMovable;
  EXPECT_EQ(pool_->allocate(request).status().code(), StatusCode::invalid_argument);
  request.flags = kFlagNone;
  request.bytes = 0;
  EXPECT_EQ(pool_->allocate_movable(request).status().code(), StatusCode::invalid_argument);
  const MovableId block = make(100);
  EXPECT_EQ(pool_->describe_movable(block).value().block.flags, std::uint32_t{kFlagMovable});
  ASSERT_TRUE(pool_->free_movable(block).is_ok());
}

// A freed movable block may go into a magazine and come back as an ordinary one, which is no movable block any more.
TEST_P(MovableHandles, MemoryOfAMovableBlockServesOrdinaryOnesAfterwards) {
  const MovableId block = make(5000, "named");
  EXPECT_TRUE(pool_->find("named").is_ok());
  EXPECT_EQ(pool_->free_named("named").code(), StatusCode::invalid_argument);
  ASSERT_TRUE(pool_->free_movable(block).is_ok());
  EXPECT_FALSE(pool_->find("named").is_ok());
  for (int i = 0; i < 3; ++i) {
    const MovableId again = make(5000);
    ASSERT_TRUE(pool_->free_movable(again).is_ok());
    const device::Address address = must_allocate(*pool_.pool, 5000);
    EXPECT_EQ(pool_->describe(address).value().flags, 0U);
    ASSERT_TRUE(pool_->free(address).is_ok());
  }
  EXPECT_EQ(pool_->validate(), "");
}

TEST_P(MovableHandles, OversizeBlocksOfTheirOwnAllocationToo) {
  const MovableId block = make(5 * kMiB);
  EXPECT_NE(pool_->pin(block).value(), 0U);
  ASSERT_TRUE(pool_->unpin(block).is_ok());
  const std::uint64_t reserved = pool_->ledger().reserved_bytes;
  ASSERT_TRUE(pool_->free_movable(block).is_ok());
  EXPECT_EQ(pool_->ledger().reserved_bytes, reserved - 5 * kMiB);
  EXPECT_EQ(pool_->validate(), "");
}

INSTANTIATE_TEST_SUITE_P(All, MovableHandles, ::testing::Values(Growth::expandable, Growth::arenas), growth_param_name);

}  // namespace
}  // namespace cistern::pool
