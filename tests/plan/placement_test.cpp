// Gaps, and the two structures that find them, which must agree.
#include <gtest/gtest.h>

#include <numeric>

#include "plan/occupancy_tree.hpp"
#include "plan/orders.hpp"
#include "plan/placed_list.hpp"
#include "plan/tensors.hpp"

namespace cistern::plan {
namespace {

TEST(GapChoice, TakesTheLowestOrTheTightest) {
  for (const Fit fit : {Fit::lowest, Fit::tightest}) {
    GapChoice choice(10, fit);
    bool done = false;  // ranges 0-5, 30-40, 52-60: gaps of 25 and 12
    for (const auto& [begin, end] : {std::pair{0, 5}, std::pair{30, 40}, std::pair{52, 60}}) {
      done = done || choice.pass(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end));
    }
    EXPECT_EQ(done, fit == Fit::lowest);
    EXPECT_EQ(choice.place(), fit == Fit::lowest ? 5U : 40U);
  }
}

TEST(GapChoice, GoesAboveEverythingWhereNoGapHolds) {
  GapChoice choice(10, Fit::tightest);
  EXPECT_FALSE(choice.pass(0, 100));
  EXPECT_FALSE(choice.pass(20, 30));  // within the one before
  EXPECT_FALSE(choice.pass(109, 120));
  EXPECT_EQ(choice.place(), 120U);
}

TEST(Placement, ListAndTreeFindTheSamePlaces) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    const auto items = items_of(testing::random_run(seed, 700, 50 * seed * seed, 40), 512).take();
    std::uint32_t sections = 0;
    for (const Item& item : items) sections = std::max(sections, item.upper);
    PlacedList list;
    OccupancyTree tree(sections);
    for (const OrderRule rule : kOrderRules) {
      for (const Fit fit : {Fit::lowest, Fit::tightest}) {
        const Order order = order_by(rule, items);
        std::vector<std::uint64_t> by_list(items.size());
        std::vector<std::uint64_t> by_tree(items.size());
        const std::uint64_t top = place_in_order(items, order, fit, kNoLimit, &list, &by_list);
        EXPECT_EQ(place_in_order(items, order, fit, kNoLimit, &tree, &by_tree), top);
        EXPECT_EQ(by_list, by_tree) << order_rule_name(rule) << " seed " << seed;
        EXPECT_GE(top, peak_bytes(items));
        EXPECT_EQ(place_in_order(items, order, fit, top, &list, &by_list), top) << "the limit itself is allowed";
        EXPECT_GT(place_in_order(items, order, fit, top - 1, &tree, &by_tree), top - 1);
      }
    }
  }
}

// What the search relies on.
TEST(Placement, PlacingAgainInTheOrderOfOffsetsMovesNothingUp) {
  const auto items = items_of(testing::random_run(3, 500, 200, 64), 512).take();
  PlacedList list;
  for (const OrderRule rule : kOrderRules) {
    std::vector<std::uint64_t> before(items.size());
    place_in_order(items, order_by(rule, items), Fit::tightest, kNoLimit, &list, &before);
    Order order(items.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return before[a] < before[b]; });
    std::vector<std::uint64_t> after(items.size());
    place_in_order(items, order, Fit::lowest, kNoLimit, &list, &after);
    for (std::size_t i = 0; i < items.size(); ++i) EXPECT_LE(after[i], before[i]);
  }
}

TEST(Orders, EachPutsItsOwnIdeaOfHardFirst) {
  // A: large and short, at the peak. B: small and long. C: middling, alone, with the largest area.
  const std::vector<Item> items = {{2, 3, 100}, {0, 8, 10}, {4, 8, 60}};
  EXPECT_EQ(order_by(OrderRule::size, items), (Order{0, 2, 1}));
  EXPECT_EQ(order_by(OrderRule::area, items), (Order{2, 0, 1}));
  EXPECT_EQ(order_by(OrderRule::lifetime, items), (Order{1, 2, 0}));
  EXPECT_EQ(order_by(OrderRule::breadth, items), (Order{0, 1, 2}));
  EXPECT_EQ(order_by(OrderRule::time, items), (Order{1, 0, 2}));
}

}  // namespace
}  // namespace cistern::plan
