#include "plan/lifetimes.hpp"

#include <algorithm>
#include <string>
#include <tuple>

namespace cistern::plan {

using base::Result;
using base::Status;
using base::StatusCode;

namespace {

struct Boundary {
  std::uint64_t time = 0;
  std::uint32_t tensor = 0;
  bool begins = false;
};

std::string tensor_text(std::size_t number) { return "tensor " + std::to_string(number); }

Result<std::uint64_t> rounded(const Lifetime& lifetime, std::size_t number, std::uint64_t alignment) {
  if (lifetime.upper <= lifetime.lower) {
    return base::invalid_argument(tensor_text(number) + " lives from " + std::to_string(lifetime.lower) + " to " +
                                  std::to_string(lifetime.upper) + "; its end must come after its beginning");
  }
  if (lifetime.bytes == 0) return base::invalid_argument(tensor_text(number) + " has no bytes; leave it out");
  if (lifetime.bytes > kMostBytes) {
    return Status(StatusCode::limit_exceeded, tensor_text(number) + " has " + std::to_string(lifetime.bytes) +
                                                  " bytes, more than is planned for (2^62)");
  }
  return (lifetime.bytes + alignment - 1) / alignment * alignment;
}

void cut_into_sections(const std::vector<Lifetime>& lifetimes, std::vector<Item>* items) {
  std::vector<Boundary> boundaries;
  boundaries.reserve(2 * lifetimes.size());
  for (std::uint32_t i = 0; i < lifetimes.size(); ++i) {
    boundaries.push_back({lifetimes[i].lower, i, true});
    boundaries.push_back({lifetimes[i].upper, i, false});
  }
  std::sort(boundaries.begin(), boundaries.end(), [](const Boundary& a, const Boundary& b) {
    return std::tie(a.time, a.begins, a.tensor) < std::tie(b.time, b.begins, b.tensor);
  });
  std::uint32_t section = 0;
  bool has_ended = false;  // a tensor, since the section began
  for (const Boundary& boundary : boundaries) {
    Item& item = (*items)[boundary.tensor];
    if (!boundary.begins) {
      item.upper = section + 1;
      has_ended = true;
      continue;
    }
    if (has_ended) ++section;
    has_ended = false;
    item.lower = section;
  }
}

}  // namespace

Result<std::vector<Item>> items_of(const std::vector<Lifetime>& lifetimes, std::uint64_t alignment) noexcept {
  if (alignment == 0 || alignment > kMostBytes) {
    return base::invalid_argument("a plan's alignment is from 1 byte to 2^62; it is " + std::to_string(alignment));
  }
  if (lifetimes.size() > kMostLifetimes) {
    return Status(StatusCode::limit_exceeded, std::to_string(lifetimes.size()) + " tensors are more than is planned (" +
                                                  std::to_string(kMostLifetimes) + "); plan parts of the run");
  }
  std::vector<Item> items(lifetimes.size());
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    auto bytes = rounded(lifetimes[i], i, alignment);
    if (!bytes.is_ok()) return bytes.take_status();
    items[i].bytes = bytes.value();
    all += bytes.value();
    if (all > kMostBytes) {
      return Status(StatusCode::limit_exceeded,
                    "the tensors up to number " + std::to_string(i) + " have more than 2^62 bytes in all");
    }
  }
  cut_into_sections(lifetimes, &items);
  return items;
}

std::uint64_t peak_bytes(const std::vector<Item>& items) noexcept {
  if (items.empty()) return 0;
  std::uint32_t first = items.front().lower;
  std::uint32_t last = items.front().upper;
  for (const Item& item : items) {
    first = std::min(first, item.lower);
    last = std::max(last, item.upper);
  }
  std::vector<std::uint64_t> change(last - first + 1, 0);  // modulo 2^64
  for (const Item& item : items) {
    change[item.lower - first] += item.bytes;
    change[item.upper - first] -= item.bytes;
  }
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  for (const std::uint64_t step : change) peak = std::max(peak, live += step);
  return peak;
}

}  // namespace cistern::plan
