#include "plan/occupancy_tree.hpp"

#include <algorithm>
#include <bit>

namespace cistern::plan {

namespace {
constexpr std::uint64_t kStepsARun = 8;  // measured: a run collected and sorted against a tensor passed over in a list
}

OccupancyTree::OccupancyTree(std::uint32_t sections)
    : sections_(std::bit_ceil(std::max(sections, std::uint32_t{1}))), nodes_(2 * std::size_t{sections_}) {}

void OccupancyTree::clear() noexcept {
  for (const std::size_t node : used_) {
    nodes_[node].across.clear();
    nodes_[node].within.clear();
  }
  used_.clear();
}

void OccupancyTree::insert(Run run, Runs* runs) {
  steps_ += kStepsARun + runs->size() / 8;  // what moves in memory when it goes in at the front
  // The first that may touch, and the first behind it that does not.
  const auto first = std::lower_bound(runs->begin(), runs->end(), run.begin,
                                      [](const Run& other, std::uint64_t begin) { return other.end < begin; });
  auto last = first;
  while (last != runs->end() && last->begin <= run.end) ++last;
  if (first == last) {
    runs->insert(first, run);
    return;
  }
  first->begin = std::min(first->begin, run.begin);
  first->end = std::max(std::prev(last)->end, run.end);
  runs->erase(std::next(first), last);
}

void OccupancyTree::add_below(std::size_t node, Span of_node, Span wanted, Run run) {
  Node& here = nodes_[node];
  if (here.within.empty()) used_.push_back(node);
  insert(run, &here.within);
  if (wanted.lower <= of_node.lower && of_node.upper <= wanted.upper) {
    insert(run, &here.across);
    return;
  }
  const std::uint32_t middle = of_node.lower + (of_node.upper - of_node.lower) / 2;
  if (wanted.lower < middle) add_below(2 * node, {of_node.lower, middle}, wanted, run);
  if (wanted.upper > middle) add_below(2 * node + 1, {middle, of_node.upper}, wanted, run);
}

void OccupancyTree::collect_below(std::size_t node, Span of_node, Span wanted) {
  const Node& here = nodes_[node];
  if (here.within.empty()) return;
  if (wanted.lower <= of_node.lower && of_node.upper <= wanted.upper) {
    collect(here.within);
    return;
  }
  collect(here.across);
  const std::uint32_t middle = of_node.lower + (of_node.upper - of_node.lower) / 2;
  if (wanted.lower < middle) collect_below(2 * node, {of_node.lower, middle}, wanted);
  if (wanted.upper > middle) collect_below(2 * node + 1, {middle, of_node.upper}, wanted);
}

std::uint64_t OccupancyTree::find(const Item& item, Fit fit) {
  found_.clear();
  collect_below(1, {0, sections_}, {item.lower, item.upper});
  steps_ += kStepsARun * (found_.size() + 1);
  std::sort(found_.begin(), found_.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  GapChoice choice(item.bytes, fit);
  for (const Run& run : found_) {
    if (choice.pass(run.begin, run.end)) break;
  }
  return choice.place();
}

void OccupancyTree::add(const Item& item, std::uint64_t offset) {
  add_below(1, {0, sections_}, {item.lower, item.upper}, {offset, offset + item.bytes});
}

}  // namespace cistern::plan
