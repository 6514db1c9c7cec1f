// Sequences of numbers on which other planners failed, each test named by the report it comes from.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "plan/offset_planner.hpp"
#include "plan/planned_arena.hpp"
#include "plan/tensors.hpp"
#include "pool/pool_fixture.hpp"
#include "replay/sources/read_trace.hpp"

namespace cistern::plan {
namespace {

using pool::kMiB;

OffsetPlan checked_plan(const std::vector<Lifetime>& run) {
  auto plan = plan_offsets(run);
  EXPECT_TRUE(plan.is_ok()) << plan.status().to_string();
  if (!plan.is_ok()) return {};
  const base::Status wrong = check_plan(run, plan.value());
  EXPECT_TRUE(wrong.is_ok()) << wrong.to_string();
  return plan.take();
}

// ggml-org/llama.cpp 5096. The measured run: a scratch tensor, a kept one, and, when the first is gone, a large one. A
// later run's scratch tensor is smaller.
constexpr std::uint64_t kKept = 4194304;
constexpr std::uint64_t kLarge = 205520896;
constexpr std::uint64_t kBuffer = 209715232;
enum Tensor : std::uint64_t { scratch, kept, large };
const std::vector<Lifetime> kMeasured = {{1, 3, kLarge}, {2, 5, kKept}, {4, 5, kLarge}};

// Where a planner that replays its allocator at run time puts the tensors of the second run: the lowest hole that holds
// each. What it finds in the end are the holes of the report, and the large tensor in neither.
TEST(BugCases, H16_PlacingAsTheRunGoesLeavesTheHolesOfTheReport) {
  const std::uint64_t scratch_begin = 0;
  const std::uint64_t kept_begin = scratch_begin + kKept;  // the scratch tensor is 4 MiB this time
  const std::uint64_t first_hole = kept_begin - scratch_begin;
  const std::uint64_t second_hole = kBuffer - (kept_begin + kKept);
  EXPECT_EQ(first_hole, 4194304U);
  EXPECT_EQ(second_hole, 201326624U);
  EXPECT_LT(std::max(first_hole, second_hole), kLarge);
  EXPECT_GE(first_hole + second_hole, kLarge) << "there was enough memory";
}

TEST(BugCases, H16_ARunWithNoLargerTensorsFitsThePlan) {
  const OffsetPlan plan = checked_plan(kMeasured);
  EXPECT_EQ(plan.bytes, kKept + kLarge);
  EXPECT_LE(plan.bytes, kBuffer);
  pool::TestPool test(pool::make_device("counting", pool::kMiB * 512), {});
  auto arena = PlannedArena::create(test.pool.get(), kMeasured, plan, Unplanned::refuse);
  ASSERT_TRUE(arena.is_ok()) << arena.status().to_string();
  PlannedArena& run = *arena.value();
  for (const std::uint64_t scratch_bytes : {kLarge, kKept, std::uint64_t{1}}) {
    const auto first = run.allocate(scratch, scratch_bytes);
    const auto second = run.allocate(kept, kKept);
    ASSERT_TRUE(first.is_ok() && second.is_ok());
    EXPECT_EQ(first.value(), run.base() + plan.offsets[scratch]);
    EXPECT_EQ(second.value(), run.base() + plan.offsets[kept]);
    ASSERT_TRUE(run.free(first.value()).is_ok());
    const auto third = run.allocate(large, kLarge);
    ASSERT_TRUE(third.is_ok()) << third.status().to_string();
    EXPECT_EQ(third.value(), run.base() + plan.offsets[large]);
    ASSERT_TRUE(run.free(second.value()).is_ok());
    ASSERT_TRUE(run.free(third.value()).is_ok());
  }
  EXPECT_EQ(run.counts(), (PlannedCounts{.planned = 9}));
  EXPECT_EQ(test->ledger().live_blocks, 1U) << "the arena itself";
}

// The same for any run: each tensor at most as large as planned, some left out, in the planned order.
TEST(BugCases, H16_AnyRunWithNoLargerTensorsFitsItsPlan) {
  const std::vector<Lifetime> run = testing::random_run(7, 400, 500, 300);
  const OffsetPlan plan = checked_plan(run);
  pool::TestPool test(pool::make_device("counting", 4096 * kMiB), {});
  auto arena = PlannedArena::create(test.pool.get(), run, plan, Unplanned::refuse);
  ASSERT_TRUE(arena.is_ok());
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::optional<device::Address>> places(run.size());
    for (std::uint64_t time = 0; time < 1100; ++time) {
      for (std::size_t i = 0; i < run.size(); ++i) {
        if (run[i].upper == time && places[i]) {
          ASSERT_TRUE(arena.value()->free(*places[i]).is_ok());
        }
      }
      for (std::size_t i = 0; i < run.size(); ++i) {
        if (run[i].lower != time || random() % 10 == 0) continue;
        const auto served = arena.value()->allocate(i, 1 + random() % run[i].bytes);
        ASSERT_TRUE(served.is_ok()) << served.status().to_string();
        EXPECT_EQ(served.value(), arena.value()->base() + plan.offsets[i]);
        places[i] = served.value();
      }
    }
  }
  EXPECT_EQ(arena.value()->counts().unplanned(), 0U);
  EXPECT_EQ(arena.value()->live(), 0U);
}

// ggml-org/ggml 462: a U-Net with 570.65 MB live at its peak got a buffer of 1,147.33 MB, a decoder with 1,674.14 MB
// one of 2,496.00. Graphs of this kind, scaled to the same peaks.
TEST(BugCases, H19_PlansOfUNetsAreNearTheLivePeak) {
  struct Graph {
    int levels;
    int blocks;
    double peak_megabytes;
    double planned_there;
  };
  for (const Graph& graph : {Graph{4, 3, 570.65, 1147.33}, Graph{5, 2, 1674.14, 2496.00}}) {
    const auto peak_of = [&](double megabytes) {
      return static_cast<double>(
                 plan_offsets(testing::unet_run(graph.levels, graph.blocks, megabytes)).value().peak_live_bytes) /
             1e6;
    };
    const double scale = graph.peak_megabytes / peak_of(100) * 100;
    const std::vector<Lifetime> run = testing::unet_run(graph.levels, graph.blocks, scale);
    const OffsetPlan plan = checked_plan(run);
    EXPECT_NEAR(static_cast<double>(plan.peak_live_bytes) / 1e6, graph.peak_megabytes, 0.01);
    EXPECT_LE(plan.over_live(), 1.02) << plan.method;
    EXPECT_LT(static_cast<double>(plan.bytes) / 1e6, graph.planned_there * 0.7);
  }
}

// A real U-Net's run on a CPU, with all its small tensors.
TEST(BugCases, H19_ThePlanOfARecordedUNetIsNearTheLivePeak) {
  auto trace = replay::read_trace(std::string(CISTERN_TEST_DATA) + "/traces/cpu_unet.csv.zst");
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  std::vector<Lifetime> run(trace.value().slots);
  for (std::size_t i = 0; i < trace.value().events.size(); ++i) {
    const replay::TraceEvent& event = trace.value().events[i];
    if (event.op == replay::TraceOp::allocate) run[event.slot] = {i, trace.value().events.size(), event.bytes};
    if (event.op == replay::TraceOp::free) run[event.slot].upper = i;
  }
  const OffsetPlan plan = checked_plan(run);
  EXPECT_EQ(plan.peak_live_bytes, 97635940U);
  EXPECT_LE(plan.over_live(), 1.001);
  EXPECT_TRUE(plan.is_optimal());
}

}  // namespace
}  // namespace cistern::plan
