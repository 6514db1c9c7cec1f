// Lifetimes: what an offline planner knows of a run: which tensors there are, how large, from when until when.
//
// A tensor lives from `lower` until just before `upper`; the unit of time is the caller's, only the order matters. For
// planning, time is cut into sections: a new one begins with the first tensor that appears after another has gone. Two
// tensors meet in a section exactly when they live at the same time, so sections are all of time that a plan needs, and
// there are at most as many as tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace cistern::plan {

struct Lifetime {
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;  // exclusive, > lower
  std::uint64_t bytes = 0;  // > 0
};

inline constexpr std::uint64_t kMostLifetimes = std::uint64_t{1} << 28;
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;  // of all together, after rounding

// A lifetime in sections, its size rounded up to the plan's alignment.
struct Item {
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;  // exclusive
  std::uint64_t bytes = 0;
  friend bool operator==(const Item&, const Item&) = default;
};

inline bool meet(const Item& a, const Item& b) noexcept { return a.lower < b.upper && b.lower < a.upper; }

// Items in the order of `lifetimes`. O(n log n). invalid_argument where a lifetime ends before it began or has no
// bytes, limit_exceeded above kMostLifetimes or kMostBytes; the text names the tensor by its number.
base::Result<std::vector<Item>> items_of(const std::vector<Lifetime>& lifetimes, std::uint64_t alignment) noexcept;

// The most bytes live in one section: no plan is smaller. Sections may begin anywhere. O(n + sections).
std::uint64_t peak_bytes(const std::vector<Item>& items) noexcept;

}  // namespace cistern::plan
