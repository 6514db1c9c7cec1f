// The planner as its callers see it: runs with known smallest plans, hard ones, bounds on work, and repetition.
#include <gtest/gtest.h>

#include <string>

#include "plan/offset_planner.hpp"
#include "plan/tensors.hpp"
#include "replay/sources/read_trace.hpp"

namespace cistern::plan {
namespace {

OffsetPlan checked_plan(const std::vector<Lifetime>& run, const PlannerOptions& options = {}) {
  auto plan = plan_offsets(run, options);
  EXPECT_TRUE(plan.is_ok()) << plan.status().to_string();
  if (!plan.is_ok()) return {};
  const base::Status wrong = check_plan(run, plan.value());
  EXPECT_TRUE(wrong.is_ok()) << wrong.to_string();
  EXPECT_GE(plan.value().bytes, plan.value().lower_bound_bytes);
  return plan.take();
}

TEST(Planner, NothingNeedsNothing) {
  const OffsetPlan plan = checked_plan({});
  EXPECT_EQ(plan.bytes, 0U);
  EXPECT_TRUE(plan.is_optimal());
  EXPECT_EQ(plan.over_live(), 1.0);
}

TEST(Planner, TensorsThatLiveTogetherAreStacked) {
  const OffsetPlan plan = checked_plan({{0, 2, 512}, {0, 2, 1000}, {1, 2, 24}});
  EXPECT_EQ(plan.bytes, 2048U);
  EXPECT_EQ(plan.peak_live_bytes, 1536U);
  EXPECT_EQ(plan.method, "stacked");
  EXPECT_EQ(plan.parts, 0U);
}

TEST(Planner, AlignmentIsKept) {
  const std::vector<Lifetime> run = testing::random_run(2, 300, 100, 9);
  EXPECT_EQ(checked_plan(run, {.alignment = 1}).lower_bound_bytes,
            checked_plan(run, {.alignment = 512}).lower_bound_bytes);
  const OffsetPlan coarse = checked_plan(run, {.alignment = 4096});
  for (const std::uint64_t offset : coarse.offsets) EXPECT_EQ(offset % 4096, 0U);
}

TEST(Planner, EqualRequestsArePlannedOnce) {
  const std::vector<Lifetime> request = testing::random_run(4, 200, 300, 20);
  std::vector<Lifetime> run;
  for (std::uint64_t i = 0; i < 10; ++i) {
    for (Lifetime lifetime : request) {
      lifetime.lower += 1000 * i;
      lifetime.upper += 1000 * i;
      run.push_back(lifetime);
    }
  }
  const OffsetPlan once = checked_plan(request);
  const OffsetPlan often = checked_plan(run);
  EXPECT_EQ(often.bytes, once.bytes);
  EXPECT_EQ(often.steps, once.steps);
  EXPECT_EQ(often.parts, 10 * once.parts);
  EXPECT_EQ(often.repeats, 9 * once.parts);
}

TEST(Planner, ADeepStackIsAsLargeAsItsPeak) {
  std::vector<Lifetime> run;
  for (std::uint64_t i = 0; i < 500; ++i) {
    run.push_back({3 * i, 100'000 - i, 512});
    run.push_back({3 * i + 1, 3 * i + 2, 512});
  }
  EXPECT_TRUE(checked_plan(run).is_optimal());
}

TEST(Planner, ThePlanIsTheSameEveryTime) {
  const std::vector<Lifetime> run = testing::random_run(9, 300, 100, 50);
  const PlannerOptions options{.effort_steps = 20'000'000};
  const OffsetPlan first = checked_plan(run, options);
  const OffsetPlan second = checked_plan(run, options);
  EXPECT_EQ(first.offsets, second.offsets);
  EXPECT_EQ(first.steps, second.steps);
}

TEST(Planner, MoreEffortIsNeverWorseAndIsBounded) {
  const std::vector<Lifetime> run = testing::random_run(9, 300, 100, 50);
  std::uint64_t best = ~std::uint64_t{0};
  for (const std::uint64_t effort : {0, 1'000'000, 40'000'000}) {
    const OffsetPlan plan = checked_plan(run, {.effort_steps = effort});
    EXPECT_LE(plan.bytes, best) << effort;
    EXPECT_LE(plan.steps, effort + 2 * 300 * 300 * 10);
    best = plan.bytes;
  }
}

// 20,000 tensors with one in eight living long: one part, planned through the tree.
TEST(Planner, ManyTensorsAreNearTheBound) {
  const OffsetPlan plan = checked_plan(testing::random_run(1, 20'000, 20'000, 200), {.effort_steps = 20'000'000});
  EXPECT_LE(plan.over_bound(), 1.05) << plan.method;
}

// One of a set made to be hard for such rules. That it fits 1,048,576 bytes is known; the rules alone need 1.3 times
// that.
TEST(Planner, TheSearchGainsOnAHardRun) {
  auto trace = replay::read_trace(std::string(CISTERN_TEST_DATA) + "/lifetimes/minimalloc_A.csv");
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  ASSERT_EQ(trace.value().block_names.size(), 154U);
  std::vector<Lifetime> run(trace.value().slots);
  for (const replay::TraceEvent& event : trace.value().events) {
    if (event.op == replay::TraceOp::allocate) run[event.slot] = {event.time_ns, 0, event.bytes};
    if (event.op == replay::TraceOp::free) run[event.slot].upper = event.time_ns;
  }
  const OffsetPlan greedy = checked_plan(run, {.effort_steps = 0});
  const OffsetPlan searched = checked_plan(run, {.effort_steps = 50'000'000});
  EXPECT_EQ(searched.lower_bound_bytes, 1048576U);
  EXPECT_LE(searched.bytes, greedy.bytes * 9 / 10);
  EXPECT_LE(searched.over_bound(), 1.15);
}

}  // namespace
}  // namespace cistern::plan
