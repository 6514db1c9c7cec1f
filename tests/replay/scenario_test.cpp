// The llama7b scenario: exact figures where arithmetic gives them, repetition, and refusals.
#include <gtest/gtest.h>

#include "replay/scenarios.hpp"

namespace cistern::replay {
namespace {

// Small enough for sanitizers; every phase still runs.
Llama7bOptions small() {
  Llama7bOptions options;
  options.kv_tokens = 1024;
  options.steps = 8;
  options.activation_bytes = 200'000'000;
  return options;
}

Llama7bReport run(const Llama7bOptions& options) {
  auto report = run_llama7b(options);
  EXPECT_TRUE(report.is_ok()) << report.status().to_string();
  return report.is_ok() ? report.take() : Llama7bReport{};
}

void expect_refused(const Llama7bOptions& options, base::StatusCode code, std::string_view text) {
  const auto report = run_llama7b(options);
  ASSERT_FALSE(report.is_ok());
  EXPECT_EQ(report.status().code(), code);
  EXPECT_NE(report.status().text().find(text), std::string::npos) << report.status().text();
}

TEST(Llama7bScenario, LiveBytesAreTheArithmetic) {
  const Llama7bReport report = run(small());
  const std::uint64_t live = 13'476'831'232 + 1024 * 524'288 + 200'000'000;
  EXPECT_EQ(report.direct.peak_live_bytes, live);
  EXPECT_EQ(report.pool.peak_live_bytes, live);
  EXPECT_EQ(report.need.total(), live);
  EXPECT_EQ(report.prompt_tokens, 1016U);
  EXPECT_LE(report.activation_peak_bytes, 200'000'000U);
  EXPECT_GT(report.activation_peak_bytes, 190'000'000U);
}

TEST(Llama7bScenario, DirectPaysADriverPairATensor) {
  Llama7bOptions options = small();
  options.pair_min_ns = options.pair_max_ns = 1'000'000;
  const Llama7bReport report = run(options);
  ASSERT_EQ(report.direct.article.size(), 8U);
  ASSERT_EQ(report.direct.decode.size(), 8U);
  EXPECT_EQ(report.direct.article.nanoseconds(50), 20'000'000U);
  EXPECT_EQ(report.direct.article.driver_calls(50), 40U);
  EXPECT_EQ(report.direct.decode.nanoseconds(50), 1'558'000'000U);
  EXPECT_EQ(report.direct.decode.driver_calls(50), 3116U);
  EXPECT_EQ(report.direct.load.modelled_ns, 291'000'000U / 2);
}

TEST(Llama7bScenario, ThePublishedRangeHoldsForDirect) {
  const Llama7bReport report = run(small());
  EXPECT_GE(report.direct.article.nanoseconds(1), 10'000'000U);
  EXPECT_LE(report.direct.article.nanoseconds(100), 40'000'000U);
}

TEST(Llama7bScenario, ThePoolInSteadyStateCallsNoDriver) {
  const Llama7bReport report = run(small());
  EXPECT_EQ(report.pool.decode.driver_calls(50), 0U);
  EXPECT_EQ(report.pool.article.driver_calls(50), 0U);
  EXPECT_EQ(report.pool.decode.modelled_ns(50), 0U);
  EXPECT_LT(report.pool.peak_reserved_bytes, report.direct.peak_reserved_bytes);
  EXPECT_LT(report.pool.overhead(), 1.01);
}

// Norm weights (65 of 8 KiB) in 2 MiB each are the least that the driver rounds away.
TEST(Llama7bScenario, DirectLosesWhatTheDriverRoundsUp) {
  Llama7bOptions options = small();
  const Llama7bReport huge = run(options);
  EXPECT_GE(huge.direct.fragmentation_bytes(), 65U * (2'097'152 - 8192));
  EXPECT_LE(huge.direct.fragmentation_bytes(), 65U * 2'097'152 + 3U * 2'097'152 + 24U * 2'097'152);
  options.driver_rounding = DriverRounding::huge_first;
  const Llama7bReport huge_first = run(options);
  EXPECT_LT(huge_first.direct.fragmentation_bytes(), huge.direct.fragmentation_bytes() / 2);
  EXPECT_EQ(huge_first.pool.peak_reserved_bytes, huge.pool.peak_reserved_bytes);
}

// A cache of one buffer a layer lies where it is put, so no alignment is needed that blocks would need.
TEST(Llama7bScenario, ACacheThatGrowsInPlaceNeedsNoAlignment) {
  Llama7bOptions options = small();
  options.kv_alignment_bytes = 0;
  options.kv_block_tokens = 16;
  options.driver_rounding = DriverRounding::huge_first;
  options.pool.page_bytes = std::uint64_t{2} << 20;
  const Llama7bReport in_place = run(options);
  EXPECT_EQ(in_place.options.kv_cache, KvCache::elastic);
  options.kv_cache = KvCache::blocks;
  const Llama7bReport blocks = run(options);
  EXPECT_EQ(in_place.pool.peak_live_bytes, blocks.pool.peak_live_bytes);
  EXPECT_EQ(in_place.direct.peak_reserved_bytes, blocks.direct.peak_reserved_bytes) << "the driver has blocks only";
  EXPECT_LT(in_place.pool.overhead(), 1.005);
  EXPECT_LE(in_place.pool.peak_reserved_bytes, blocks.pool.peak_reserved_bytes);
  EXPECT_EQ(in_place.pool.decode.driver_calls(50), 0U);
}

TEST(Llama7bScenario, WithoutPagesTheCacheIsOfBlocks) {
  Llama7bOptions options = small();
  options.pool.growth = pool::Growth::arenas;
  const Llama7bReport report = run(options);
  EXPECT_EQ(report.options.kv_cache, KvCache::blocks);
  EXPECT_GT(report.pool.peak_reserved_bytes, report.pool.peak_live_bytes);
}

TEST(Llama7bScenario, TheSameSeedGivesTheSameFigures) {
  const Llama7bReport first = run(small());
  const Llama7bReport second = run(small());
  Llama7bOptions other_options = small();
  other_options.seed = 2;
  const Llama7bReport other = run(other_options);
  const auto modelled = [](const WayFigures& way) {
    std::vector<std::uint64_t> values{way.peak_live_bytes, way.peak_reserved_bytes, way.load.modelled_ns};
    for (const CostSeries* series : {&way.prefill, &way.decode, &way.article}) {
      for (const MemoryCost& cost : series->costs()) {
        values.insert(values.end(), {cost.modelled_ns, cost.driver_calls, cost.allocations});
      }
    }
    return values;
  };
  EXPECT_EQ(modelled(first.direct), modelled(second.direct));
  EXPECT_EQ(modelled(first.pool), modelled(second.pool));
  EXPECT_NE(modelled(first.direct), modelled(other.direct));
}

TEST(Llama7bScenario, TooManyTokensAreRefusedWithTheSum) {
  Llama7bOptions options;
  options.kv_tokens = 131'072;
  expect_refused(options, base::StatusCode::out_of_memory,
                 "weights 13.48 GB + KV cache 68.72 GB (131072 x 512 KiB) + activations 3.50 GB = 85.70 GB, but there "
                 "are only 34.36 GB. At most 33152 tokens fit");
  options.kv_tokens = 33'152 + 1;
  expect_refused(options, base::StatusCode::out_of_memory, "At most 33152 tokens fit");
  options = small();
  options.pool.limit_bytes = 8'000'000'000;  // below the weights
  expect_refused(options, base::StatusCode::out_of_memory, "At most 0 tokens fit");
}

TEST(Llama7bScenario, OptionsOutOfRangeAreNamed) {
  using base::StatusCode;
  Llama7bOptions options = small();
  options.steps = 0;
  expect_refused(options, StatusCode::invalid_argument, "steps = 0 is not between 1 and 1023");
  options.steps = 1024;
  expect_refused(options, StatusCode::invalid_argument, "steps = 1024 is not between 1 and 1023");
  options = small();
  options.kv_tokens = 1;
  expect_refused(options, StatusCode::invalid_argument, "kv-tokens = 1 is not between");
  options = small();
  options.kv_block_tokens = 0;
  expect_refused(options, StatusCode::invalid_argument, "kv-block-tokens = 0");
  options = small();
  options.kv_alignment_bytes = 3000;
  expect_refused(options, StatusCode::invalid_argument, "neither 0 nor a power of two");
  options = small();
  options.activation_bytes = 2 << 20;
  expect_refused(options, StatusCode::invalid_argument, "is too little: one token at the end of 1024 needs");
  options = small();
  options.pair_min_ns = 2'000'000;
  options.pair_max_ns = 1'000'000;
  expect_refused(options, StatusCode::invalid_argument, "pair-min-us = 2000 is not between 0 and 1000");
}

// The direct way gives each block of cache 2 MiB, so small blocks do not fit although their sum does.
TEST(Llama7bScenario, ARefusalInTheMiddleSaysWhere) {
  Llama7bOptions options = small();
  options.kv_block_tokens = 1;
  options.device_bytes = 20'000'000'000;
  expect_refused(options, base::StatusCode::out_of_memory, "prefill to token ");
}

TEST(Scenarios, AreListed) {
  ASSERT_EQ(scenarios().size(), 1U);
  EXPECT_EQ(scenarios()[0].name, "llama7b");
  EXPECT_FALSE(parse_driver_rounding("tiny").is_ok());
  EXPECT_FALSE(parse_kv_cache("rope").is_ok());
  EXPECT_EQ(parse_kv_cache("blocks").value(), KvCache::blocks);
  EXPECT_EQ(parse_driver_rounding("huge_first").value(), DriverRounding::huge_first);
}

}  // namespace
}  // namespace cistern::replay
