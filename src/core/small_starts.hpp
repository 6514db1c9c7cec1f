// SmallStarts: where live blocks start that are not the first of their region.
//
// Regions are 64 KiB, so these are small blocks, or large ones behind small ones. A region that has any gets a leaf,
// with a place for each of its 128 granules; one that has none any more gives it back for others to use. So the memory
// follows the number of such blocks, not the addresses they are spread over (a plain table by granule took up to 4 KiB
// for one block, and a page fault).
//
// set() and clear() need the lock. at() may run at any time from any thread: a place says also which region it speaks
// of, so a leaf that has moved on while somebody looks is recognised.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/lazy_table.hpp"
#include "core/types.hpp"

namespace cistern::core {

inline constexpr unsigned kRegionShift = 7;  // 128 granules, 64 KiB
inline constexpr std::uint64_t kRegionGranules = std::uint64_t{1} << kRegionShift;

constexpr std::uint64_t region_of(std::uint64_t granule) noexcept { return granule >> kRegionShift; }

class SmallStarts {
 public:
  SmallStarts() noexcept = default;
  static base::Result<SmallStarts> create(std::uint64_t regions) noexcept;
  // Memory for what `regions` regions from `first_region` on need, and for a few leaves, now.
  void back(std::uint64_t first_region, std::uint64_t regions) noexcept;

  // The block that set() named, or kNoBlock.
  BlockIndex at(std::uint64_t granule) const noexcept {
    const std::uint64_t region = region_of(granule);
    const std::uint32_t leaf = leaf_of_[region].load(std::memory_order_acquire);
    if (leaf == kNoLeaf) return kNoBlock;
    const std::uint64_t word = leaves_[leaf][granule & (kRegionGranules - 1)].load(std::memory_order_acquire);
    return word >> 32 == region ? static_cast<BlockIndex>(word) : kNoBlock;
  }
  // `granule` has no block; `block` is not kNoBlock.
  void set(std::uint64_t granule, BlockIndex block) noexcept {
    const std::uint64_t region = region_of(granule);
    std::uint32_t leaf = leaf_of_[region].load(std::memory_order_relaxed);
    if (leaf == kNoLeaf) leaf = take_leaf();
    ++info_[leaf].used;
    leaves_[leaf][granule & (kRegionGranules - 1)].store((region << 32) | block, std::memory_order_release);
    leaf_of_[region].store(leaf, std::memory_order_release);
  }
  // `granule` has a block.
  void clear(std::uint64_t granule) noexcept {
    const std::uint64_t region = region_of(granule);
    const std::uint32_t leaf = leaf_of_[region].load(std::memory_order_relaxed);
    leaves_[leaf][granule & (kRegionGranules - 1)].store(0, std::memory_order_release);
    if (--info_[leaf].used != 0) return;
    leaf_of_[region].store(kNoLeaf, std::memory_order_release);
    info_[leaf].next_spare = spare_;
    spare_ = leaf;
  }

  // Leaves in use; for tests.
  std::uint64_t leaves() const noexcept;

 private:
  static constexpr std::uint32_t kNoLeaf = 0;
  using Leaf = std::array<std::atomic<std::uint64_t>, kRegionGranules>;  // region << 32 | block; 0: none starts here

  struct LeafInfo {
    std::uint32_t used;        // places that are not 0
    std::uint32_t next_spare;  // in the list of leaves given back
  };

  std::uint32_t take_leaf() noexcept {
    const std::uint32_t leaf = spare_;
    if (leaf == kNoLeaf) return next_fresh_++;
    spare_ = info_[leaf].next_spare;
    return leaf;
  }

  base::LazyTable<std::atomic<std::uint32_t>> leaf_of_;  // by region
  base::LazyTable<Leaf> leaves_;
  base::LazyTable<LeafInfo> info_;
  std::uint32_t spare_ = kNoLeaf;
  std::uint32_t next_fresh_ = 1;
};

}  // namespace cistern::core
