#include "core/address_table.hpp"

#include <bit>

namespace cistern::core {

base::Result<BitmapTree> BitmapTree::create(std::uint64_t bound) noexcept {
  BitmapTree tree;
  std::uint64_t total_words = 0;
  for (std::uint64_t bits = bound;;) {
    const std::uint64_t words = (bits + 63) >> 6;
    tree.level_begin_[tree.levels_++] = total_words;
    total_words += words;
    if (words == 1) break;
    bits = words;
  }
  auto words = base::LazyTable<std::uint64_t>::create(total_words);
  if (!words.is_ok()) return words.take_status();
  tree.words_ = words.take();
  return tree;
}

std::uint64_t BitmapTree::last_at_or_below(std::uint64_t number) const noexcept {
  // Up, until a word has a bit at or below the way here; then down along the highest bits.
  unsigned level = 0;
  std::uint64_t bits = words_[number >> 6] & (~std::uint64_t{0} >> (63 - (number & 63)));
  while (bits == 0) {
    if (++level == levels_) return kNone;
    number >>= 6;
    const std::uint64_t below = (std::uint64_t{1} << (number & 63)) - 1;
    bits = words_[level_begin_[level] + (number >> 6)] & below;
  }
  for (;;) {
    const auto bit = static_cast<std::uint64_t>(std::bit_width(bits) - 1);
    number = (number & ~std::uint64_t{63}) + bit;
    if (level == 0) return number;
    --level;
    bits = words_[level_begin_[level] + number];
    number <<= 6;
  }
}

base::Result<AddressTable> AddressTable::create(std::uint64_t granules) noexcept {
  const std::uint64_t regions = region_of(granules - 1) + 1;
  auto starts = SmallStarts::create(regions);
  if (!starts.is_ok()) return starts.take_status();
  auto first = base::LazyTable<std::atomic<std::uint64_t>>::create(regions);
  if (!first.is_ok()) return first.take_status();
  auto occupied = BitmapTree::create(regions);
  if (!occupied.is_ok()) return occupied.take_status();
  AddressTable table;
  table.granules_ = granules;
  table.starts_ = starts.take();
  table.first_ = first.take();
  table.occupied_ = occupied.take();
  return table;
}

BlockIndex AddressTable::containing(const BlockTable& blocks, std::uint64_t granule) const noexcept {
  std::uint64_t region = region_of(granule);
  BlockIndex block = first_in_region(region);
  if (block == kNoBlock || blocks[block].offset > granule) {
    if (region == 0) return kNoBlock;
    region = occupied_.last_at_or_below(region - 1);
    if (region == BitmapTree::kNone) return kNoBlock;
    block = first_in_region(region);
  }
  while (block != kNoBlock && blocks[block].end() <= granule) block = blocks[block].next;
  return block;
}

bool AddressTable::entry_matches(const BlockTable& blocks, BlockIndex block, bool exhaustive) const noexcept {
  const BlockNode& node = blocks[block];
  const bool live = node.state == BlockState::live;
  const std::uint64_t region = region_of(node.offset);
  if (!occupied_.contains(region)) return false;
  const bool is_first = !detail::starts_in(blocks, node.previous, region);
  if (is_first && !(entry(region) == Entry(block, node.offset, live))) return false;
  if (starts_.at(node.offset) != (live && !is_first ? block : kNoBlock)) return false;
  if (!exhaustive) return true;
  for (std::uint64_t granule = node.offset + 1; granule < node.end(); ++granule) {
    if (starts_.at(granule) != kNoBlock) return false;
    const std::uint64_t here = region_of(granule);
    if (here == region || detail::starts_in(blocks, node.next, here)) continue;
    if (first_in_region(here) != kNoBlock || occupied_.contains(here)) return false;
  }
  return true;
}

bool AddressTable::matches(const BlockTable& blocks, std::uint64_t exhaustive_granules) const noexcept {
  const bool exhaustive = granules_ <= exhaustive_granules;
  for (BlockIndex block = blocks[kNoBlock].next; block != kNoBlock; block = blocks[block].next) {
    if (!entry_matches(blocks, block, exhaustive)) return false;
    if (containing(blocks, blocks[block].offset) != block) return false;
    if (containing(blocks, blocks[block].end() - 1) != block) return false;
  }
  return true;
}

}  // namespace cistern::core
