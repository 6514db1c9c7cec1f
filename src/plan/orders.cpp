#include "plan/orders.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

namespace cistern::plan {
namespace {

// The most bytes live in any section of a stretch, for any stretch in O(1): maxima of stretches of every power of two.
class PeakTable {
 public:
  explicit PeakTable(const std::vector<Item>& items) {
    std::uint32_t sections = 0;
    for (const Item& item : items) sections = std::max(sections, item.upper);
    std::vector<std::uint64_t> live(sections + 1, 0);
    for (const Item& item : items) {
      live[item.lower] += item.bytes;
      live[item.upper] -= item.bytes;
    }
    std::partial_sum(live.begin(), live.end(), live.begin());
    rows_.push_back(std::move(live));
    for (std::size_t half = 1; 2 * half <= sections; half *= 2) {
      const std::vector<std::uint64_t>& below = rows_.back();
      std::vector<std::uint64_t> row(below.size() - half);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::max(below[i], below[i + half]);
      rows_.push_back(std::move(row));
    }
  }

  std::uint64_t peak(const Item& item) const noexcept {
    const std::uint32_t length = item.upper - item.lower;
    const auto level = static_cast<std::size_t>(std::bit_width(length)) - 1;
    return std::max(rows_[level][item.lower], rows_[level][item.upper - (std::size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<std::uint64_t>> rows_;
};

// A product in floating point: only the order matters, and 2^62 bytes times 2^28 sections are no integer.
double area(const Item& item) noexcept {
  return static_cast<double>(item.bytes) * static_cast<double>(item.upper - item.lower);
}

std::vector<double> ranks(OrderRule rule, const std::vector<Item>& items) {
  std::vector<double> ranks(items.size(), 0);
  const auto fill = [&](auto rank) { std::transform(items.begin(), items.end(), ranks.begin(), rank); };
  switch (rule) {
    case OrderRule::size:
      break;  // the tie-break of all others
    case OrderRule::area:
      fill(area);
      break;
    case OrderRule::lifetime:
      fill([](const Item& item) { return static_cast<double>(item.upper - item.lower); });
      break;
    case OrderRule::breadth: {
      const PeakTable table(items);
      fill([&table](const Item& item) { return static_cast<double>(table.peak(item)); });
      break;
    }
    case OrderRule::time:
      fill([](const Item& item) { return -static_cast<double>(item.lower); });
      break;
  }
  return ranks;
}

}  // namespace

std::string_view order_rule_name(OrderRule rule) noexcept {
  switch (rule) {
    case OrderRule::size:
      return "size";
    case OrderRule::area:
      return "area";
    case OrderRule::lifetime:
      return "lifetime";
    case OrderRule::breadth:
      return "breadth";
    case OrderRule::time:
      return "time";
  }
  return "?";
}

Order order_by(OrderRule rule, const std::vector<Item>& items) {
  const std::vector<double> rank = ranks(rule, items);
  Order order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (rank[a] != rank[b]) return rank[a] > rank[b];
    if (items[a].bytes != items[b].bytes) return items[a].bytes > items[b].bytes;
    return std::tie(items[a].lower, a) < std::tie(items[b].lower, b);
  });
  return order;
}

}  // namespace cistern::plan
