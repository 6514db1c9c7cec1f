// What other threads do at the worst moment: pins, frees and registrations of the very block that is being copied,
// between two pieces of its copy and around the first and the last.
#include <gtest/gtest.h>

#include <thread>

#include "compact/hooked_device.hpp"
#include "compact/movable_world.hpp"

namespace cistern::compact {
namespace {

constexpr std::uint64_t kBlock = 3 * kMiB;  // two pieces of a copy

struct Moment {
  const char* device;
  unsigned piece;  // of the first block that is copied: 1 or 2
  bool after;      // the copy of that piece
};

class WorstMoment : public ::testing::TestWithParam<Moment> {
 protected:
  WorstMoment() : device_(std::make_shared<HookedDevice>(pool::make_device(GetParam().device, 64 * kMiB))) {
    WorldSetup setup;
    setup.limit_bytes = 8 * kBlock;
    world_ = std::make_unique<MovableWorld>(device_, options_of(setup));
    for (const pool::MovableId id : world_->checker(kBlock)) places_[world_->address_of(id)] = id;
  }
  ~WorstMoment() override { device_->before_copy = device_->after_copy = nullptr; }

  // action(block, its address) runs once, at the moment that the test is about.
  template <typename Action>
  void at_the_moment(const Action& action) {
    auto& hook = GetParam().after ? device_->after_copy : device_->before_copy;
    hook = [this, action](device::Address from) {
      if (++copies_ != GetParam().piece) return;
      const auto block = std::prev(places_.upper_bound(from));
      action(block->second, block->first);
    };
  }
  // Asks for two holes; one block must go. There is another way to serve it without the first block that is tried.
  void ask() {
    asked_ = world_->add(2 * kBlock);
    EXPECT_NE(asked_, 0U);
    EXPECT_GE(copies_, GetParam().piece) << "the moment never came";
  }
  // The ledger against a walk over the blocks; validate() would wait for the step to end.
  void check_now() {
    const pool::Snapshot snapshot = pool().snapshot();
    std::map<core::BlockState, std::uint64_t> bytes;
    for (const pool::ArenaSnapshot& arena : snapshot.arenas) {
      for (const pool::BlockSnapshot& block : arena.blocks) bytes[block.state] += block.bytes;
    }
    EXPECT_EQ(bytes[core::BlockState::live], snapshot.ledger.allocated_bytes);
    EXPECT_EQ(bytes[core::BlockState::free], snapshot.ledger.free_bytes);
    EXPECT_EQ(bytes[core::BlockState::moving], snapshot.ledger.moving_bytes);
  }
  template <typename Action>
  static void in_another_thread(const Action& action) {
    std::thread(action).join();
  }
  pool::Pool& pool() { return world_->pool(); }

  std::shared_ptr<HookedDevice> device_;
  std::unique_ptr<MovableWorld> world_;
  std::map<device::Address, pool::MovableId> places_;  // before anything moved
  pool::MovableId asked_ = 0;
  unsigned copies_ = 0;
};

TEST_P(WorstMoment, APinGivesTheSourceAndTheMoveIsGivenUp) {
  std::thread pinning;
  base::Result<device::Address> pinned = base::internal_error("never pinned");
  pool::MovableId block = 0;
  device::Address before = 0;
  at_the_moment([&](pool::MovableId id, device::Address at) {
    block = id;
    before = at;
    pinning = std::thread([&, id] { pinned = pool().pin(id); });
    while (pool().describe_movable(id).value().pins == 0) std::this_thread::yield();
  });
  ask();
  pinning.join();
  ASSERT_TRUE(pinned.is_ok());
  EXPECT_EQ(pinned.value(), before);
  EXPECT_EQ(pool().describe_movable(block).value().moves, 0U);
  EXPECT_EQ(pool().ledger().void_moves, 1U);
  ASSERT_TRUE(pool().unpin(block).is_ok());
  world_->verify("a pin");
}

TEST_P(WorstMoment, AFreeTakesEffectAtOnceAndTheMemoryWaitsForTheCopy) {
  at_the_moment([&](pool::MovableId id, device::Address at) {
    in_another_thread([&] {
      world_->drop(id, false);
      EXPECT_EQ(pool().describe_movable(id).status().code(), base::StatusCode::double_free);
      EXPECT_FALSE(pool().free(at).is_ok());
      EXPECT_EQ(pool().ledger().live_blocks, world_->movables().size());
      check_now();
    });
  });
  ask();
  EXPECT_EQ(pool().ledger().void_moves, 1U);
  world_->verify("a free");
  EXPECT_EQ(pool().ledger().allocated_bytes, (3 + 2) * kBlock);
}

TEST_P(WorstMoment, ARegisteredRangeStays) {
  device::Address before = 0;
  pool::MovableId block = 0;
  at_the_moment([&](pool::MovableId id, device::Address at) {
    block = id;
    before = at;
    in_another_thread([&] { EXPECT_TRUE(pool().register_range(at, kBlock).is_ok()); });
  });
  ask();
  EXPECT_EQ(world_->address_of(block), before);
  world_->verify("a registration");
  ASSERT_TRUE(pool().unregister_range(before, kBlock).is_ok());
}

TEST_P(WorstMoment, OthersAreServedAndTheLedgerIsExact) {
  device::Address served = 0;
  at_the_moment([&](pool::MovableId, device::Address) {
    in_another_thread([&] {
      const pool::Ledger ledger = pool().ledger();
      EXPECT_EQ(ledger.moving_bytes, 2 * kBlock) << "the window's hole, and where the block goes";
      EXPECT_EQ(ledger.allocated_bytes, 4 * kBlock);
      EXPECT_EQ(ledger.free_bytes, 2 * kBlock);
      EXPECT_EQ(ledger.reserved_bytes, ledger.allocated_bytes + ledger.free_bytes + ledger.moving_bytes);
      check_now();
      served = world_->add_fixed(kBlock / 2);
      world_->drop_fixed(world_->add_fixed(kBlock / 4));
    });
  });
  asked_ = world_->add(2 * kBlock);  // another half block is gone now; the rest may not suffice
  EXPECT_NE(served, 0U) << "nobody waits for a copy";
  world_->verify("requests of others");
}

std::string moment_name(const ::testing::TestParamInfo<Moment>& moment) {
  return std::string(moment.param.device) + (moment.param.after ? "_after_" : "_before_") +
         std::to_string(moment.param.piece);
}

INSTANTIATE_TEST_SUITE_P(All, WorstMoment,
                         ::testing::Values(Moment{"host", 1, false}, Moment{"host", 1, true}, Moment{"host", 2, false},
                                           Moment{"host", 2, true}, Moment{"simulated", 1, false},
                                           Moment{"simulated", 2, true}),
                         moment_name);

// Work of the device that is not complete: a quiet moment leaves the block alone, a request waits.
TEST(BusyDevice, AQuietMomentDoesNotWait) {
  auto device = std::make_shared<HookedDevice>(pool::make_device("host", 64 * kMiB));
  MovableWorld world(device, options_of({}));
  world.drop(world.add(512 * kKiB));
  world.checker(64 * kKiB);
  for (const std::uint64_t max_us : {std::uint64_t{1'000'000}, pool::CompactionRequest::kUnlimited}) {
    pool::CompactionRequest request;
    request.max_us = max_us;
    device->work_is_complete = false;
    EXPECT_EQ(world.pool().compact(request).take().copied_bytes, 0U);
    world.verify("a busy moment");
    EXPECT_EQ(world.pool().ledger().moves, 0U);
  }
  device->work_is_complete = true;
  EXPECT_EQ(world.pool().compact().take().exposure_after, 0.0);
  world.verify("a quiet moment");
  EXPECT_EQ(world.pool().ledger().moves, 4U);
}

// A copy that meets the end of its time is given up.
TEST(BusyDevice, TheTimeEndsACopyBetweenItsPieces) {
  auto device = std::make_shared<HookedDevice>(pool::make_device("host", 64 * kMiB));
  WorldSetup setup;
  setup.limit_bytes = 8 * kBlock;
  base::ManualClock clock;
  pool::PoolOptions options = options_of(setup);
  options.clock = &clock;
  MovableWorld world(device, options);
  world.drop(world.add(2 * kBlock));
  world.checker(kBlock);
  device->after_copy = [&](device::Address) { clock.advance(600'000); };
  const auto copied_within = [&](std::uint64_t max_us) {
    pool::CompactionRequest request;
    request.max_us = max_us;
    return world.pool().compact(request).take().copied_bytes;
  };
  EXPECT_EQ(copied_within(500), 0U);
  world.verify("a copy given up");
  EXPECT_EQ(world.pool().ledger().moves, 0U);
  EXPECT_EQ(copied_within(1500), kBlock);
  world.verify("a copy in time");
  device->after_copy = nullptr;
}

}  // namespace
}  // namespace cistern::compact
