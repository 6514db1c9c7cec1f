// A magazine against a plain list: which block a size gets, and which go first when room is made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "pool/magazine.hpp"

namespace cistern::pool {
namespace {

constexpr std::uint64_t kMostBytes = 64 * core::kGranuleBytes * 40;

// The oldest first.
using Blocks = std::vector<std::pair<std::uint32_t, core::BlockIndex>>;

std::uint64_t bytes_of(const Blocks& blocks) {
  std::uint64_t bytes = 0;
  for (const auto& block : blocks) bytes += std::uint64_t{block.first} << core::kGranuleShift;
  return bytes;
}

core::BlockIndex take_from(Blocks* blocks, std::uint32_t granules) {
  const auto found = std::find_if(blocks->rbegin(), blocks->rend(), [&](const auto& b) { return b.first == granules; });
  if (found == blocks->rend()) return core::kNoBlock;
  const core::BlockIndex block = found->second;
  blocks->erase(std::next(found).base());
  return block;
}

// Half of them, and more while `bytes` would not fit.
std::vector<core::BlockIndex> make_room_in(Blocks* blocks, std::uint64_t bytes) {
  std::vector<core::BlockIndex> gone;
  const std::size_t half = (blocks->size() + 1) / 2;
  while (!blocks->empty() && (gone.size() < half || bytes_of(*blocks) + bytes > kMostBytes)) {
    gone.push_back(blocks->front().second);
    blocks->erase(blocks->begin());
  }
  return gone;
}

TEST(MagazineOrder, IsThatOfAPlainList) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t sizes = seed == 1 ? 1 : 30 * seed;  // one size, and more than there are kinds
    Magazine magazine(1, kMostBytes);
    Blocks model;
    for (core::BlockIndex step = 1; step <= 20'000; ++step) {
      const std::uint32_t granules = 1 + static_cast<std::uint32_t>(random() % sizes);
      const std::uint64_t bytes = std::uint64_t{granules} << core::kGranuleShift;
      if (random() % 2 == 0) {
        ASSERT_EQ(magazine.take(granules), take_from(&model, granules)) << step;
      } else {
        std::vector<core::BlockIndex> gone;
        const auto note = [&gone](core::BlockIndex block) { gone.push_back(block); };
        ASSERT_EQ(magazine.has_room(bytes), model.size() < 64 && bytes_of(model) + bytes <= kMostBytes);
        if (!magazine.has_room(bytes)) {
          magazine.make_room(bytes, note);
          ASSERT_EQ(gone, make_room_in(&model, bytes)) << step;
        }
        magazine.put(granules, step);
        model.emplace_back(granules, step);
      }
      ASSERT_EQ(static_cast<std::uint64_t>(magazine.cached_bytes.get()), bytes_of(model));
      ASSERT_EQ(static_cast<std::size_t>(magazine.cached_blocks.get()), model.size());
    }
    std::vector<core::BlockIndex> left;
    magazine.drain([&left](core::BlockIndex block) { left.push_back(block); });
    std::vector<core::BlockIndex> wanted;
    for (const auto& block : model) wanted.push_back(block.second);
    EXPECT_EQ(left, wanted) << "the oldest first";
    EXPECT_EQ(magazine.cached_blocks.get(), 0);
    EXPECT_EQ(magazine.take(1), core::kNoBlock);
  }
}

}  // namespace
}  // namespace cistern::pool
