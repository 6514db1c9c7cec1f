// Orders: in which succession tensors are placed. Each rule puts first what would be hardest to place later, by another
// idea of hard; none is best for every run, so a planner tries them all.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/placement.hpp"

namespace cistern::plan {

enum class OrderRule : std::uint8_t {
  size,      // largest first
  area,      // size times time
  lifetime,  // longest-lived first
  breadth,   // those that are live at the peak first, then those of the next lower moment, ...; largest first in each
  time,      // as they appear: what an allocator does that cannot look ahead
};

inline constexpr std::array<OrderRule, 5> kOrderRules = {OrderRule::size, OrderRule::time, OrderRule::breadth,
                                                         OrderRule::area, OrderRule::lifetime};

std::string_view order_rule_name(OrderRule rule) noexcept;

// O(n log n). Ties by size, then time, then number.
Order order_by(OrderRule rule, const std::vector<Item>& items);

}  // namespace cistern::plan
