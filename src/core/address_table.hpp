// AddressTable: from an offset to its block.
//
// Two questions, two tables. "Which live block starts exactly here?" is asked at every free, by any thread without a
// lock: one atomic entry a granule, lazily backed, holds the index of the live block that starts there. "Which block
// contains this offset?" is asked on slow paths under the lock: the range is divided into regions of 64 KiB, each
// knowing the first block that starts in it; a bitmap tree finds the nearest region at or below the offset where a
// block starts, and a walk of at most the 128 blocks of that region finds the block.
//
// A region's entry changes only when its first block changes, and the neighbours by address tell that: a block is the
// first of its region exactly if its predecessor starts in another one. So small blocks come and go without touching
// this table.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/lazy_table.hpp"
#include "core/block_table.hpp"
#include "core/types.hpp"

namespace cistern::core {

inline constexpr unsigned kRegionShift = 7;  // 128 granules, 64 KiB

constexpr std::uint64_t region_of(std::uint64_t granule) noexcept { return granule >> kRegionShift; }

// A set of numbers below a bound that answers "the greatest member not above n" in a few steps: a tree of bitmaps in
// which a bit says that the 64 bits below it are not all zero.
class BitmapTree {
 public:
  BitmapTree() noexcept = default;
  static base::Result<BitmapTree> create(std::uint64_t bound) noexcept;

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  void insert(std::uint64_t number) noexcept {
    for (unsigned level = 0; level < levels_; ++level) {
      std::uint64_t& word = words_[level_begin_[level] + (number >> 6)];
      const bool was_empty = word == 0;
      word |= std::uint64_t{1} << (number & 63);
      if (!was_empty) return;
      number >>= 6;
    }
  }
  void erase(std::uint64_t number) noexcept {
    for (unsigned level = 0; level < levels_; ++level) {
      std::uint64_t& word = words_[level_begin_[level] + (number >> 6)];
      word &= ~(std::uint64_t{1} << (number & 63));
      if (word != 0) return;
      number >>= 6;
    }
  }
  bool contains(std::uint64_t number) const noexcept { return ((words_[number >> 6] >> (number & 63)) & 1) != 0; }
  // The greatest member <= number, or kNone.
  std::uint64_t last_at_or_below(std::uint64_t number) const noexcept;

 private:
  static constexpr unsigned kMaxLevels = 6;
  base::LazyTable<std::uint64_t> words_;
  std::array<std::uint64_t, kMaxLevels> level_begin_{};
  unsigned levels_ = 0;
};

class AddressTable {
 public:
  AddressTable() noexcept = default;
  static base::Result<AddressTable> create(std::uint64_t granules) noexcept;

  // --- Exact starts of live blocks ----------------------------------------------------------------------------------
  BlockIndex live_at(std::uint64_t granule) const noexcept { return starts_[granule].load(std::memory_order_acquire); }
  void set_live(std::uint64_t granule, BlockIndex block) noexcept {
    starts_[granule].store(block, std::memory_order_release);
  }
  void clear_live(std::uint64_t granule) noexcept { starts_[granule].store(kNoBlock, std::memory_order_release); }

  // --- Regions. Every function is told of a change to the blocks by address -----------------------------------------
  // `block` has been linked.
  void block_began(const BlockTable& blocks, BlockIndex block) noexcept;
  // `block` is about to be unlinked and its addresses joined to its predecessor.
  void block_ends(const BlockTable& blocks, BlockIndex block) noexcept;
  // `front` has been linked before `rest` and has taken the first part of its addresses.
  void front_split(const BlockTable& blocks, BlockIndex front, BlockIndex rest) noexcept;
  // `front` is about to be unlinked and its addresses joined to its successor, `rest`.
  void front_joins(const BlockTable& blocks, BlockIndex front, BlockIndex rest) noexcept;

  BlockIndex first_in_region(std::uint64_t region) const noexcept { return first_[region]; }
  BlockIndex containing(const BlockTable& blocks, std::uint64_t granule) const noexcept;

  // Does the table say what the blocks say? For validation; checks every entry of arenas of up to
  // `exhaustive_granules`, and only those at starts of blocks in larger ones.
  bool matches(const BlockTable& blocks, std::uint64_t exhaustive_granules) const noexcept;

 private:
  bool entry_matches(const BlockTable& blocks, BlockIndex block, bool exhaustive) const noexcept;

  base::LazyTable<std::atomic<BlockIndex>> starts_;
  base::LazyTable<BlockIndex> first_;
  BitmapTree occupied_;  // the regions in which a block starts
};

// --- Inline, because every split and merge passes here --------------------------------------------------------------

namespace detail {
inline bool starts_in(const BlockTable& blocks, BlockIndex block, std::uint64_t region) noexcept {
  return block != kNoBlock && region_of(blocks[block].offset) == region;
}
}  // namespace detail

inline void AddressTable::block_began(const BlockTable& blocks, BlockIndex block) noexcept {
  const BlockNode& node = blocks[block];
  const std::uint64_t region = region_of(node.offset);
  if (detail::starts_in(blocks, node.previous, region)) return;
  first_[region] = block;
  if (!detail::starts_in(blocks, node.next, region)) occupied_.insert(region);
}

inline void AddressTable::block_ends(const BlockTable& blocks, BlockIndex block) noexcept {
  const BlockNode& node = blocks[block];
  const std::uint64_t region = region_of(node.offset);
  if (detail::starts_in(blocks, node.previous, region)) return;
  if (detail::starts_in(blocks, node.next, region)) {
    first_[region] = node.next;
  } else {
    first_[region] = kNoBlock;
    occupied_.erase(region);
  }
}

inline void AddressTable::front_split(const BlockTable& blocks, BlockIndex front, BlockIndex rest) noexcept {
  const BlockNode& node = blocks[front];
  const std::uint64_t region = region_of(node.offset);
  if (!detail::starts_in(blocks, node.previous, region)) first_[region] = front;
  if (region_of(blocks[rest].offset) != region) block_began(blocks, rest);
}

inline void AddressTable::front_joins(const BlockTable& blocks, BlockIndex front, BlockIndex rest) noexcept {
  const BlockNode& node = blocks[front];
  const std::uint64_t region = region_of(node.offset);
  if (region_of(blocks[rest].offset) != region) block_ends(blocks, rest);
  if (!detail::starts_in(blocks, node.previous, region)) first_[region] = rest;
}

}  // namespace cistern::core
