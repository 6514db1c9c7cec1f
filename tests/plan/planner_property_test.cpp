// Runs drawn at random, against the smallest plan there is, which is found by trying every order.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "plan/offset_planner.hpp"

namespace cistern::plan {
namespace {

// The lowest offset at which the tensor meets none of those placed, by trying the ends of all of them.
std::uint64_t lowest_offset(const std::vector<Lifetime>& run, const std::vector<std::size_t>& placed,
                            const std::vector<std::uint64_t>& offsets, std::size_t tensor) {
  const auto fits = [&](std::uint64_t offset) {
    return std::none_of(placed.begin(), placed.end(), [&](std::size_t other) {
      return run[other].lower < run[tensor].upper && run[tensor].lower < run[other].upper &&
             offsets[other] < offset + run[tensor].bytes && offset < offsets[other] + run[other].bytes;
    });
  };
  std::uint64_t best = fits(0) ? 0 : ~std::uint64_t{0};
  for (const std::size_t other : placed) {
    const std::uint64_t end = offsets[other] + run[other].bytes;
    if (end < best && fits(end)) best = end;
  }
  return best;
}

std::uint64_t smallest_plan(const std::vector<Lifetime>& run) {
  std::vector<std::size_t> order(run.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::uint64_t best = ~std::uint64_t{0};
  do {
    std::vector<std::size_t> placed;
    std::vector<std::uint64_t> offsets(run.size());
    std::uint64_t top = 0;
    for (const std::size_t tensor : order) {
      offsets[tensor] = lowest_offset(run, placed, offsets, tensor);
      top = std::max(top, offsets[tensor] + run[tensor].bytes);
      placed.push_back(tensor);
    }
    best = std::min(best, top);
  } while (std::next_permutation(order.begin(), order.end()));
  return run.empty() ? 0 : best;
}

std::vector<Lifetime> draw_run(std::size_t most, std::uint64_t times) {
  const auto count = *rc::gen::inRange<std::size_t>(0, most + 1);
  std::vector<Lifetime> run;
  for (std::size_t i = 0; i < count; ++i) {
    const auto lower = *rc::gen::inRange<std::uint64_t>(0, times);
    run.push_back({lower, lower + *rc::gen::inRange<std::uint64_t>(1, times), *rc::gen::inRange<std::uint64_t>(1, 10)});
  }
  return run;
}

TEST(PlannerProperty, SmallRunsGetASmallestPlan) {
  EXPECT_TRUE(rc::check("a plan of up to seven tensors is as small as any", [] {
    const std::vector<Lifetime> run = draw_run(7, 12);
    const OffsetPlan plan = plan_offsets(run, {.alignment = 1}).take();
    RC_ASSERT(check_plan(run, plan).is_ok());
    RC_ASSERT(plan.bytes == smallest_plan(run));
    RC_ASSERT(plan.lower_bound_bytes <= plan.bytes);
    RC_ASSERT(plan.lower_bound_bytes == plan.peak_live_bytes);
  }));
}

TEST(PlannerProperty, EveryPlanHolds) {
  EXPECT_TRUE(rc::check("whatever the run, alignment, effort and seed, the plan holds", [] {
    const std::vector<Lifetime> run = draw_run(60, 40);
    PlannerOptions options;
    options.alignment = *rc::gen::inRange<std::uint64_t>(1, 9);
    options.effort_steps = *rc::gen::inRange<std::uint64_t>(0, 200'000);
    options.seed = *rc::gen::arbitrary<std::uint64_t>();
    const OffsetPlan plan = plan_offsets(run, options).take();
    const base::Status wrong = check_plan(run, plan);
    if (!wrong.is_ok()) RC_FAIL(wrong.to_string());
    RC_ASSERT(plan.bytes >= plan.lower_bound_bytes);
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < run.size(); ++i) {
      end = std::max(end,
                     plan.offsets[i] + (run[i].bytes + options.alignment - 1) / options.alignment * options.alignment);
    }
    RC_ASSERT(plan.bytes == end);
  }));
}

}  // namespace
}  // namespace cistern::plan
