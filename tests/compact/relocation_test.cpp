// Relocation as a caller sees it, over devices, growth and policies: requests that free memory could hold in sum are
// served, blocks keep their contents, names and alignment, and what is pinned stays.
#include <gtest/gtest.h>

#include "compact/movable_world.hpp"

namespace cistern::compact {
namespace {

using pool::Growth;
using Setup = std::tuple<const char*, Growth, core::FitPolicy>;

class Relocation : public ::testing::TestWithParam<Setup> {
 protected:
  static WorldSetup setup() {
    WorldSetup setup;
    setup.device = std::get<0>(GetParam());
    setup.growth = std::get<1>(GetParam());
    setup.policy = std::get<2>(GetParam());
    return setup;
  }
};

TEST_P(Relocation, MemoryThatSufficesInSumSuffices) {
  MovableWorld world(setup());
  world.checker(64 * kKiB);
  ASSERT_EQ(world.pool().ledger().largest_free_bytes, 64 * kKiB);
  const std::uint64_t copied = world.device().counters().bytes_copied;
  ASSERT_NE(world.add(512 * kKiB), 0U);
  world.verify("a request of eight holes");
  const pool::Ledger ledger = world.pool().ledger();
  EXPECT_EQ(ledger.moves, 4U) << "the blocks within the window, no more";
  EXPECT_EQ(ledger.moved_bytes, 4 * 64 * kKiB);
  if (world.device().info().capabilities.copy) {
    EXPECT_EQ(world.device().counters().bytes_copied - copied, 4 * 64 * kKiB);
  }
  ASSERT_NE(world.add(1024 * kKiB), 0U);
  ASSERT_NE(world.add(512 * kKiB), 0U);
  world.verify("the last hole");
  EXPECT_EQ(world.pool().ledger().free_bytes, 0U);
}

TEST_P(Relocation, WhatIsPinnedStays) {
  MovableWorld world(setup());
  const auto kept = world.checker(64 * kKiB);
  std::vector<device::Address> places;
  for (const pool::MovableId id : kept) places.push_back(world.pool().pin(id).value());
  EXPECT_EQ(world.pool().ledger().pinned_bytes, kept.size() * 64 * kKiB);
  EXPECT_EQ(world.add(512 * kKiB), 0U);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const pool::MovableView view = world.pool().describe_movable(kept[i]).value();
    EXPECT_EQ(view.block.address, places[i]);
    EXPECT_EQ(view.pins, 1U);
    ASSERT_TRUE(world.pool().unpin(kept[i]).is_ok());
  }
  ASSERT_NE(world.add(512 * kKiB), 0U);
  world.verify("unpinning");
}

TEST_P(Relocation, OrdinaryBlocksAndRegisteredRangesStay) {
  MovableWorld world(setup());
  const auto kept = world.checker(64 * kKiB);
  const device::Address registered = world.address_of(kept[0]);
  ASSERT_TRUE(world.pool().register_range(registered, 100).is_ok());
  std::vector<device::Address> fixed;
  while (const device::Address address = world.add_fixed(64 * kKiB)) fixed.push_back(address);
  world.drop_fixed(fixed.front());
  world.drop_fixed(fixed.back());
  ASSERT_NE(world.add(128 * kKiB), 0U);
  world.verify("a request among ordinary blocks");
  EXPECT_EQ(world.address_of(kept[0]), registered);
  ASSERT_TRUE(world.pool().unregister_range(registered, 100).is_ok());
}

TEST_P(Relocation, AlignmentAndNameGoWithTheBlock) {
  WorldSetup with = setup();
  with.limit_bytes = 2 * kMiB;
  MovableWorld world(with);
  std::vector<pool::MovableId> all;
  for (int i = 0; i < 16; ++i) {
    all.push_back(world.add(100 * kKiB, 128 * kKiB, "block " + std::to_string(i)));
    ASSERT_NE(all.back(), 0U);
  }
  for (std::size_t i = 0; i < all.size(); i += 2) world.drop(all[i]);
  ASSERT_NE(world.add(500 * kKiB), 0U);
  world.verify("a large request");
  EXPECT_GT(world.pool().ledger().moves, 0U);
  for (std::size_t i = 1; i < all.size(); i += 2) {
    const device::Address address = world.address_of(all[i]);
    EXPECT_EQ(address % (128 * kKiB), 0U);
    EXPECT_EQ(world.pool().find("block " + std::to_string(i)).value().address, address);
    EXPECT_EQ(world.pool().describe(address + 1).value().flags, std::uint32_t{pool::kFlagMovable});
  }
}

TEST_P(Relocation, WhenNothingHelpsTheRefusalSaysWhatTheLimitIs) {
  MovableWorld world(setup());
  world.checker(64 * kKiB);
  pool::AllocationRequest request;
  request.bytes = 3 * kMiB;
  const auto refused = world.pool().allocate(request);
  ASSERT_FALSE(refused.is_ok());
  EXPECT_EQ(refused.status().code(), base::StatusCode::limit_exceeded);
  EXPECT_NE(refused.status().text().find("relocate"), std::string::npos);
  world.verify("a refusal");
  EXPECT_EQ(world.pool().ledger().moves, 0U);
}

TEST_P(Relocation, ABlockThatNoHoleHoldsGetsOneMade) {
  WorldSetup with = setup();
  with.limit_bytes = 3 * kMiB;
  MovableWorld world(with);
  std::vector<pool::MovableId> all;
  for (const std::uint64_t kib : {400, 300, 500, 200, 600, 256, 304, 512}) all.push_back(world.add(kib * kKiB));
  ASSERT_EQ(world.pool().ledger().free_bytes, 0U);
  for (const std::size_t i : {0U, 2U, 4U}) world.drop(all[i]);  // 400, 500 and 600 are free
  ASSERT_NE(world.add(900 * kKiB), 0U);
  world.verify("a request of the rest");
}

pool::CompactionReport compacted(pool::Pool& pool, const pool::CompactionRequest& request = {}) {
  auto report = pool.compact(request);
  EXPECT_TRUE(report.is_ok()) << report.status().to_string();
  return report.is_ok() ? report.take() : pool::CompactionReport{};
}

TEST_P(Relocation, AQuietMomentMakesRoomForWhatWasAskedLately) {
  MovableWorld world(setup());
  EXPECT_EQ(compacted(world.pool()).copied_bytes, 0U) << "nothing was asked yet";
  const pool::MovableId large = world.add(512 * kKiB);
  world.drop(large);
  world.checker(64 * kKiB);
  const pool::CompactionReport report = compacted(world.pool());
  EXPECT_EQ(report.copied_bytes, 4 * 64 * kKiB);
  EXPECT_EQ(report.moved_bytes, 0U);
  EXPECT_GT(report.exposure_before, 0.0);
  EXPECT_EQ(report.exposure_after, 0.0);
  EXPECT_EQ(report.end, pool::CompactionEnd::done);
  EXPECT_EQ(world.pool().ledger().moves, 4U);
  EXPECT_GE(world.pool().ledger().largest_free_bytes, 512 * kKiB);
  EXPECT_EQ(world.pool().ledger().compacted_bytes, 4 * 64 * kKiB);
  world.verify("a quiet moment");
  EXPECT_EQ(compacted(world.pool()).copied_bytes, 0U) << "there is room";
  const std::uint64_t misses = world.pool().ledger().misses;
  ASSERT_NE(world.add(512 * kKiB), 0U);
  EXPECT_EQ(world.pool().ledger().misses, misses) << "the request itself waits for nothing";
}

TEST_P(Relocation, AQuietMomentKeepsToItsBytesAndTheNextOneGoesOn) {
  MovableWorld world(setup());
  world.drop(world.add(512 * kKiB));
  world.checker(64 * kKiB);
  pool::CompactionRequest request;
  request.max_bytes = 150 * kKiB;
  std::uint64_t moments = 0;
  for (bool done = false; !done; ++moments) {
    ASSERT_LT(moments, 10U);
    const pool::CompactionReport report = compacted(world.pool(), request);
    EXPECT_LE(report.copied_bytes, request.max_bytes);
    EXPECT_GT(report.copied_bytes, 0U);
    world.verify("a moment");
    done = report.exposure_after == 0;
  }
  EXPECT_GE(moments, 2U);
  EXPECT_GE(world.pool().ledger().largest_free_bytes, 512 * kKiB);
}

std::string name_of(const ::testing::TestParamInfo<Setup>& info) {
  return std::string(std::get<0>(info.param)) + "_" + std::string(pool::growth_name(std::get<1>(info.param))) + "_" +
         std::string(pool::policy_name(std::get<2>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(All, Relocation,
                         ::testing::Combine(::testing::Values("host", "simulated", "counting"),
                                            ::testing::Values(Growth::expandable, Growth::arenas),
                                            ::testing::Values(core::FitPolicy::best_fit, core::FitPolicy::first_fit,
                                                              core::FitPolicy::exact_best_fit)),
                         name_of);

}  // namespace
}  // namespace cistern::compact
