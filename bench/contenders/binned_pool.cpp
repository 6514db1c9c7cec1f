#include "bench/contenders/binned_pool.hpp"

#include <bit>

namespace cistern::bench {

BinnedOffsets::BinnedOffsets(std::uint32_t units) {
  first_.fill(kNone);
  const Node whole = new_node();
  nodes_[whole].units = units;
  put_into_bin(whole);
}

// Sizes below eight have a bin each; above, a bin's number is the exponent and the three bits below the leading one.
unsigned BinnedOffsets::bin_that_holds(std::uint32_t units) noexcept {
  if (units < 8) return units;
  const unsigned exponent = static_cast<unsigned>(std::bit_width(units)) - 4;
  return (exponent + 1) * 8 + ((units >> exponent) & 7);
}

unsigned BinnedOffsets::bin_of_at_least(std::uint32_t units) noexcept {
  if (units < 8) return units;
  const unsigned exponent = static_cast<unsigned>(std::bit_width(units)) - 4;
  return bin_that_holds(units) + ((units & ((1u << exponent) - 1)) != 0 ? 1 : 0);
}

BinnedOffsets::Node BinnedOffsets::allocate(std::uint32_t units) {
  const Node node = first_hole_from(bin_of_at_least(units));
  if (node == kNone) return kNone;
  take_from_bin(node);
  nodes_[node].is_live = true;
  if (nodes_[node].units == units) return node;
  const Node rest = new_node();
  Block& block = nodes_[node];
  nodes_[rest] = {.offset = block.offset + units, .units = block.units - units, .below = node, .above = block.above};
  if (block.above != kNone) nodes_[block.above].below = rest;
  block.above = rest;
  block.units = units;
  put_into_bin(rest);
  return node;
}

void BinnedOffsets::free(Node node) {
  nodes_[node].is_live = false;
  if (const Node above = nodes_[node].above; above != kNone && !nodes_[above].is_live) {
    take_from_bin(above);
    absorb(node, above);
  }
  if (const Node below = nodes_[node].below; below != kNone && !nodes_[below].is_live) {
    take_from_bin(below);
    absorb(below, node);
    node = below;
  }
  put_into_bin(node);
}

BinnedOffsets::Node BinnedOffsets::new_node() {
  if (unused_.empty()) {
    nodes_.emplace_back();
    return static_cast<Node>(nodes_.size() - 1);
  }
  const Node node = unused_.back();
  unused_.pop_back();
  return node;
}

void BinnedOffsets::put_into_bin(Node node) {
  const unsigned bin = bin_that_holds(nodes_[node].units);
  nodes_[node].previous = kNone;
  nodes_[node].next = first_[bin];
  if (first_[bin] != kNone) nodes_[first_[bin]].previous = node;
  first_[bin] = node;
  bins_in_[bin / 8] = static_cast<std::uint8_t>(bins_in_[bin / 8] | (1u << (bin % 8)));
  groups_ |= 1u << (bin / 8);
}

void BinnedOffsets::take_from_bin(Node node) {
  const Block& block = nodes_[node];
  if (block.next != kNone) nodes_[block.next].previous = block.previous;
  if (block.previous != kNone) {
    nodes_[block.previous].next = block.next;
    return;
  }
  const unsigned bin = bin_that_holds(block.units);
  first_[bin] = block.next;
  if (block.next != kNone) return;
  bins_in_[bin / 8] = static_cast<std::uint8_t>(bins_in_[bin / 8] & ~(1u << (bin % 8)));
  if (bins_in_[bin / 8] == 0) groups_ &= ~(1u << (bin / 8));
}

BinnedOffsets::Node BinnedOffsets::first_hole_from(unsigned bin) const noexcept {
  unsigned group = bin / 8;
  unsigned bins = bins_in_[group] & (0xFFu << (bin % 8));
  if (bins == 0) {
    const std::uint32_t groups = group == 31 ? 0 : groups_ & (~std::uint32_t{0} << (group + 1));
    if (groups == 0) return kNone;
    group = static_cast<unsigned>(std::countr_zero(groups));
    bins = bins_in_[group];
  }
  return first_[group * 8 + static_cast<unsigned>(std::countr_zero(bins))];
}

void BinnedOffsets::absorb(Node into, Node gone) {
  nodes_[into].units += nodes_[gone].units;
  nodes_[into].above = nodes_[gone].above;
  if (nodes_[gone].above != kNone) nodes_[nodes_[gone].above].below = into;
  unused_.push_back(gone);
}

}  // namespace cistern::bench
