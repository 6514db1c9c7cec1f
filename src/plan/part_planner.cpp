// Greedy orders, then a search among orders.
#include "plan/part_planner.hpp"

#include <algorithm>
#include <numeric>

namespace cistern::plan {
namespace {

constexpr std::size_t kListAtMost = 768;      // items for which looking at all of them is faster than the tree
constexpr std::size_t kEveryOrderAtMost = 7;  // items: 5,040 orders
constexpr int kMostPromotions = 500;          // rounds
constexpr std::size_t kMemory = 64;           // changes that late acceptance looks back

// splitmix64: a few bits of randomness, the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t bound) noexcept { return static_cast<std::size_t>(next() % bound); }

 private:
  std::uint64_t state_;
};

std::string greedy_name(OrderRule rule, Fit fit) {
  return std::string(order_rule_name(rule)) + (fit == Fit::lowest ? ", lowest" : ", tightest");
}

void sort_by_offset(const std::vector<std::uint64_t>& offsets, Order* order) {
  std::sort(order->begin(), order->end(), [&offsets](std::uint32_t a, std::uint32_t b) {
    return offsets[a] != offsets[b] ? offsets[a] < offsets[b] : a < b;
  });
}

}  // namespace

PartPlanner::PartPlanner(const Part& part) : items_(part.items), offsets_(part.items.size(), 0) {
  if (items_.size() > kListAtMost) tree_ = std::make_unique<OccupancyTree>(part.sections);
}

std::uint64_t PartPlanner::place(const Order& order, Fit fit, std::uint64_t limit,
                                 std::vector<std::uint64_t>* offsets) {
  return tree_ ? place_in_order(items_, order, fit, limit, tree_.get(), offsets)
               : place_in_order(items_, order, fit, limit, &list_, offsets);
}

void PartPlanner::take(std::uint64_t top, const std::vector<std::uint64_t>& offsets, const std::string& method) {
  top_ = top;
  offsets_ = offsets;
  method_ = method;
}

void PartPlanner::try_orders(std::uint64_t wanted, std::uint64_t most_steps) {
  const std::uint64_t end = steps() + most_steps;
  std::vector<std::uint64_t> offsets(items_.size());
  for (const OrderRule rule : kOrderRules) {
    const Order order = order_by(rule, items_);
    for (const Fit fit : {Fit::lowest, Fit::tightest}) {
      if (top_ <= wanted || (top_ != kNoLimit && steps() >= end)) return;
      const std::uint64_t top = place(order, fit, top_, &offsets);
      if (top < top_) {
        take(top, offsets, greedy_name(rule, fit));
        order_ = order;
        fit_ = fit;
      }
    }
  }
}

Order PartPlanner::order_of_offsets() const {
  Order order(items_.size());
  std::iota(order.begin(), order.end(), 0U);
  sort_by_offset(offsets_, &order);
  return order;
}

// Whoever ended above the wanted height gets its place earlier in the next round: half as far from the front. What is
// hard to place rises in the order until it is easy, or others have become harder.
void PartPlanner::promote(std::uint64_t wanted, std::uint64_t most_steps) {
  const std::uint64_t end = steps() + most_steps;
  std::vector<std::uint64_t> offsets(items_.size());
  std::vector<std::size_t> rank(items_.size());
  Order order = order_;
  for (int round = 0; round < kMostPromotions && top_ > wanted && steps() < end; ++round) {
    const std::uint64_t top = place(order, fit_, kNoLimit, &offsets);
    if (top < top_) take(top, offsets, "promotion");
    for (std::size_t place = 0; place < order.size(); ++place) {
      const std::uint32_t item = order[place];
      const bool is_too_high = offsets[item] + items_[item].bytes > wanted;
      rank[item] = is_too_high ? 2 * place : 4 * place + 1;  // never equal: even and odd
    }
    std::sort(order.begin(), order.end(), [&rank](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
  }
}

// No item ends higher than before: see placement.hpp.
void PartPlanner::settle() {
  std::vector<std::uint64_t> offsets(items_.size());
  const std::uint64_t top = place(order_of_offsets(), Fit::lowest, kNoLimit, &offsets);
  if (top <= top_) take(top, offsets, top < top_ ? method_ + ", settled" : method_);
}

void PartPlanner::try_every_order() {
  std::vector<std::uint64_t> offsets(items_.size());
  Order order(items_.size());
  std::iota(order.begin(), order.end(), 0U);
  do {
    const std::uint64_t top = place(order, Fit::lowest, top_, &offsets);
    if (top < top_) take(top, offsets, "every order");
  } while (std::next_permutation(order.begin(), order.end()));
}

// Changes the order a little, places again with the lowest gap, and keeps the change where the part does not end higher
// than it did some changes ago: now and then a plan must get worse to get better. What is moved are mostly tensors that
// end above the wanted height, to before one that they meet.
class PartPlanner::Search {
 public:
  Search(PartPlanner* plan, std::uint64_t wanted, std::uint64_t seed)
      : plan_(plan),
        wanted_(wanted),
        random_(seed),
        order_(plan->order_of_offsets()),
        top_(plan->top_),
        offsets_(plan->offsets_),
        changed_offsets_(offsets_) {
    tops_.assign(kMemory, top_);
    find_too_high();
  }

  // Until the plan's steps reach `end`.
  void run(std::uint64_t end) {
    for (std::size_t turn = 0; plan_->top_ > wanted_ && plan_->steps() < end; turn = (turn + 1) % kMemory) {
      changed_ = order_;
      change();
      const std::uint64_t limit = std::max(top_, tops_[turn]);
      const std::uint64_t top = plan_->place(changed_, Fit::lowest, limit, &changed_offsets_);
      plan_->list_.count(changed_.size());
      if (top <= limit) accept(top);
      tops_[turn] = top_;
    }
  }

 private:
  void accept(std::uint64_t top) {
    top_ = top;
    order_.swap(changed_);
    offsets_.swap(changed_offsets_);
    sort_by_offset(offsets_, &order_);
    if (top_ < plan_->top_) plan_->take(top_, offsets_, "search");
    find_too_high();
  }

  void find_too_high() {
    too_high_.clear();
    for (std::size_t place = 1; place < order_.size(); ++place) {
      const std::uint32_t item = order_[place];
      if (offsets_[item] + plan_->items_[item].bytes > wanted_) too_high_.push_back(place);
    }
  }

  // A place in the order before `place`, of an item that the one there meets; any where none is found quickly.
  std::size_t earlier(std::size_t place) {
    const Item& item = plan_->items_[order_[place]];
    for (int tries = 0; tries < 16; ++tries) {
      const std::size_t other = random_.below(place);
      if (meet(item, plan_->items_[order_[other]])) return other;
    }
    return random_.below(place);
  }

  void change() {
    const std::uint64_t kind = random_.below(8);
    const bool is_any = too_high_.empty() || kind == 0;
    const std::size_t from = is_any ? 1 + random_.below(order_.size() - 1) : too_high_[random_.below(too_high_.size())];
    const std::size_t to = earlier(from);
    const auto at = [this](std::size_t place) { return changed_.begin() + static_cast<std::ptrdiff_t>(place); };
    if (kind < 3) {
      std::iter_swap(at(to), at(from));
    } else if (kind < 7) {
      std::rotate(at(to), at(from), at(from) + 1);  // the later item to before the earlier one
    } else {
      std::rotate(at(to), at(to) + 1, at(from) + 1);  // the earlier item to behind the later one
    }
  }

  PartPlanner* plan_;
  std::uint64_t wanted_;
  Random random_;
  Order order_;
  Order changed_;
  std::uint64_t top_;
  std::vector<std::uint64_t> tops_;  // after the last changes, in turns
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint64_t> changed_offsets_;
  std::vector<std::size_t> too_high_;  // places in the order
};

void PartPlanner::improve(std::uint64_t wanted, std::uint64_t most_steps, std::uint64_t seed) {
  if (top_ <= wanted) return;
  if (items_.size() <= kEveryOrderAtMost) return try_every_order();
  const std::uint64_t end = steps() + most_steps;
  promote(wanted, most_steps / 2);
  settle();
  Search(this, wanted, seed).run(end);
}

}  // namespace cistern::plan
