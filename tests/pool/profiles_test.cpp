// Profiles: what they set is valid, and what is set by itself wins.
#include "pool/profiles.hpp"

#include <gtest/gtest.h>

#include "pool/options.hpp"

namespace cistern::pool {
namespace {

PoolOptions options_of(std::initializer_list<std::pair<const char*, const char*>> settings) {
  base::OptionSet set;
  for (const auto& [name, value] : settings) EXPECT_TRUE(set.set(name, value, "test").is_ok());
  return pool_options_from(set).take();
}

TEST(Profiles, EverySettingIsAnOptionAndItsValueValid) {
  std::string range;
  for (const Profile& profile : profiles()) {
    range += (range.empty() ? "" : "|") + std::string(profile.name);
    for (const auto& [name, value] : profile.settings) {
      base::OptionSet set;
      const base::Status done = set.set(name, value, "test");
      EXPECT_TRUE(done.is_ok()) << profile.name << ": " << done.to_string();
    }
  }
  EXPECT_EQ(base::OptionSet::find("CISTERN_PROFILE")->range, range);
}

TEST(Profiles, SetWhatTheirRulesSay) {
  EXPECT_EQ(options_of({{"CISTERN_PROFILE", "small_model"}}).policy, core::FitPolicy::first_fit);
  EXPECT_FALSE(options_of({{"CISTERN_PROFILE", "SMALL_MODEL"}}).compact_actively);
  const PoolOptions large = options_of({{"CISTERN_PROFILE", "LARGE_MODELS"}});
  EXPECT_TRUE(large.compact_actively);
  EXPECT_DOUBLE_EQ(large.compact_threshold, 0.2);
  const PoolOptions throughput = options_of({{"CISTERN_PROFILE", "THROUGHPUT"}});
  EXPECT_TRUE(throughput.compact_actively);
  EXPECT_EQ(throughput.compact_interval_ms, 1000U);
  EXPECT_EQ(options_of({{"CISTERN_PROFILE", "SEVERAL_MODELS"}}).on_miss, OnMiss::stitch_first);
}

TEST(Profiles, WhatIsSetByItselfWins) {
  const PoolOptions options = options_of({{"CISTERN_PROFILE", "THROUGHPUT"},
                                          {"CISTERN_COMPACT_INTERVAL_MS", "250"},
                                          {"CISTERN_MAGAZINE_BYTES", "0"},
                                          {"CISTERN_COMPACT", "OFF"}});
  EXPECT_EQ(options.compact_interval_ms, 250U);
  EXPECT_EQ(options.magazine_bytes, 0U);
  EXPECT_FALSE(options.compact_actively);
  EXPECT_EQ(options.on_miss, OnMiss::grow_first) << "the rest is the profile's";
}

TEST(Profiles, AThresholdThatIsSetTurnsCompactionOnInEveryProfile) {
  EXPECT_TRUE(
      options_of({{"CISTERN_PROFILE", "SMALL_MODEL"}, {"ASCEND_MEMPOOL_COMPACT_THRESHOLD", "0.5"}}).compact_actively);
}

TEST(Profiles, TheOriginNamesTheProfile) {
  base::OptionSet set;
  ASSERT_TRUE(set.set("CISTERN_PROFILE", "LARGE_MODELS", "environment").is_ok());
  EXPECT_EQ(with_profile(set).origin("CISTERN_COMPACT"), "profile LARGE_MODELS");
  EXPECT_EQ(with_profile(set).origin("CISTERN_POLICY"), "default");
}

}  // namespace
}  // namespace cistern::pool
