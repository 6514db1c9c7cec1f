// PartPlanner: one part's plan, made better step by step until it is good enough or the work that was allowed is done.
//
// Work is counted in steps, not measured by a clock, and what is random comes from a seed: a plan is the same on every
// machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plan/occupancy_tree.hpp"
#include "plan/orders.hpp"
#include "plan/parts.hpp"
#include "plan/placed_list.hpp"

namespace cistern::plan {

class PartPlanner {
 public:
  explicit PartPlanner(const Part& part);

  // Orders and fits, one after the other, until the part ends at or below `wanted`, or `most_steps` more are done; the
  // first is always placed. Afterwards there is a plan.
  void try_orders(std::uint64_t wanted, std::uint64_t most_steps);
  // Places again in the order of offsets, then searches among orders near the best so far. Only after try_orders().
  void improve(std::uint64_t wanted, std::uint64_t most_steps, std::uint64_t seed);

  std::uint64_t top() const noexcept { return top_; }  // from the part's base
  const std::vector<std::uint64_t>& offsets() const noexcept { return offsets_; }
  const std::string& method() const noexcept { return method_; }
  std::uint64_t steps() const noexcept { return list_.steps() + (tree_ ? tree_->steps() : 0); }

 private:
  class Search;

  // Above `limit`, the offsets are of no use.
  std::uint64_t place(const Order& order, Fit fit, std::uint64_t limit, std::vector<std::uint64_t>* offsets);
  void take(std::uint64_t top, const std::vector<std::uint64_t>& offsets, const std::string& method);
  void promote(std::uint64_t wanted, std::uint64_t most_steps);
  void settle();
  void try_every_order();
  Order order_of_offsets() const;

  const std::vector<Item>& items_;
  std::unique_ptr<OccupancyTree> tree_;  // null: few items, and list_ is used
  PlacedList list_;
  std::uint64_t top_ = kNoLimit;
  std::vector<std::uint64_t> offsets_;
  std::string method_;
  Order order_;  // the best of the greedy ones, and its fit
  Fit fit_ = Fit::lowest;
};

}  // namespace cistern::plan
