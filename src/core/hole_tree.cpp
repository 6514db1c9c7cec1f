#include "core/hole_tree.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/bits.hpp"

namespace cistern::core {

base::Result<HoleTree> HoleTree::create(std::uint64_t regions) noexcept {
  HoleTree tree;
  std::uint64_t total = 0;
  for (std::uint64_t width = regions;;) {
    tree.level_begin_[tree.levels_++] = total;
    total += base::round_up(width, kFan);  // whole families; the missing members promise nothing
    if (width <= kFan) break;
    width = (width + kFan - 1) >> kFanShift;
  }
  tree.level_begin_[tree.levels_] = total;
  tree.slot_stride_ = total;
  auto bounds = base::LazyTable<std::uint32_t>::create(total * kMaxReadinessSlots);
  if (!bounds.is_ok()) return bounds.take_status();
  tree.bounds_ = bounds.take();
  return tree;
}

unsigned HoleTree::promising(ReadinessSlot slot, unsigned level, std::uint64_t index,
                             std::uint32_t length) const noexcept {
  const std::uint32_t* family = &at(slot, level, base::round_down(index, kFan));
  static constexpr std::uint32_t kBits[kFan] = {1, 2, 4, 8, 16, 32, 64, 128};
  std::uint32_t members = 0;  // in a form that compilers turn into two vector comparisons
  for (unsigned member = 0; member < kFan; ++member) members |= family[member] >= length ? kBits[member] : 0;
  return members;
}

std::uint32_t HoleTree::family_maximum(ReadinessSlot slot, unsigned level, std::uint64_t index) const noexcept {
  const std::uint32_t* family = &at(slot, level, base::round_down(index, kFan));
  std::uint32_t maximum = 0;
  for (unsigned member = 0; member < kFan; ++member) maximum = std::max(maximum, family[member]);
  return maximum;
}

void HoleTree::lower(ReadinessSlot slot, std::uint64_t region, std::uint32_t length) noexcept {
  std::uint32_t before = std::exchange(at(slot, 0, region), length);
  for (unsigned level = 1; level < levels_; ++level) {
    std::uint32_t& bound = at(slot, level, region >> kFanShift);
    if (bound != before) return;  // another child was the greatest, and still is
    const std::uint32_t maximum = family_maximum(slot, level - 1, region);
    if (bound == maximum) return;
    before = std::exchange(bound, maximum);
    region >>= kFanShift;
  }
}

std::uint64_t HoleTree::find(ReadinessSlot slot, std::uint32_t length, std::uint64_t from) const noexcept {
  // Up, over the rest of a family at a time, until one keeps a promise. Everything to the left of `index` on its level
  // is excluded.
  unsigned level = 0;
  std::uint64_t index = from;
  for (;;) {
    if (level == levels_ || index >= width(level)) return kNone;
    const unsigned at_or_after = ~0U << (index & (kFan - 1));
    const unsigned members = promising(slot, level, index, length) & at_or_after;
    if (members != 0) {
      index = base::round_down(index, kFan) + static_cast<unsigned>(std::countr_zero(members));
      break;
    }
    index = (index >> kFanShift) + 1;
    ++level;
  }
  // Down, to the leftmost promise.
  while (level > 0) {
    --level;
    index <<= kFanShift;
    index += static_cast<unsigned>(std::countr_zero(promising(slot, level, index, length)));
  }
  return index;
}

bool HoleTree::path_is_sound(ReadinessSlot slot, std::uint64_t region) const noexcept {
  for (unsigned level = 1; level < levels_; ++level) {
    const std::uint32_t maximum = family_maximum(slot, level - 1, region);
    region >>= kFanShift;
    if (at(slot, level, region) != maximum) return false;
  }
  return true;
}

}  // namespace cistern::core
