// HoleTree: the lowest address at which a hole of a given size begins, for FIRST_FIT.
//
// One leaf a region says how long the longest hole that begins there may be; a node says the greatest of its eight
// children. The leftmost leaf that promises enough is found by climbing from the lowest address and descending, eight
// comparisons a level.
//
// Leaves are upper bounds. A hole that appears raises its leaf at once, but one that disappears whole leaves the
// promise standing: most often the same block is freed again before anybody asks. A search that finds a promise broken
// walks that region anyway and lowers the leaf to the truth, so every removal is paid for at most once.
// (Lowering eagerly where a split moves a hole out of its region was measured: no gain, and a loss with many blocks.)
//
// Regions are 64 KiB: with 10,000 live blocks a pair costs a third of what it does with 2 MiB (0.75 against 2.5 us on a
// busy machine), because a broken promise is found out after a few blocks; taller trees cost 75 ns more where tensors
// are large and few.
//
// There is a tree for each readiness slot, all in one lazily backed table: slots never used cost nothing.
#pragma once

#include <array>
#include <cstdint>

#include "base/lazy_table.hpp"
#include "core/types.hpp"

namespace cistern::core {

class HoleTree {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  HoleTree() noexcept = default;
  static base::Result<HoleTree> create(std::uint64_t regions) noexcept;

  // A hole of `length` granules begins in `region`.
  void raise(ReadinessSlot slot, std::uint64_t region, std::uint32_t length) noexcept {
    for (unsigned level = 0; level < levels_; ++level, region >>= kFanShift) {
      std::uint32_t& bound = at(slot, level, region);
      if (bound >= length) return;
      bound = length;
    }
  }
  // The longest hole that begins in `region` is now known: `length`, 0 for none.
  void lower(ReadinessSlot slot, std::uint64_t region, std::uint32_t length) noexcept;
  // The lowest region >= `from` whose bound is at least `length` (> 0), or kNone.
  std::uint64_t find(ReadinessSlot slot, std::uint32_t length, std::uint64_t from) const noexcept;

  std::uint32_t bound(ReadinessSlot slot, std::uint64_t region) const noexcept { return at(slot, 0, region); }
  // Is every node on the way up from `region` the greatest of its children? For validation.
  bool path_is_sound(ReadinessSlot slot, std::uint64_t region) const noexcept;

 private:
  static constexpr unsigned kFanShift = 3;
  static constexpr unsigned kFan = 1U << kFanShift;
  static constexpr unsigned kMaxLevels = 10;

  std::uint32_t& at(ReadinessSlot slot, unsigned level, std::uint64_t index) noexcept {
    return bounds_[slot * slot_stride_ + level_begin_[level] + index];
  }
  const std::uint32_t& at(ReadinessSlot slot, unsigned level, std::uint64_t index) const noexcept {
    return bounds_[slot * slot_stride_ + level_begin_[level] + index];
  }
  std::uint64_t width(unsigned level) const noexcept { return level_begin_[level + 1] - level_begin_[level]; }
  // One bit a child of the family that `index` is in: is its bound at least `length`?
  unsigned promising(ReadinessSlot slot, unsigned level, std::uint64_t index, std::uint32_t length) const noexcept;
  std::uint32_t family_maximum(ReadinessSlot slot, unsigned level, std::uint64_t index) const noexcept;

  base::LazyTable<std::uint32_t> bounds_;
  std::array<std::uint64_t, kMaxLevels + 1> level_begin_{};  // and where the last one ends
  std::uint64_t slot_stride_ = 0;
  unsigned levels_ = 0;
};

}  // namespace cistern::core
