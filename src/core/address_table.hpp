// AddressTable: from an offset to its block.
//
// Two questions. "Which live block starts exactly here?" is asked at every free, by any thread without a lock. "Which
// block contains this offset?" is asked on slow paths under the lock.
//
// The range is divided into regions of 64 KiB. Each has one atomic entry: the first block that starts in it, where, and
// whether it is live. Large blocks are nearly always the first of their region, so this dense table (8 bytes for
// 64 KiB) answers the first question for them. Only live blocks that are not the first of their region are in a second
// table (small_starts.hpp). (With a table by granule for all, a fresh pool spent most of a request on its page faults:
// one for each 512 KiB of addresses.)
//
// For the second question a bitmap tree finds the nearest region at or below the offset where a block starts, and a
// walk of at most the 128 blocks of that region finds the block.
//
// A region's entry changes only when its first block changes or that block's life does, and the neighbours by address
// tell that: a block is the first of its region exactly if its predecessor starts in another one. A live block that
// stops being the first moves to the second table before the entry changes, and out of it after it is first again, so
// that whoever looks without a lock finds it at any time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/lazy_table.hpp"
#include "core/block_table.hpp"
#include "core/small_starts.hpp"
#include "core/types.hpp"

namespace cistern::core {

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
  // Memory for the entries of so many regions now.
  void back(std::uint64_t first_region, std::uint64_t regions) noexcept {
    first_.back(first_region, regions);
    starts_.back(first_region, regions);
  }

  // --- Exact starts of live blocks ----------------------------------------------------------------------------------
  // The live block that starts at `granule`, or kNoBlock. Any thread, at any time.
  BlockIndex live_at(std::uint64_t granule) const noexcept;
  // `block`, which starts at `granule`, is live from now on, or not any more.
  void set_live(std::uint64_t granule, BlockIndex block) noexcept;
  void clear_live(std::uint64_t granule, BlockIndex block) noexcept;

  // --- Regions. Every function is told of a change to the blocks by address -----------------------------------------
  // `block`, which is not live, has been linked.
  void block_began(const BlockTable& blocks, BlockIndex block) noexcept;
  // `block` is about to be unlinked and its addresses joined to its predecessor.
  void block_ends(const BlockTable& blocks, BlockIndex block) noexcept;
  // `front` has been linked before `rest` and has taken the first part of its addresses; it is live, as `live` says.
  void front_split(const BlockTable& blocks, BlockIndex front, BlockIndex rest, bool live = false) noexcept;
  // `front` is about to be unlinked and its addresses joined to its successor, `rest`.
  void front_joins(const BlockTable& blocks, BlockIndex front, BlockIndex rest) noexcept;

  BlockIndex first_in_region(std::uint64_t region) const noexcept { return entry(region).block(); }
  BlockIndex containing(const BlockTable& blocks, std::uint64_t granule) const noexcept;

  // Does the table say what the blocks say? For validation; checks every entry of arenas of up to
  // `exhaustive_granules`, and only those at starts of blocks in larger ones.
  bool matches(const BlockTable& blocks, std::uint64_t exhaustive_granules) const noexcept;

 private:
  // The first block of a region in one word: its index, the granule of the region where it starts, whether it is live.
  // All zeroes: no block starts here.
  class Entry {
   public:
    Entry() noexcept = default;
    explicit Entry(std::uint64_t word) noexcept : word_(word) {}
    Entry(BlockIndex block, std::uint64_t granule, bool live) noexcept
        : word_(block | ((granule & (kRegionGranules - 1)) << 32) | (std::uint64_t{live} << kLiveBit)) {}

    std::uint64_t word() const noexcept { return word_; }
    BlockIndex block() const noexcept { return static_cast<BlockIndex>(word_); }
    std::uint64_t position() const noexcept { return (word_ >> 32) & (kRegionGranules - 1); }
    bool live() const noexcept { return (word_ >> kLiveBit) != 0; }
    bool operator==(const Entry& other) const noexcept { return word_ == other.word_; }

   private:
    static constexpr unsigned kLiveBit = 63;
    std::uint64_t word_ = 0;
  };

  Entry entry(std::uint64_t region) const noexcept { return Entry(first_[region].load(std::memory_order_acquire)); }
  void set_entry(std::uint64_t region, Entry entry) noexcept {
    first_[region].store(entry.word(), std::memory_order_release);
  }
  // `block`, of whatever state, becomes the first of its region.
  void make_first(const BlockTable& blocks, std::uint64_t region, BlockIndex block) noexcept;
  bool entry_matches(const BlockTable& blocks, BlockIndex block, bool exhaustive) const noexcept;

  base::LazyTable<std::atomic<std::uint64_t>> first_;  // by region: an Entry
  SmallStarts starts_;                                 // live blocks that are not the first
  std::uint64_t granules_ = 0;
  BitmapTree occupied_;  // the regions in which a block starts
};

// --- Inline, because every split and merge passes here --------------------------------------------------------------

namespace detail {
inline bool starts_in(const BlockTable& blocks, BlockIndex block, std::uint64_t region) noexcept {
  return block != kNoBlock && region_of(blocks[block].offset) == region;
}
}  // namespace detail

inline BlockIndex AddressTable::live_at(std::uint64_t granule) const noexcept {
  const std::uint64_t position = granule & (kRegionGranules - 1);
  Entry first = entry(region_of(granule));
  for (;;) {
    if (first.block() == kNoBlock || position < first.position()) return kNoBlock;
    if (position == first.position()) return first.live() ? first.block() : kNoBlock;
    if (const BlockIndex block = starts_.at(granule); block != kNoBlock) return block;
    // The block may have become the first of its region between the two looks.
    const Entry again = entry(region_of(granule));
    if (again == first) return kNoBlock;
    first = again;
  }
}

inline void AddressTable::set_live(std::uint64_t granule, BlockIndex block) noexcept {
  const std::uint64_t region = region_of(granule);
  if (entry(region).block() == block) {
    set_entry(region, Entry(block, granule, true));
  } else {
    starts_.set(granule, block);
  }
}

inline void AddressTable::clear_live(std::uint64_t granule, BlockIndex block) noexcept {
  const std::uint64_t region = region_of(granule);
  if (entry(region).block() == block) {
    set_entry(region, Entry(block, granule, false));
  } else {
    starts_.clear(granule);
  }
}

inline void AddressTable::make_first(const BlockTable& blocks, std::uint64_t region, BlockIndex block) noexcept {
  const Entry before = entry(region);
  if (before.live()) starts_.set((region << kRegionShift) + before.position(), before.block());
  const BlockNode& node = blocks[block];
  const bool live = node.state == BlockState::live;
  set_entry(region, Entry(block, node.offset, live));
  if (live) starts_.clear(node.offset);
}

inline void AddressTable::block_began(const BlockTable& blocks, BlockIndex block) noexcept {
  const BlockNode& node = blocks[block];
  const std::uint64_t region = region_of(node.offset);
  if (detail::starts_in(blocks, node.previous, region)) return;
  make_first(blocks, region, block);
  if (!detail::starts_in(blocks, node.next, region)) occupied_.insert(region);
}

inline void AddressTable::block_ends(const BlockTable& blocks, BlockIndex block) noexcept {
  const BlockNode& node = blocks[block];
  const std::uint64_t region = region_of(node.offset);
  if (detail::starts_in(blocks, node.previous, region)) return;
  if (detail::starts_in(blocks, node.next, region)) {
    make_first(blocks, region, node.next);
  } else {
    set_entry(region, Entry());
    occupied_.erase(region);
  }
}

inline void AddressTable::front_split(const BlockTable& blocks, BlockIndex front, BlockIndex rest, bool live) noexcept {
  const BlockNode& node = blocks[front];
  const std::uint64_t region = region_of(node.offset);
  if (!detail::starts_in(blocks, node.previous, region)) {
    set_entry(region, Entry(front, node.offset, live));
  } else if (live) {
    starts_.set(node.offset, front);
  }
  if (region_of(blocks[rest].offset) != region) block_began(blocks, rest);
}

inline void AddressTable::front_joins(const BlockTable& blocks, BlockIndex front, BlockIndex rest) noexcept {
  const BlockNode& node = blocks[front];
  const std::uint64_t region = region_of(node.offset);
  if (region_of(blocks[rest].offset) != region) block_ends(blocks, rest);
  // `rest` begins where `front` did from now on.
  if (!detail::starts_in(blocks, node.previous, region)) set_entry(region, Entry(rest, node.offset, false));
}

}  // namespace cistern::core
