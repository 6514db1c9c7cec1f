// Parts: a run cut into pieces that can be planned apart without loss.
//
// Two cuts, each again and again: tensors that live through all of a piece's time lie at the bottom, in any order
// (nothing else can use their addresses, so the rest may be thought of without them); and where at some moment nothing
// of the rest is live, what comes before and what comes after share all addresses above. What is left are pieces in
// which tensors overlap in earnest. A server's run falls into requests this way, with the weights below, and equal
// requests give equal pieces, which are planned once.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/lifetimes.hpp"

namespace cistern::plan {

struct Part {
  std::vector<std::uint32_t> members;  // items, by (lower, upper, bytes), then number
  std::vector<Item> items;             // the same, sections counted from the part's first
  std::uint64_t base = 0;              // offset at which the part's addresses begin
  std::uint32_t sections = 0;
  std::uint64_t peak_bytes = 0;  // of the part alone
};

struct Cut {
  std::vector<Part> parts;  // in no meaningful order, the same for the same items
  // Of tensors that need no plan because they lie below a part or alone: offsets[number], and kInPart for the rest.
  std::vector<std::uint64_t> offsets;
  std::uint64_t top = 0;  // highest end of those
};

inline constexpr std::uint64_t kInPart = ~std::uint64_t{0};

// O(n log n) for each level of pieces within pieces, of which at most 64 are cut.
Cut cut_into_parts(const std::vector<Item>& items);

}  // namespace cistern::plan
