// The model's arithmetic against numbers worked out by hand, and the plans against the counts that traces show.
#include "replay/llama7b.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "replay/article.hpp"

namespace cistern::replay {
namespace {

TEST(Llama7b, WeightsAreThePublishedModel) {
  const auto sizes = llama7b::weight_tensors();
  EXPECT_EQ(sizes.size(), 291U);
  EXPECT_EQ(llama7b::parameter_count(), 6'738'415'616U);
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}), 13'476'831'232U);
  std::map<std::uint64_t, int> counts;
  for (const std::uint64_t bytes : sizes) ++counts[bytes];
  const std::map<std::uint64_t, int> expected = {
      {8192, 65}, {33'554'432, 128}, {90'177'536, 96}, {262'144'000, 2}};  // norms, attention, MLP, tables
  EXPECT_EQ(counts, expected);
}

TEST(Llama7b, ATokenTakes512KiBOfCache) {
  EXPECT_EQ(llama7b::kKvBytesPerToken, 524'288U);
  EXPECT_EQ(llama7b::kv_bytes(16 * 1024, 128), 8'589'934'592U);
  EXPECT_EQ(llama7b::kv_bytes(128 * 1024, 128), 68'719'476'736U);
  EXPECT_EQ(llama7b::kv_bytes(1, 128), 128U * 524'288);
  EXPECT_EQ(llama7b::kv_bytes(129, 128), 256U * 524'288);
}

TEST(Llama7b, ADecodeStepMakes1558Tensors) {
  const TensorPlan plan = llama7b::forward_pass({1, 207, 512});
  EXPECT_EQ(plan.tensors(), 1558U);
  EXPECT_EQ(plan.events().size(), 2U * 1558);
  EXPECT_EQ(plan.kept_tensors(), 0U);
  EXPECT_TRUE(plan.is_balanced());
}

TEST(Llama7b, APromptAddsTheMaskAndTwoTensorsALayer) {
  const TensorPlan plan = llama7b::forward_pass({206, 206, 512});
  EXPECT_EQ(plan.tensors() - plan.kept_tensors(), 1558U + 2 + 2 * 32);
  EXPECT_EQ(plan.kept_tensors(), 32U);  // the first block of each layer
  EXPECT_TRUE(plan.is_balanced());
}

// Sizes and order of one layer of a decode step at 207 tokens, as a trace of the framework shows them, but for the two
// gathered tensors (1,695,744 B), which there are the cache itself.
TEST(Llama7b, ALayerOfADecodeStepHasTheTracedSizes) {
  const std::vector<std::uint64_t> traced = {
      16384, 16384, 4,     8,    4,    4,    16384,   8192,    8192,  8192, 8192,  8192,  8192,  4096,  8192, 8192,
      8192,  8192,  4096,  8192, 8192, 8192, 1695744, 1695744, 13248, 8,    13248, 26496, 26496, 13248, 8192, 8192,
      8192,  16384, 16384, 4,    8,    4,    4,       16384,   8192,  8192, 22016, 22016, 22016, 22016, 8192, 8192};
  ASSERT_EQ(traced.size(), 48U);
  std::vector<std::uint64_t> made;
  const TensorPlan plan = llama7b::forward_pass({1, 207, 512});
  for (const TensorEvent& event : plan.events()) {
    if (event.kind == TensorEvent::Kind::make) made.push_back(event.bytes);
  }
  ASSERT_EQ(made.size(), 1558U);
  for (std::size_t layer = 0; layer < 32; ++layer) {
    const auto first = made.begin() + static_cast<std::ptrdiff_t>(12 + 48 * layer);
    EXPECT_TRUE(std::equal(traced.begin(), traced.end(), first)) << "layer " << layer;
  }
  EXPECT_EQ(made.back(), 64'000U);  // logits
}

TEST(Llama7b, TheCacheGrowsWhenABlockIsFull) {
  EXPECT_EQ(llama7b::forward_pass({1, 128, 128}).kept_tensors(), 0U);
  const TensorPlan plan = llama7b::forward_pass({1, 129, 128, 2 << 20});
  EXPECT_EQ(plan.kept_tensors(), 32U);
  EXPECT_EQ(plan.kept_bytes(), 32U * (2 << 20));
  EXPECT_EQ(llama7b::forward_pass({256, 300, 128}).kept_tensors(), 32U * 2);  // 44 tokens before: blocks 2 and 3
  for (const TensorEvent& event : plan.events()) {
    EXPECT_EQ(event.alignment, event.kind == TensorEvent::Kind::keep ? 2U << 20 : 0U);
  }
}

TEST(Llama7b, AlignmentOfABlockIsThePowerOfTwoInItsSize) {
  const auto alignment_of = [](std::uint64_t block_tokens, std::uint64_t most) {
    const TensorPlan plan = llama7b::forward_pass({1, 1, block_tokens, most});
    const auto kept = std::find_if(plan.events().begin(), plan.events().end(),
                                   [](const TensorEvent& event) { return event.kind == TensorEvent::Kind::keep; });
    return kept->alignment;
  };
  EXPECT_EQ(alignment_of(16, 2 << 20), 256U << 10);
  EXPECT_EQ(alignment_of(48, 2 << 20), 256U << 10);
  EXPECT_EQ(alignment_of(512, 2 << 20), 2U << 20);
  EXPECT_EQ(alignment_of(128, 0), 0U);
}

TEST(Llama7b, TheLongestChunkIsTheLongest) {
  constexpr std::uint64_t kBudget = 3'500'000'000;
  const std::uint64_t tokens = llama7b::longest_chunk(16'128, kBudget);
  EXPECT_EQ(tokens, 619U);
  EXPECT_LE(llama7b::forward_pass({tokens, 16'128, 128}).peak_transient_bytes(), kBudget);
  EXPECT_GT(llama7b::forward_pass({tokens + 1, 16'128, 128}).peak_transient_bytes(), kBudget);
  EXPECT_EQ(llama7b::longest_chunk(100, kBudget), 100U);   // the whole prompt
  EXPECT_EQ(llama7b::longest_chunk(16'128, 1 << 20), 0U);  // not even one token
}

TEST(Article, TwentyTensorsAreLiveAtOnceAndAddUp) {
  const TensorPlan plan = article::inference(7, 3'500'000'000);
  EXPECT_EQ(plan.tensors(), 20U);
  EXPECT_EQ(plan.peak_transient_bytes(), 3'500'000'000U);
  EXPECT_TRUE(plan.is_balanced());
  EXPECT_EQ(plan.events(), article::inference(7, 3'500'000'000).events());
  EXPECT_NE(plan.events(), article::inference(8, 3'500'000'000).events());
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;
  for (const TensorEvent& event : plan.events()) {
    least = std::min(least, event.bytes);
    most = std::max(most, event.bytes);
  }
  EXPECT_GT(least, 0U);
  EXPECT_LE(most, 3 * least + 64);
}

}  // namespace
}  // namespace cistern::replay
