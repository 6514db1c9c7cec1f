// BinnedPool: what the fastest open-source offset allocators do, written anew from their rules, with the least around
// it that makes it a thread-safe pool which frees by pointer: a hash table and a mutex.
//
// Holes lie in bins by size, eight bins for each power of two; two levels of bitmaps find the next bin that has any. A
// request is rounded up to a bin's size, so that whatever hole is first in that bin fits; the rest of it is split off.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "bench/contenders/contender.hpp"

namespace cistern::bench {

class BinnedOffsets {
 public:
  using Node = std::uint32_t;
  static constexpr Node kNone = ~Node{0};

  explicit BinnedOffsets(std::uint32_t units);
  Node allocate(std::uint32_t units);  // kNone: no hole in a bin that is surely large enough
  void free(Node node);
  std::uint32_t offset(Node node) const noexcept { return nodes_[node].offset; }
  std::uint32_t units(Node node) const noexcept { return nodes_[node].units; }

 private:
  static constexpr unsigned kBins = 256;

  struct Block {
    std::uint32_t offset = 0;
    std::uint32_t units = 0;
    Node below = kNone;  // neighbours by address
    Node above = kNone;
    Node previous = kNone;  // in its bin
    Node next = kNone;
    bool is_live = false;
  };

  static unsigned bin_that_holds(std::uint32_t units) noexcept;   // the largest bin of sizes up to this
  static unsigned bin_of_at_least(std::uint32_t units) noexcept;  // the smallest bin of sizes from this
  Node new_node();
  void put_into_bin(Node node);
  void take_from_bin(Node node);
  Node first_hole_from(unsigned bin) const noexcept;
  void absorb(Node into, Node gone);  // gone lies right above into

  std::vector<Block> nodes_;
  std::vector<Node> unused_;
  std::array<Node, kBins> first_;
  std::uint32_t groups_ = 0;                       // bit: that group of eight bins has any
  std::array<std::uint8_t, kBins / 8> bins_in_{};  // bit: that bin of the group has any
};

class BinnedPool {
 public:
  BinnedPool() : offsets_(kUnits) {}

  Place allocate(std::uint64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const BinnedOffsets::Node node = offsets_.allocate(static_cast<std::uint32_t>((bytes + kUnit - 1) / kUnit));
    if (node == BinnedOffsets::kNone) return 0;
    const Place place = kUnit * (std::uint64_t{offsets_.offset(node)} + 1);
    live_.emplace(place, node);
    return place;
  }
  void free(Place place) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto block = live_.find(place);
    if (block == live_.end()) return;
    offsets_.free(block->second);
    live_.erase(block);
  }
  std::uint64_t end_of(Place place) const { return place - kUnit + kUnit * offsets_.units(live_.at(place)); }
  std::uint64_t reserved_bytes() const noexcept { return 0; }

 private:
  static constexpr std::uint64_t kUnit = 512;
  static constexpr std::uint32_t kUnits = 0x7FFF'FFFF;  // a terabyte

  std::mutex mutex_;
  BinnedOffsets offsets_;
  std::unordered_map<Place, BinnedOffsets::Node> live_;
};

}  // namespace cistern::bench
