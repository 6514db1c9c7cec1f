// OccupancyTree: which addresses are taken in a stretch of time, found without looking at every tensor.
//
// A binary tree over the sections of time. A tensor's time is the union of at most 2 log2(sections) whole nodes; each
// of them lists the tensor's addresses among those taken throughout it (`across`), and it and the nodes above among
// those taken at any time within it (`within`). What a stretch of time meets is then: `within` of its own nodes,
// `across` of the nodes above them. Addresses that touch become one run, so lists are short where placement is dense:
// long-lived tensors meet thousands of short ones in a few runs.
//
// O(log(sections) * r) for either operation, with r the runs of a node; finding sorts what it collected.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/placement.hpp"

namespace cistern::plan {

class OccupancyTree {
 public:
  explicit OccupancyTree(std::uint32_t sections);

  void clear() noexcept;
  std::uint64_t find(const Item& item, Fit fit);
  void add(const Item& item, std::uint64_t offset);
  // Runs looked at, times what sorting them costs beside a look into a PlacedList.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  struct Run {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  using Runs = std::vector<Run>;  // apart from each other, by address
  struct Node {
    Runs across;
    Runs within;
  };
  struct Span {  // of sections
    std::uint32_t lower = 0;
    std::uint32_t upper = 0;
  };

  void insert(Run run, Runs* runs);
  void add_below(std::size_t node, Span of_node, Span wanted, Run run);
  void collect_below(std::size_t node, Span of_node, Span wanted);
  void collect(const Runs& runs) { found_.insert(found_.end(), runs.begin(), runs.end()); }

  std::uint32_t sections_;   // a power of two
  std::vector<Node> nodes_;  // 1 is the root, 2n and 2n + 1 are below n
  std::vector<std::size_t> used_;
  Runs found_;
  std::uint64_t steps_ = 0;
};

}  // namespace cistern::plan
