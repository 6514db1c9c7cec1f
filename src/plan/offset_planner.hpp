// Offset planner: from the lifetimes of a run's tensors to fixed offsets in one range, near the least that can do.
//
// The run is cut into parts that do not matter to each other (parts.hpp). Each part's tensors are placed in several
// orders (orders.hpp), each with the lowest and with the tightest gap, until its plan ends no higher than the lower
// bound of the whole run: better would gain nothing. Parts that stay above it are searched (part_planner.hpp), the
// highest first. Parts that are equal are planned once.
//
// Parts of up to seven tensors get a smallest plan; for larger ones none is promised, only the bound is proven. Every
// plan ends at or below the best of the greedy orders that were tried.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "plan/offset_plan.hpp"

namespace cistern::plan {

struct PlannerOptions {
  // Every offset is a multiple, and sizes are rounded up to it: the granule of a device pool. 1: no rounding.
  std::uint64_t alignment = 512;
  // Work allowed, in looks at a placed tensor: some 10^8 a second. The first order of every part is placed whatever it
  // costs, which for most runs is far less. The result depends on it, but not on the machine.
  std::uint64_t effort_steps = 500'000'000;
  std::uint64_t seed = 1;  // of the search
};

// Errors: of the lifetimes, see items_of(). No lifetimes: a plan of 0 bytes. Memory: some 100 bytes a lifetime. Safe
// from any thread. Finished plans hold (check_plan); who relies on one checks it.
base::Result<OffsetPlan> plan_offsets(const std::vector<Lifetime>& lifetimes,
                                      const PlannerOptions& options = {}) noexcept;

}  // namespace cistern::plan
