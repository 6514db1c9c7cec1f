// The benchmarks' workloads have the properties that their names promise: rules kept, counts, sizes, peaks, and the
// same operations from the same seed on every machine (the hashes are those of the generators as they were measured).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench/workloads/inference.hpp"
#include "bench/workloads/random.hpp"
#include "bench/workloads/recurring.hpp"
#include "bench/workloads/replacement.hpp"
#include "bench/workloads/serving.hpp"

namespace cistern::bench {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

struct Sizes {
  std::uint32_t least = ~std::uint32_t{0};
  std::uint32_t most = 0;
};

Sizes sizes_of(const std::vector<Operation>& operations) {
  Sizes sizes;
  for (const Operation& operation : operations) {
    if (operation.bytes == 0) continue;
    sizes.least = std::min(sizes.least, operation.bytes);
    sizes.most = std::max(sizes.most, operation.bytes);
  }
  return sizes;
}

// FNV-1a over what matters of a workload.
std::uint64_t hash_of(const Workload& workload) {
  std::uint64_t hash = 0xCBF29CE484222325ull;
  const auto add = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100000001B3ull; };
  for (const auto* part : {&workload.opening, &workload.cycle}) {
    for (const Operation& operation : *part) add((std::uint64_t{operation.slot} << 32) | operation.bytes);
    add(part->size());
  }
  return hash;
}

// Operations of one inference: from no live block to no live block.
std::vector<std::vector<Operation>> inferences_of(const Workload& workload) {
  std::vector<std::vector<Operation>> inferences(1);
  std::size_t live = 0;
  for (const Operation& operation : workload.cycle) {
    // Slots are numbered from 0 in each inference.
    if (live == 0 && operation.slot == 0 && operation.bytes != 0 && !inferences.back().empty()) {
      inferences.emplace_back();
    }
    live += operation.bytes != 0 ? 1 : std::size_t(-1);
    inferences.back().push_back(operation);
  }
  return inferences;
}

TEST(Random, SameSeedSameNumbersAndSizesStayInTheirOctaves) {
  Random one(1);
  Random same(1);
  Random other(2);
  EXPECT_EQ(one.next(), same.next());
  EXPECT_NE(one.next(), other.next());
  std::vector<int> in_octave(4);
  for (int i = 0; i < 4000; ++i) {
    const std::uint32_t size = one.size(9, 13);
    ASSERT_GE(size, 512u);
    ASSERT_LT(size, 8192u);
    ++in_octave[static_cast<std::size_t>(size < 1024 ? 0 : size < 2048 ? 1 : size < 4096 ? 2 : 3)];
  }
  for (const int count : in_octave) EXPECT_NEAR(count, 1000, 120);
}

TEST(Workload, FactsNameTheFirstOperationThatNobodyMayDo) {
  Workload workload{.name = "bad", .opening = {{0, 8}}, .cycle = {{0, 0}, {0, 16}, {1, 4}, {1, 0}}, .slots = 2};
  WorkloadFacts facts = facts_of(workload);
  EXPECT_EQ(facts.fault, "");
  EXPECT_EQ(facts.peak_live_bytes, 20u);
  EXPECT_EQ(facts.peak_live_blocks, 2u);
  EXPECT_EQ(facts.live_blocks_between_cycles, 1u);
  EXPECT_EQ(facts.pairs_in_cycle, 2u);
  workload.cycle.push_back({1, 0});
  EXPECT_EQ(facts_of(workload).fault, "operation 4 of the cycle, slot 1, 0 B");
  workload.cycle = {{0, 0}};
  EXPECT_EQ(facts_of(workload).fault, "the cycle leaves other slots live");
  workload.cycle = {{2, 4}};
  EXPECT_EQ(facts_of(workload).fault, "operation 0 of the cycle, slot 2, 4 B");
}

TEST(Inference, SixtyFourInferencesRecurInRandomOrder) {
  const Workload workload = recurring_inferences(1);
  const WorkloadFacts facts = facts_of(workload);
  EXPECT_EQ(facts.fault, "");
  EXPECT_EQ(facts.live_blocks_between_cycles, 0u);
  const Sizes sizes = sizes_of(workload.cycle);
  EXPECT_GE(sizes.least, 4096u);
  EXPECT_LT(sizes.most, 64 * kMiB);
  const auto inferences = inferences_of(workload);
  EXPECT_GE(inferences.size(), 512u);  // an inference that is empty in the middle counts as two
  std::set<std::uint64_t> different;
  for (const auto& inference : inferences) different.insert(hash_of({.name = {}, .opening = {}, .cycle = inference}));
  EXPECT_GE(different.size(), 64u);
  EXPECT_LE(different.size(), 150u);
  EXPECT_NE(hash_of(workload), hash_of(recurring_inferences(2)));
}

TEST(Inference, MostFreesAreOfTheNewest) {
  std::vector<std::uint32_t> live;
  std::size_t newest = 0;
  std::size_t frees = 0;
  for (const Operation& operation : recurring_inferences(1).cycle) {
    if (operation.bytes != 0) {
      live.push_back(operation.slot);
      continue;
    }
    ++frees;
    newest += live.back() == operation.slot ? 1 : 0;
    live.erase(std::find(live.begin(), live.end(), operation.slot));
  }
  EXPECT_GT(newest * 100, frees * 80);
  EXPECT_LT(newest, frees);
}

TEST(Inference, OneInferenceForEverOrNeverTheSame) {
  const Workload single = single_inference(1);
  EXPECT_EQ(facts_of(single).fault, "");
  EXPECT_GE(facts_of(single).pairs_in_cycle, 20u);
  EXPECT_LE(facts_of(single).pairs_in_cycle, 60u);
  const Workload fresh = fresh_inferences(1);
  EXPECT_EQ(facts_of(fresh).fault, "");
  EXPECT_GE(facts_of(fresh).pairs_in_cycle, 2048u * 20);
  std::set<std::uint32_t> sizes;
  for (const Operation& operation : fresh.cycle) sizes.insert(operation.bytes);
  EXPECT_GT(sizes.size() * 10, facts_of(fresh).pairs_in_cycle * 9);
}

TEST(Replacement, SoManyBlocksAreLiveAllTheTime) {
  struct Case {
    Workload workload;
    std::uint64_t live;
    std::uint64_t least;
    std::uint64_t below;
  };
  for (const auto& [workload, live, least, below] :
       {Case{large_blocks(), 10'000, 512, 64 * kMiB}, Case{small_blocks(), 4096, 256, 4096},
        Case{ten_thousand_blocks(), 10'000, 512, 2 * kMiB}, Case{hundred_thousand_blocks(), 100'000, 512, 2 * kMiB}}) {
    SCOPED_TRACE(workload.name);
    const WorkloadFacts facts = facts_of(workload);
    EXPECT_EQ(facts.fault, "");
    EXPECT_EQ(facts.peak_live_blocks, live);
    EXPECT_EQ(facts.live_blocks_between_cycles, live);
    EXPECT_GE(sizes_of(workload.cycle).least, least);
    EXPECT_LT(sizes_of(workload.cycle).most, below);
    EXPECT_GT(facts.pairs_in_cycle, 2 * live);  // so that a cycle replaces most of them
  }
  EXPECT_NEAR(static_cast<double>(facts_of(large_blocks()).peak_live_bytes) / static_cast<double>(kGiB), 57, 4);
}

TEST(Serving, WeightsStayAndCachesGrow) {
  const Workload workload = serving();
  const WorkloadFacts facts = facts_of(workload);
  EXPECT_EQ(facts.fault, "");
  EXPECT_EQ(workload.opening.size(), 291u);
  EXPECT_EQ(facts.live_blocks_between_cycles, 291u);
  std::uint64_t weights = 0;
  for (const Operation& operation : workload.opening) weights += operation.bytes;
  EXPECT_EQ(weights, 13'476'831'232u);  // 6,738,415,616 values of two bytes
  EXPECT_GT(facts.peak_live_bytes, weights + kGiB / 2);
  EXPECT_LT(facts.peak_live_bytes, weights + 2 * kGiB);
}

TEST(Recurring, SixteenSizes) {
  std::set<std::uint32_t> sizes;
  for (const Operation& operation : hits().cycle) sizes.insert(operation.bytes);
  EXPECT_EQ(sizes.size(), 17u);  // 0 is a free
  EXPECT_EQ(facts_of(hits()).fault, "");
  EXPECT_EQ(facts_of(hits()).peak_live_blocks, 1u);
  EXPECT_EQ(facts_of(hit_burst()).fault, "");
  EXPECT_EQ(facts_of(hit_burst()).peak_live_blocks, 64u);
  const auto handed = handed_over_sizes();
  EXPECT_GE(*std::min_element(handed.begin(), handed.end()), 4096u);
  EXPECT_LT(*std::max_element(handed.begin(), handed.end()), 4 * kMiB);
}

TEST(Workloads, TheSameOnEveryMachine) {
  EXPECT_EQ(hash_of(recurring_inferences(1)), 15586428849878766287u);
  EXPECT_EQ(hash_of(single_inference(1)), 11129276005223451317u);
  EXPECT_EQ(hash_of(fresh_inferences(1)), 7874804867677348306u);
  EXPECT_EQ(hash_of(large_blocks()), 8300272162384204062u);
  EXPECT_EQ(hash_of(small_blocks()), 15196060372096779474u);
  EXPECT_EQ(hash_of(ten_thousand_blocks()), 391617884868076316u);
  EXPECT_EQ(hash_of(hundred_thousand_blocks()), 3953283806672235513u);
  EXPECT_EQ(hash_of(serving()), 173488055507674768u);
  EXPECT_EQ(hash_of(hits()), 16755333117715237927u);
  EXPECT_EQ(hash_of(hit_burst()), 5014288923951671751u);
}

}  // namespace
}  // namespace cistern::bench
