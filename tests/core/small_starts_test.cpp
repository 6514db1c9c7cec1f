// Starts of small blocks: against a map, memory that follows the blocks, and looks while leaves change hands.
#include "core/small_starts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

namespace cistern::core {
namespace {

TEST(SmallStarts, SaysWhatAMapSays) {
  constexpr std::uint64_t kGranules = 40 * kRegionGranules;
  SmallStarts starts = SmallStarts::create(40).take();
  std::map<std::uint64_t, BlockIndex> model;
  std::mt19937_64 random(7);
  for (BlockIndex step = 1; step < 20'000; ++step) {
    const std::uint64_t granule = random() % kGranules;
    if (model.erase(granule) != 0) {
      starts.clear(granule);
    } else if (model.size() < 500) {
      starts.set(granule, step);
      model[granule] = step;
    }
    const std::uint64_t asked = random() % kGranules;
    const auto found = model.find(asked);
    ASSERT_EQ(starts.at(asked), found == model.end() ? kNoBlock : found->second);
  }
  for (const auto& [granule, block] : model) EXPECT_EQ(starts.at(granule), block);
}

TEST(SmallStarts, LeavesFollowTheBlocksNotTheAddresses) {
  constexpr std::uint64_t kRegions = 1'000'000;
  SmallStarts starts = SmallStarts::create(kRegions).take();
  for (std::uint64_t region = 0; region < kRegions; ++region) {
    starts.set(region * kRegionGranules + 5, 1);
    ASSERT_EQ(starts.leaves(), 1U);
    starts.clear(region * kRegionGranules + 5);
    ASSERT_EQ(starts.leaves(), 0U);
  }
  starts.set(5, 1);
  starts.set(6, 2);
  starts.set(kRegionGranules, 3);
  EXPECT_EQ(starts.leaves(), 2U);
  starts.clear(5);
  EXPECT_EQ(starts.leaves(), 2U);
  EXPECT_EQ(starts.at(6), 2U);
}

// One leaf goes from region to region, always with a block at the same place. Who looks at one region sees that
// region's block or none, never another's.
TEST(SmallStarts, ALeafThatMovesOnIsRecognised) {
  constexpr std::uint64_t kRegions = 64;
  SmallStarts starts = SmallStarts::create(kRegions).take();
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> looks{0};
  std::uint64_t wrong = 0;
  std::thread reader([&] {
    while (!over.load(std::memory_order_relaxed)) {
      const std::uint64_t region = looks.fetch_add(1, std::memory_order_relaxed) % kRegions;
      const BlockIndex block = starts.at(region * kRegionGranules + 9);
      if (block != kNoBlock && block != region + 1) ++wrong;
    }
  });
  for (std::uint64_t round = 0; round < 200'000 || looks.load() < 10'000; ++round) {
    const std::uint64_t region = round % kRegions;
    starts.set(region * kRegionGranules + 9, static_cast<BlockIndex>(region + 1));
    starts.clear(region * kRegionGranules + 9);
  }
  over.store(true);
  reader.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace cistern::core
