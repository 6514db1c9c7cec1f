// The tuner on traces small enough that the right answer is known, and its ranking and differences by themselves.
#include "replay/tuner.hpp"

#include <gtest/gtest.h>

#include <set>

#include "pool/profiles.hpp"
#include "replay/driver_time.hpp"
#include "small_trace.hpp"

namespace cistern::replay {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

// Holes of two sizes that only pages put together: stitching takes a fifth less than growth.
TraceData holes() {
  SmallTrace trace;
  std::vector<std::uint32_t> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(trace.allocate(2 * kMiB));
  for (std::size_t i = 0; i < blocks.size(); i += 2) trace.free(blocks[i]);
  trace.allocate(4 * kMiB);
  trace.allocate(4 * kMiB);
  return trace.data();
}

TuneOptions without_times() {
  TuneOptions options;
  options.passes = 0;
  return options;
}

TEST(Tuner, FindsThatStitchingTakesLessMemory) {
  const auto tried = tune({holes()}, without_times()).take();
  ASSERT_EQ(tried.size(), sweep(without_times()).size());
  const Tried& winner = tried.front();
  EXPECT_EQ(winner.candidate.growth, pool::Growth::expandable);
  EXPECT_EQ(winner.candidate.on_miss, pool::OnMiss::stitch_first);
  EXPECT_DOUBLE_EQ(winner.overhead, 1.0);
  EXPECT_DOUBLE_EQ(winner.worst_overhead, 1.0);
  for (const Tried& each : tried) {
    if (each.candidate.on_miss == pool::OnMiss::grow_first) {
      EXPECT_GE(each.overhead, 1.3);
    }
  }
}

TEST(Tuner, TheGoalDecides) {
  TuneOptions options = without_times();
  options.goal = Goal::time;
  const auto tried = tune({holes()}, options).take();
  for (const Tried& each : tried) EXPECT_GE(each.pair_ns() * (1 + kSameTime), tried.front().pair_ns());
  EXPECT_GT(tried.front().pair_ns(), 0.0);
}

TEST(Tuner, EveryCandidateOnceAndProfilesAmongThem) {
  for (const double over_peak : {0.0, 1.1}) {
    TuneOptions options = without_times();
    options.capacity_over_peak = over_peak;
    std::vector<Candidate> all = sweep(options);
    std::set<std::string> profiles_seen;
    bool any_movable = false;
    for (Candidate& each : all) {
      if (!each.profile.empty()) {
        EXPECT_TRUE(profiles_seen.insert(each.profile).second) << each.profile;
      }
      any_movable = any_movable || each.movable;
      each.profile.clear();
    }
    EXPECT_EQ(profiles_seen.size(), pool::profiles().size());
    EXPECT_EQ(any_movable, over_peak > 0) << "without a limit nothing would be moved";
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t k = i + 1; k < all.size(); ++k) EXPECT_FALSE(all[i] == all[k]) << i << " and " << k;
    }
  }
}

TEST(Tuner, WhatFailsComesLast) {
  TuneOptions options = without_times();
  options.capacity_over_peak = 1.0;
  options.candidates = {{.growth = pool::Growth::arenas}, {.growth = pool::Growth::expandable}};
  const auto tried = tune({holes()}, options).take();
  EXPECT_EQ(tried[0].failed, 0U);
  EXPECT_GT(tried[1].failed, 0U);
  EXPECT_EQ(tried[1].candidate.growth, pool::Growth::arenas);
}

TEST(Tuner, TheCompactingThreadTakesTimeOffRequests) {
  SmallTrace trace;
  trace.free(trace.allocate(4 * kMiB));
  std::vector<std::uint32_t> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(trace.allocate(2 * kMiB));
  for (std::size_t i = 0; i < blocks.size(); i += 2) trace.free(blocks[i]);
  trace.wait(2'000'000'000);
  trace.allocate(4 * kMiB);
  TuneOptions options = without_times();
  options.goal = Goal::time;
  options.candidates = {{.page_bytes = 2 * kMiB},
                        {.page_bytes = 2 * kMiB, .active_interval_ms = 1000, .active_threshold = 0.3}};
  const auto tried = tune({trace.data()}, options).take();
  EXPECT_EQ(tried[0].candidate.active_interval_ms, 1000U);
  EXPECT_LT(tried[0].driver_ns, tried[1].driver_ns);
  EXPECT_GT(tried[0].background_ns, 0.0);
  EXPECT_EQ(tried[1].background_ns, 0.0);
  // A hole made beforehand may take a page more than one that is made to measure.
  EXPECT_NEAR(tried[0].driver_ns + tried[0].background_ns, tried[1].driver_ns, tried[1].driver_ns * 0.2);
}

TEST(Tuner, SmallDifferencesAreNone) {
  Tried one;
  one.overhead = 1.0;
  one.driver_ns = 100;
  Tried other = one;
  other.overhead = 1.004;
  other.driver_ns = 109;
  EXPECT_EQ(difference(one, other), Difference::none);
  other.overhead = 1.006;
  EXPECT_EQ(difference(one, other), Difference::memory);
  other.driver_ns = 111;
  EXPECT_EQ(difference(other, one), Difference::both);
  other.overhead = 1.0;
  EXPECT_EQ(difference(one, other), Difference::time);
  other = one;
  other.failed = 1;
  EXPECT_EQ(difference(one, other), Difference::memory);
}

TEST(Tuner, DriverTimeIsThatOfTheModel) {
  device::DeviceCounters calls;
  EXPECT_EQ(modelled_driver_ns(calls), 0.0);
  calls.mallocs = calls.frees = 2;  // two pairs of 0.5 to 2 ms
  EXPECT_DOUBLE_EQ(modelled_driver_ns(calls), 2 * 1'250'000.0);
  calls = {};
  calls.maps = 3;
  calls.pages_created = 1;
  EXPECT_DOUBLE_EQ(modelled_driver_ns(calls), 3 * 10'000.0 + 50'000.0);
}

TEST(Tuner, AnEmptyTraceIsRefused) { EXPECT_FALSE(tune({TraceData{}}, without_times()).is_ok()); }

}  // namespace
}  // namespace cistern::replay
