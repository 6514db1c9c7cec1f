// PlannedArena: what it serves itself, what it passes on, and what it refuses.
#include "plan/planned_arena.hpp"

#include <gtest/gtest.h>

#include "plan/offset_planner.hpp"
#include "pool/pool_fixture.hpp"

namespace cistern::plan {
namespace {

using base::StatusCode;
using pool::kMiB;

// 0 and 1 meet, 2 comes when 0 has gone and has its place.
const std::vector<Lifetime> kRun = {{0, 10, kMiB}, {5, 20, 2 * kMiB}, {10, 20, kMiB}};

struct Fixture {
  explicit Fixture(Unplanned unplanned) : test(pool::make_device("counting", 64 * kMiB), {}) {
    const OffsetPlan plan = plan_offsets(kRun).take();
    EXPECT_EQ(plan.bytes, 3 * kMiB);
    EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
    arena = PlannedArena::create(test.pool.get(), kRun, plan, unplanned).take();
  }
  pool::TestPool test;
  std::unique_ptr<PlannedArena> arena;
};

TEST(PlannedArena, RefusesWhatThePlanCannotServeAndSaysWhy) {
  Fixture fixture(Unplanned::refuse);
  PlannedArena& arena = *fixture.arena;
  const auto first = arena.allocate(0, kMiB);
  ASSERT_TRUE(first.is_ok());
  const auto unknown = arena.allocate(3, 512);
  EXPECT_EQ(unknown.status().code(), StatusCode::not_found);
  EXPECT_EQ(unknown.status().text(), "tensor 3 of 512 bytes is not in the plan, which has 3 tensors");
  const auto large = arena.allocate(1, 2 * kMiB + 1);
  EXPECT_EQ(large.status().code(), StatusCode::limit_exceeded);
  EXPECT_EQ(
      large.status().text(),
      "tensor 1 of 2097153 bytes is larger than planned (2097152 bytes); plan from a run with the largest shapes");
  const auto early = arena.allocate(2, kMiB);
  EXPECT_EQ(early.status().code(), StatusCode::busy);
  EXPECT_EQ(early.status().text(),
            "tensor 2 of 1048576 bytes: tensor 0 is on its place; by the plan they never live together");
  EXPECT_EQ(arena.allocate(0, kMiB).status().code(), StatusCode::busy) << "twice";
  EXPECT_EQ(arena.allocate(1, 0).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(arena.counts(), (PlannedCounts{.planned = 1, .unknown = 1, .too_large = 1, .place_taken = 2}));
  EXPECT_EQ(arena.live(), 1U);
}

TEST(PlannedArena, PassesOnToThePoolWhatThePlanCannotServe) {
  Fixture fixture(Unplanned::from_pool);
  PlannedArena& arena = *fixture.arena;
  std::vector<device::Address> blocks;
  blocks.push_back(arena.allocate(0, kMiB).take());
  for (const auto& [tensor, bytes] : {std::pair{std::uint64_t{3}, kMiB}, {1, 3 * kMiB}, {2, kMiB}}) {
    const auto served = arena.allocate(tensor, bytes);
    ASSERT_TRUE(served.is_ok());
    EXPECT_TRUE(served.value() < arena.base() || served.value() >= arena.base() + arena.bytes());
    blocks.push_back(served.value());
  }
  EXPECT_EQ(arena.counts().unplanned(), 3U);
  EXPECT_EQ(fixture.test->ledger().live_blocks, 4U) << "the arena and three from the pool";
  for (const device::Address block : blocks) EXPECT_TRUE(arena.free(block).is_ok());
  EXPECT_EQ(fixture.test->ledger().live_blocks, 1U);
  EXPECT_EQ(arena.live(), 0U);
}

TEST(PlannedArena, FindsMisuse) {
  Fixture fixture(Unplanned::from_pool);
  PlannedArena& arena = *fixture.arena;
  const device::Address block = arena.allocate(1, kMiB).take();
  const base::Status interior = arena.free(block + 512);
  EXPECT_EQ(interior.code(), StatusCode::invalid_argument);
  EXPECT_EQ(interior.text(), "the address is 512 bytes within tensor 1; free takes what allocate returned");
  EXPECT_TRUE(arena.free(block).is_ok());
  EXPECT_EQ(arena.free(block).code(), StatusCode::double_free);
  EXPECT_EQ(arena.free(arena.base() + 512).code(), StatusCode::double_free);
  EXPECT_EQ(arena.free(0x10).code(), StatusCode::not_found) << "the pool's answer";
}

TEST(PlannedArena, GivesItsBlockBack) {
  Fixture fixture(Unplanned::from_pool);
  EXPECT_EQ(fixture.test->ledger().allocated_bytes, 3 * kMiB);
  fixture.arena.reset();
  EXPECT_EQ(fixture.test->ledger().live_blocks, 0U);
  EXPECT_EQ(fixture.test->validate(), "");
}

TEST(PlannedArena, IsNotMadeFromAWrongPlanOrWithoutMemory) {
  pool::TestPool test(pool::make_device("counting", 2 * kMiB), {});
  OffsetPlan plan = plan_offsets(kRun).take();
  EXPECT_EQ(PlannedArena::create(test.pool.get(), kRun, plan).status().code(), StatusCode::limit_exceeded);
  plan.offsets[0] = plan.offsets[1];
  EXPECT_EQ(PlannedArena::create(test.pool.get(), kRun, plan).status().code(), StatusCode::corrupted);
  EXPECT_EQ(PlannedArena::create(test.pool.get(), {}, {}).status().code(), StatusCode::invalid_argument);
  const OffsetPlan odd = plan_offsets(kRun, {.alignment = 768}).take();
  EXPECT_EQ(PlannedArena::create(test.pool.get(), kRun, odd).status().code(), StatusCode::unsupported);
  EXPECT_EQ(test->ledger().live_blocks, 0U);
}

}  // namespace
}  // namespace cistern::plan
