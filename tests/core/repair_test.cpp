// Repair plans in arenas small enough to draw. Random arenas are checked against a search of every window in
// suballocator_property_test.cpp.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "core/suballocator.hpp"

namespace cistern::core {
namespace {

constexpr std::uint64_t kPage = 4096;  // 8 granules

// One letter a half page: L live, F free, V vacant (whole pages only).
class Drawn {
 public:
  explicit Drawn(std::string_view halves) {
    SuballocatorConfig config;
    config.range_bytes = halves.size() * kPage / 2;
    config.page_bytes = kPage;
    config.starts_filled = true;
    config.policy = FitPolicy::first_fit;
    arena_ = Suballocator::create(config).take();
    std::vector<BlockIndex> blocks;
    for (std::size_t i = 0; i < halves.size(); ++i) blocks.push_back(arena_->allocate(kPage / 2, 512));
    for (std::size_t i = 0; i < halves.size(); ++i) {
      if (halves[i] != 'L') release(blocks[i]);
    }
    for (std::size_t i = 0; i < halves.size(); i += 2) {
      if (halves[i] == 'V') vacate({i * kPage / 2, kPage});
    }
    EXPECT_EQ(arena_->validate(), "");
  }
  Suballocator* operator->() { return arena_.get(); }

 private:
  void release(BlockIndex block) { EXPECT_TRUE(arena_->release(block)); }
  void vacate(Range range) { EXPECT_TRUE(arena_->vacate(range)); }

  std::unique_ptr<Suballocator> arena_;
};

Range pages(std::uint64_t first, std::uint64_t count = 1) { return {first * kPage, count * kPage}; }

TEST(Repair, ARequestThatFitsNeedsNothing) {
  Drawn arena("VVFFLLFFFF");
  RepairPlan plan;
  ASSERT_TRUE(arena->plan_repair(kPage, 512, {}, &plan));
  EXPECT_EQ(plan.fill_pages, 0U);
  EXPECT_EQ(plan.target, pages(1));
  EXPECT_EQ(plan.keeps, std::vector<Range>{pages(1)});
  EXPECT_TRUE(plan.fills.empty());
  EXPECT_TRUE(plan.donors.empty());
}

TEST(Repair, GrowthAtTheEndTakesOnlyTheMissingPages) {
  Drawn arena("LLLFVVVVVVVV");  // half a page free, then vacant
  RepairPlan plan;
  RepairLimits growth;
  growth.use_donors = false;
  ASSERT_TRUE(arena->plan_repair(2 * kPage + kPage / 2, 512, growth, &plan));
  EXPECT_EQ(plan.target, (Range{kPage + kPage / 2, 2 * kPage + kPage / 2}));
  EXPECT_EQ(plan.keeps, (std::vector<Range>{{kPage + kPage / 2, kPage / 2}}));
  EXPECT_EQ(plan.fills, std::vector<Range>{pages(2, 2)});
  EXPECT_EQ(plan.fill_pages, 2U);
  EXPECT_EQ(plan.new_pages, 2U);
  EXPECT_TRUE(plan.donors.empty());
}

TEST(Repair, TheTargetEndsWithinItsLastPage) {
  Drawn arena("LLVVVVVV");
  RepairPlan plan;
  ASSERT_TRUE(arena->plan_repair(kPage + 1, 512, {}, &plan));
  EXPECT_EQ(plan.target, (Range{kPage, kPage + 512}));
  EXPECT_EQ(plan.fills, std::vector<Range>{pages(1, 2)});
}

TEST(Repair, FewestPagesWinThenTheLowestAddress) {
  // Two windows of three pages need one page; one needs two and comes first.
  Drawn arena("VVVVFFLLFFVVFFLLFFVVFFLL");
  RepairPlan plan;
  ASSERT_TRUE(arena->plan_repair(3 * kPage, 512, {}, &plan));
  EXPECT_EQ(plan.target, pages(4, 3));
  EXPECT_EQ(plan.fills, std::vector<Range>{pages(5)});
  EXPECT_EQ(plan.keeps, (std::vector<Range>{pages(4), pages(6)}));
}

TEST(Repair, WindowsReachOverSeveralVacantBlocks) {
  Drawn arena("LLFFVVFFVVFFLL");
  RepairPlan plan;
  ASSERT_TRUE(arena->plan_repair(5 * kPage, 512, {}, &plan));
  EXPECT_EQ(plan.target, pages(1, 5));
  EXPECT_EQ(plan.fills, (std::vector<Range>{pages(2), pages(4)}));
  EXPECT_EQ(plan.keeps, (std::vector<Range>{pages(1), pages(3), pages(5)}));
  EXPECT_EQ(plan.new_pages, 2U) << "all free pages are in the window";
  EXPECT_FALSE(arena->plan_repair(6 * kPage, 512, {}, &plan));
}

TEST(Repair, DonorsAreTheSmallestHolesAndOnlyAsManyAsNeeded) {
  // Holes of 3, 1 and 2 pages, and a vacant stretch for two.
  Drawn arena("FFFFFFLLFFLLFFFFLLVVVV");
  RepairPlan plan;
  RepairLimits none_new;
  none_new.max_new_pages = 0;
  EXPECT_FALSE(arena->plan_repair(4 * kPage, 512, none_new, &plan)) << "no window of four";
  Drawn wider("FFFFFFLLFFLLFFFFLLVVVVVVVVVV");
  ASSERT_TRUE(wider->plan_repair(4 * kPage, 512, none_new, &plan));
  EXPECT_EQ(plan.target, pages(9, 4));
  EXPECT_EQ(plan.donor_pages, 4U);
  EXPECT_EQ(plan.new_pages, 0U);
  // The hole of one page, the hole of two, and one page of the hole of three, from its high end.
  EXPECT_EQ(plan.donors, (std::vector<Range>{pages(4), pages(6, 2), pages(2)}));
}

TEST(Repair, DonorPagesJoinAVacantNeighbour) {
  // The hole of three pages begins beside vacant pages: what it gives is taken there.
  Drawn arena("LLVVFFFFFFLLVVVVVVVVVV");
  RepairPlan plan;
  ASSERT_TRUE(arena->plan_repair(5 * kPage, 512, {}, &plan));
  EXPECT_EQ(plan.target, pages(6, 5));
  EXPECT_EQ(plan.donors, std::vector<Range>{pages(2, 3)});
  ASSERT_TRUE(arena->plan_repair(4 * kPage, 512, {}, &plan));
  EXPECT_EQ(plan.target, pages(1, 4)) << "one page beside the hole is cheaper than four elsewhere";
  Drawn apart("LLVVFFFFFFLLFFVVVVLL");
  ASSERT_TRUE(apart->plan_repair(3 * kPage + 512, 512, {}, &plan));
  EXPECT_EQ(plan.target, (Range{kPage, 3 * kPage + 512}));
}

TEST(Repair, PartsOfTheTargetsOwnHoleOutsideItAreDonors) {
  // Aligned by four pages, the window leaves the low pages of its hole.
  Drawn arena("FFFFFFFFFFFFVVVVLLLL");
  RepairPlan plan;
  RepairLimits none_new;
  none_new.max_new_pages = 0;
  ASSERT_TRUE(arena->plan_repair(4 * kPage, 4 * kPage, none_new, &plan));
  EXPECT_EQ(plan.fill_pages, 0U);
  ASSERT_TRUE(arena->plan_repair(7 * kPage, 512, none_new, &plan) == false) << "eight pages, six with memory";
  ASSERT_NE(arena->allocate(kPage, 512), kNoBlock);  // page 0: no aligned hole of four is left
  ASSERT_NE(arena->begin_move({kPage * 3, 512}), kNoBlock);
  ASSERT_TRUE(arena->plan_repair(4 * kPage, 4 * kPage, none_new, &plan));
  EXPECT_EQ(plan.target, pages(4, 4));
  EXPECT_EQ(plan.fills, std::vector<Range>{pages(6, 2)});
  EXPECT_EQ(plan.donors, std::vector<Range>{pages(1, 2)});
}

TEST(Repair, PinnedPagesAreNoDonorsButMayBeKept) {
  Drawn arena("FFLLVVVVLLFFLL");
  RepairPlan plan;
  ASSERT_TRUE(arena->pin_range({0, 1}));
  ASSERT_TRUE(arena->plan_repair(2 * kPage, 512, {}, &plan));
  EXPECT_EQ(plan.donors, std::vector<Range>{pages(5)});
  EXPECT_EQ(plan.new_pages, 1U);
  Drawn kept("FFVVLLFFLL");
  ASSERT_TRUE(kept->pin_range({0, 1}));
  ASSERT_TRUE(kept->plan_repair(2 * kPage, 512, {}, &plan));
  EXPECT_EQ(plan.keeps, std::vector<Range>{pages(0)});
  EXPECT_EQ(plan.donors, std::vector<Range>{pages(3)});
}

TEST(Repair, LimitsCapPagesFromOutside) {
  Drawn arena("FFLLVVVVVVLL");
  RepairPlan plan;
  RepairLimits limits;
  for (limits.max_new_pages = 0; limits.max_new_pages < 2; ++limits.max_new_pages) {
    EXPECT_FALSE(arena->plan_repair(3 * kPage, 512, limits, &plan));
  }
  EXPECT_TRUE(arena->plan_repair(3 * kPage, 512, limits, &plan));
  EXPECT_EQ(plan.donor_pages, 1U);
  EXPECT_EQ(plan.new_pages, 2U);
  limits.use_donors = false;
  EXPECT_FALSE(arena->plan_repair(3 * kPage, 512, limits, &plan));
  limits.max_new_pages = 3;
  EXPECT_TRUE(arena->plan_repair(3 * kPage, 512, limits, &plan));
  EXPECT_EQ(plan.new_pages, 3U);
}

TEST(Repair, AWindowThatKeepsNoDonorsIsTakenWhereTheBudgetIsTight) {
  // The cheapest window keeps the only whole free page, which then can't be a donor: two pages are missing and none may
  // come. Where the hole is pinned it costs nothing to keep.
  Drawn arena("LLFFVVVVLLFFLL");
  RepairPlan plan;
  RepairLimits limits;
  limits.max_new_pages = 0;
  EXPECT_FALSE(arena->plan_repair(3 * kPage, 512, limits, &plan)) << "two missing, one donor";
  ASSERT_TRUE(arena->plan_repair(2 * kPage, 512, limits, &plan));
  EXPECT_EQ(plan.target, pages(1, 2));
  EXPECT_EQ(plan.donors, std::vector<Range>{pages(5)});
}

TEST(Repair, PendingAndMovingMemoryIsNotTouched) {
  Drawn arena("FFFFVVFFFFVVVV");
  BlockIndex pending = arena->allocate(2 * kPage, 512);  // pages 0 and 1
  ASSERT_EQ(arena->view(pending).range, pages(0, 2));
  ASSERT_TRUE(arena->release(pending, {1, 1}));
  ASSERT_NE(arena->begin_move(pages(3, 2)), kNoBlock);
  RepairPlan plan;
  ASSERT_TRUE(arena->plan_repair(2 * kPage, 512, {}, &plan));
  EXPECT_EQ(plan.target, pages(5, 2));
  EXPECT_TRUE(plan.donors.empty());
  EXPECT_FALSE(arena->plan_repair(3 * kPage, 512, {}, &plan));
}

TEST(Repair, RefusesRequestsThatCantBe) {
  Drawn arena("VVVVVV");
  RepairPlan plan;
  EXPECT_FALSE(arena->plan_repair(0, 512, {}, &plan));
  EXPECT_FALSE(arena->plan_repair(kPage, 3, {}, &plan));
  EXPECT_FALSE(arena->plan_repair(3 * kPage + 1, 512, {}, &plan));
  EXPECT_FALSE(arena->plan_repair(~std::uint64_t{0}, 512, {}, &plan));
  EXPECT_TRUE(arena->plan_repair(3 * kPage, std::uint64_t{1} << 40, {}, &plan)) << "offset 0 is aligned to everything";
}

// --- Addresses kept for one owner -------------------------------------------------------------------------------

TEST(HighestVacant, IsTheEndOfTheHighestBlockThatIsLongEnough) {
  Drawn arena("VVVVVVLFVVVVLLVV");
  EXPECT_EQ(arena->highest_vacant(kPage), (Range{7 * kPage, kPage}));
  EXPECT_EQ(arena->highest_vacant(2 * kPage), (Range{4 * kPage, 2 * kPage}));
  EXPECT_EQ(arena->highest_vacant(3 * kPage), (Range{0, 3 * kPage}));
  EXPECT_EQ(arena->highest_vacant(4 * kPage).bytes, 0u);
  EXPECT_EQ(arena->highest_vacant(kPage / 2).bytes, 0u);
  EXPECT_EQ(arena->highest_vacant(0).bytes, 0u);
}

TEST(PlanFill, TakesDonorsAsARepairDoesAndTheRestFromOutside) {
  Drawn arena("FFLLFFFFLFFFVVVVVV");
  const Range target{6 * kPage, 3 * kPage};
  const RepairPlan all = arena->plan_fill(target, 100);
  EXPECT_EQ(all.fills, std::vector<Range>{target});
  EXPECT_EQ(all.fill_pages, 3u);
  EXPECT_EQ(all.donor_pages, 3u);
  EXPECT_EQ(all.new_pages, 0u);
  EXPECT_EQ(all.donors.front(), (Range{0, kPage})) << "the smallest hole first";
  ASSERT_TRUE(arena->pin_range({0, 100}));
  const RepairPlan some = arena->plan_fill(target, 2);
  EXPECT_EQ(some.donor_pages, 2u);
  EXPECT_EQ(some.new_pages, 1u);
  for (const Range& donor : some.donors) EXPECT_NE(donor.offset, 0u) << "never of a pinned range";
  EXPECT_EQ(arena->plan_fill(target, 0).new_pages, 3u);
  EXPECT_TRUE(arena->plan_fill(target, 0).donors.empty());
  EXPECT_EQ(arena->validate(), "") << "pure";
}

}  // namespace
}  // namespace cistern::core
