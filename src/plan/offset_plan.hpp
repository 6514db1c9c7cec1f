// OffsetPlan: a place in one range of addresses for every tensor of a run, fixed before the run begins.
//
// check_plan() is how a plan is believed. It shares nothing with the planner: it goes through the run in the order of
// time and keeps the ranges of the live tensors in a sorted map; a tensor that meets a neighbour is the proof that the
// plan is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "plan/lifetimes.hpp"

namespace cistern::plan {

struct OffsetPlan {
  std::vector<std::uint64_t> offsets;   // by tensor, in the order of the lifetimes
  std::uint64_t bytes = 0;              // of the range: the end of the tensor that ends last
  std::uint64_t lower_bound_bytes = 0;  // peak of live bytes, sizes rounded up to the alignment: no plan is smaller
  std::uint64_t peak_live_bytes = 0;    // the same with sizes as they are
  std::uint64_t alignment = 1;
  std::string method;         // what decided the plan's size: "size, lowest" (order, fit), "search", ...
  std::uint64_t parts = 0;    // that were planned apart, because they never meet
  std::uint64_t repeats = 0;  // of these, parts that are equal to one planned before
  std::uint64_t steps = 0;    // of work, see PlannerOptions::effort_steps

  bool is_optimal() const noexcept { return bytes == lower_bound_bytes; }  // proven so; false: not known
  double over_live() const noexcept {
    return peak_live_bytes == 0 ? 1.0 : static_cast<double>(bytes) / static_cast<double>(peak_live_bytes);
  }
  double over_bound() const noexcept {
    return lower_bound_bytes == 0 ? 1.0 : static_cast<double>(bytes) / static_cast<double>(lower_bound_bytes);
  }
};

// ok: no two tensors that live at the same time share an address, each begins at a multiple of the alignment and ends
// within `bytes`. corrupted otherwise, naming the tensors by their numbers. O(n log n).
base::Status check_plan(const std::vector<Lifetime>& lifetimes, const OffsetPlan& plan) noexcept;

}  // namespace cistern::plan
