// The benchmarks' contenders do what an allocator must: live blocks never overlap, freed memory serves again, whatever
// is refused is said. A contender that cheats would make every comparison worthless.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "bench/contenders/binned_pool.hpp"
#include "bench/contenders/cistern_pool.hpp"
#include "bench/contenders/core_alone.hpp"
#include "bench/contenders/naive_pool.hpp"
#include "bench/handover.hpp"
#include "bench/player.hpp"
#include "bench/workloads/inference.hpp"
#include "bench/workloads/random.hpp"
#include "bench/workloads/recurring.hpp"
#include "bench/workloads/replacement.hpp"
#include "bench/workloads/serving.hpp"

namespace cistern::bench {
namespace {

// Passes requests on and keeps the live blocks by address.
template <typename Contender>
class NoOverlap {
 public:
  explicit NoOverlap(Contender& contender, bool by_end) : contender_(contender), by_end_(by_end) {}
  Place allocate(std::uint64_t bytes) {
    const Place place = contender_.allocate(bytes);
    if (place == 0) {
      ++refused;
      return 0;
    }
    // Where places are block numbers, ends are offsets: end - bytes, rounded as the contender does, is the start.
    const std::uint64_t start = by_end_ ? contender_.end_of(place) - (bytes + 511) / 512 * 512 : place;
    const auto next = blocks_.lower_bound(start);
    if (next != blocks_.end() && next->first < start + bytes) ++overlaps;
    if (next != blocks_.begin() && std::prev(next)->first + std::prev(next)->second > start) ++overlaps;
    blocks_[start] = bytes;
    starts_[place] = start;
    return place;
  }
  void free(Place place) {
    blocks_.erase(starts_.at(place));
    starts_.erase(place);
    contender_.free(place);
  }
  std::size_t live() const noexcept { return blocks_.size(); }

  int overlaps = 0;
  int refused = 0;

 private:
  Contender& contender_;
  bool by_end_;
  std::map<std::uint64_t, std::uint64_t> blocks_;
  std::map<Place, std::uint64_t> starts_;
};

template <typename Contender>
void expect_sound(Contender& contender, const Workload& workload, bool by_end = false) {
  SCOPED_TRACE(workload.name);
  NoOverlap<Contender> watched(contender, by_end);
  {
    Player player(watched, workload);
    EXPECT_TRUE(player.warm_up(std::chrono::hours(1), std::chrono::hours(1)));
    EXPECT_EQ(watched.live(), facts_of(workload).live_blocks_between_cycles);
    player.advance(workload.cycle.size() / 3);
  }
  EXPECT_EQ(watched.live(), 0u);
  EXPECT_EQ(watched.overlaps, 0);
  EXPECT_EQ(watched.refused, 0);
}

TEST(Contenders, BlocksNeverOverlap) {
  for (const Workload& workload : {recurring_inferences(1), serving(), small_blocks(), hits(), hit_burst()}) {
    const std::uint64_t peak = facts_of(workload).peak_live_bytes;
    BinnedPool binned;
    expect_sound(binned, workload);
    NaivePool naive;
    expect_sound(naive, workload);
    CoreAlone core(peak);
    expect_sound(core, workload, true);
    for (const std::uint64_t magazines : {std::uint64_t{0}, std::uint64_t{4} << 20}) {
      CisternPool pool({.magazine_bytes = magazines}, peak);
      expect_sound(pool, workload);
    }
  }
}

TEST(Contenders, MergedHolesServeTheirSum) {
  BinnedOffsets offsets(64);
  const auto one = offsets.allocate(16);
  const auto two = offsets.allocate(16);
  const auto three = offsets.allocate(32);
  EXPECT_EQ(offsets.offset(three), 32u);
  EXPECT_EQ(offsets.allocate(1), BinnedOffsets::kNone);
  offsets.free(one);
  EXPECT_EQ(offsets.allocate(32), BinnedOffsets::kNone);
  offsets.free(two);
  const auto both = offsets.allocate(32);
  ASSERT_NE(both, BinnedOffsets::kNone);
  EXPECT_EQ(offsets.offset(both), 0u);
  EXPECT_EQ(offsets.units(both), 32u);
}

TEST(Contenders, FootprintIsOfTheHighestEndOrOfWhatWasHeld) {
  const Workload workload{.name = "two", .opening = {{0, 1024}, {1, 512}, {0, 0}, {2, 512}}, .cycle = {}, .slots = 3};
  const WorkloadFacts facts = facts_of(workload);
  ASSERT_EQ(facts.peak_live_bytes, 1536u);
  NaivePool naive;
  EXPECT_EQ(footprint_of(naive, workload, facts), 1.0);
  BinnedPool binned;
  EXPECT_EQ(footprint_of(binned, workload, facts), 1.0);
  CoreAlone core(facts.peak_live_bytes);
  EXPECT_EQ(footprint_of(core, workload, facts), 1.0);
  CisternPool pool({}, facts.peak_live_bytes);
  EXPECT_EQ(footprint_of(pool, workload, facts), 65536.0 / 1536.0);  // one page
  NullLoop loop;
  EXPECT_EQ(footprint_of(loop, workload, facts), 0.0);
}

TEST(Player, SlowOpeningsAndRefusalsEndTheWarmUp) {
  struct Refusing {
    Place allocate(std::uint64_t bytes) { return bytes > 1000 ? 0 : 1; }
    void free(Place place) { freed += place != 0 ? 1 : 0; }
    int freed = 0;
  } refusing;
  const Workload workload{.name = "refused", .opening = {{0, 10}, {1, 2000}}, .cycle = {{0, 0}, {0, 10}}, .slots = 2};
  {
    Player player(refusing, workload);
    EXPECT_FALSE(player.warm_up(std::chrono::hours(1), std::chrono::hours(1)));
  }
  EXPECT_EQ(refusing.freed, 1);
  BinnedPool binned;
  const Workload large = hundred_thousand_blocks();
  Player player(binned, large);
  EXPECT_FALSE(player.warm_up(std::chrono::hours(1), std::chrono::nanoseconds(1)));
}

TEST(Crew, AllMembersWorkInEachRoundAndPlacesAreHandedOverInOrder) {
  Handover queue;
  std::vector<Place> taken;
  Crew crew(2, [&](unsigned member) {
    for (Place place = 1; place <= 5000; ++place) {
      if (member == 0) queue.put(place);
      if (member == 1) taken.push_back(queue.take());
    }
  });
  EXPECT_GT(crew.round().wall.count(), 0);
  EXPECT_GT(crew.round().cpu.count(), 0);
  ASSERT_EQ(taken.size(), 10'000u);
  for (std::size_t i = 0; i < taken.size(); ++i) ASSERT_EQ(taken[i], i % 5000 + 1);
}

}  // namespace
}  // namespace cistern::bench
