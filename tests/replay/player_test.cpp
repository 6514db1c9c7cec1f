// The player frees what it made, whatever happens, and charges each way what is its own.
#include "replay/player.hpp"

#include <gtest/gtest.h>

#include "device/simulated_device.hpp"

namespace cistern::replay {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

std::shared_ptr<device::SimulatedDevice> make_device(std::uint64_t capacity) {
  device::SimulatedConfig config;
  config.capacity_bytes = capacity;
  config.backed = false;
  config.latency.malloc_free_pair_min_ns = config.latency.malloc_free_pair_max_ns = 1'000'000;
  return device::SimulatedDevice::create(config).take();
}

TEST(Player, DirectCostIsTheDriversAlone) {
  const auto device = make_device(64 * kMiB);
  DirectWay way(device);
  Player player(way);
  TensorPlan plan;
  const auto kept = plan.keep(3 * kMiB);
  const auto transient = plan.make(5 * kMiB);
  plan.drop(transient);
  EXPECT_NE(kept, transient);
  const auto cost = player.play(plan);
  ASSERT_TRUE(cost.is_ok()) << cost.status().to_string();
  EXPECT_EQ(cost.value().measured_ns, 0U);
  EXPECT_EQ(cost.value().modelled_ns, 1'500'000U);  // a pair, and half of one
  EXPECT_EQ(cost.value().driver_calls, 3U);
  EXPECT_EQ(cost.value().allocations, 2U);
  EXPECT_EQ(player.peak_live_bytes(), 8 * kMiB);
  EXPECT_EQ(player.live_bytes(), 3 * kMiB);
  EXPECT_EQ(device->counters().peak_driver_bytes, 10 * kMiB);  // the driver gives 2 MiB units
  EXPECT_TRUE(player.release().is_ok());
  EXPECT_EQ(device->counters().driver_bytes, 0U);
}

TEST(Player, ARefusalNamesTheWayAndLeaksNothing) {
  const auto device = make_device(16 * kMiB);
  DirectWay way(device);
  {
    Player player(way);
    TensorPlan plan;
    plan.keep(4 * kMiB);
    plan.make(8 * kMiB);
    plan.make(8 * kMiB);
    const auto cost = player.play(plan);
    ASSERT_FALSE(cost.is_ok());
    EXPECT_EQ(cost.status().code(), base::StatusCode::out_of_memory);
    EXPECT_TRUE(cost.status().text().starts_with("direct: ")) << cost.status().text();
    EXPECT_EQ(device->counters().driver_bytes, 12 * kMiB);
  }
  EXPECT_EQ(device->counters().driver_bytes, 0U);
}

TEST(Player, APoolHasDriverCallsOnlyWhereItGrows) {
  const auto device = make_device(64 * kMiB);
  auto way = PooledWay::create(device, {});
  ASSERT_TRUE(way.is_ok()) << way.status().to_string();
  Player player(*way.value());
  TensorPlan plan;
  plan.drop(plan.make(8 * kMiB));
  const auto first = player.play(plan);
  const auto second = player.play(plan);
  ASSERT_TRUE(first.is_ok() && second.is_ok());
  EXPECT_GT(first.value().driver_calls, 0U);
  EXPECT_EQ(second.value().driver_calls, 0U);
  EXPECT_EQ(second.value().modelled_ns, 0U);
  EXPECT_EQ(way.value()->pool().ledger().peak_requested_bytes, player.peak_live_bytes());
}

TEST(Player, TensorsOfABufferAreOneThatGrowsInPlaceWhereThereIsSuch) {
  const auto device = make_device(64 * kMiB);
  auto way = PooledWay::create(device, {});
  ASSERT_TRUE(way.is_ok());
  way.value()->let_buffers_grow(8 * kMiB);
  Player player(*way.value());
  TensorPlan plan;
  plan.keep(kMiB, 0, 1);
  plan.keep(kMiB, 0, 2);
  plan.keep(3 * kMiB);
  ASSERT_TRUE(player.play(plan).is_ok());
  ASSERT_TRUE(player.play(plan).is_ok());
  const auto& pool = way.value()->pool();
  EXPECT_EQ(pool.ledger().live_blocks, 4U) << "two buffers and two tensors by themselves";
  EXPECT_EQ(pool.snapshot().elastics.size(), 2U);
  EXPECT_EQ(pool.snapshot().elastics[0].bytes, 2 * kMiB);
  EXPECT_EQ(pool.ledger().requested_bytes, player.live_bytes());
  TensorPlan too_much;
  too_much.keep(7 * kMiB, 0, 1);
  EXPECT_FALSE(player.play(too_much).is_ok());
  EXPECT_TRUE(player.release().is_ok());
  EXPECT_EQ(pool.ledger().live_blocks, 0U);
  EXPECT_TRUE(pool.snapshot().elastics.empty());
}

TEST(CostSeries, PercentilesAreNearestRank) {
  CostSeries series;
  EXPECT_EQ(series.nanoseconds(50), 0U);
  for (std::uint64_t value = 10; value >= 1; --value) series.add({value, value, value, 0});
  EXPECT_EQ(series.nanoseconds(50), 10U);  // 5 measured and 5 modelled
  EXPECT_EQ(series.driver_calls(90), 9U);
  EXPECT_EQ(series.driver_calls(100), 10U);
  EXPECT_EQ(series.driver_calls(1), 1U);
  EXPECT_EQ(series.total().modelled_ns, 55U);
}

}  // namespace
}  // namespace cistern::replay
