// Sections and parts: which tensors meet, and where a run falls apart without loss.
#include "plan/parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/tensors.hpp"

namespace cistern::plan {
namespace {

TEST(Items, MeetExactlyWhenTheirLifetimesDo) {
  const std::vector<Lifetime> run = testing::random_run(5, 200, 90, 9);
  const auto items = items_of(run, 512).take();
  for (std::size_t a = 0; a < run.size(); ++a) {
    for (std::size_t b = 0; b < run.size(); ++b) {
      EXPECT_EQ(meet(items[a], items[b]), run[a].lower < run[b].upper && run[b].lower < run[a].upper);
    }
  }
}

TEST(Items, SizesAreRoundedUpAndPeaksAreOfSections) {
  const auto items = items_of({{0, 2, 1}, {1, 3, 513}, {3, 4, 4096}}, 512).take();
  EXPECT_EQ(items[0].bytes, 512U);
  EXPECT_EQ(items[1].bytes, 1024U);
  EXPECT_EQ(peak_bytes(items), 4096U);
  EXPECT_EQ(peak_bytes({}), 0U);
}

TEST(Items, WhatIsNoRunIsRefused) {
  EXPECT_EQ(items_of({{0, 1, 5}, {3, 3, 8}}, 512).status().text(),
            "tensor 1 lives from 3 to 3; its end must come after its beginning");
  EXPECT_EQ(items_of({{0, 1, 0}}, 512).status().code(), base::StatusCode::invalid_argument);
  EXPECT_EQ(items_of({{0, 1, 8}}, 0).status().code(), base::StatusCode::invalid_argument);
  EXPECT_EQ(items_of({{0, 1, kMostBytes + 1}}, 1).status().code(), base::StatusCode::limit_exceeded);
  EXPECT_EQ(items_of({{0, 1, kMostBytes}, {0, 1, 1}}, 1).status().code(), base::StatusCode::limit_exceeded);
}

// Four tensors, each meeting the next: no cut is possible.
std::vector<Lifetime> chain(std::uint64_t begin) {
  return {{begin + 1, begin + 10, 512},
          {begin + 5, begin + 20, 512},
          {begin + 15, begin + 30, 512},
          {begin + 25, begin + 35, 512}};
}

// A weight at the bottom, two requests above it, in the second a tensor that lives through all of it.
TEST(Parts, ARunFallsIntoRequestsAboveWhatSpansThem) {
  std::vector<Lifetime> run = {{0, 100, 512}, {40, 90, 1024}, {80, 85, 512}};
  for (const std::uint64_t begin : {0, 40}) {
    for (const Lifetime& lifetime : chain(begin)) run.push_back(lifetime);
  }
  const Cut cut = cut_into_parts(items_of(run, 512).take());
  EXPECT_EQ(cut.offsets[0], 0U);
  EXPECT_EQ(cut.offsets[1], 512U);
  EXPECT_EQ(cut.offsets[2], 1536U) << "alone after the second chain";
  EXPECT_EQ(cut.top, 2048U);
  ASSERT_EQ(cut.parts.size(), 2U);
  std::uint64_t bases = 0;
  for (const Part& part : cut.parts) {
    EXPECT_EQ(part.items, (std::vector<Item>{{0, 1, 512}, {0, 2, 512}, {1, 3, 512}, {2, 3, 512}}));
    EXPECT_EQ(part.sections, 3U);
    EXPECT_EQ(part.peak_bytes, 1024U);
    bases += part.base;
  }
  EXPECT_EQ(bases, 512U + 1536U);
}

TEST(Parts, AStackDeeperThanIsCutStaysWhole) {
  std::vector<Lifetime> run;
  for (std::uint64_t i = 0; i < 500; ++i) {
    run.push_back({3 * i, 100'000 - i, 512});
    run.push_back({3 * i + 1, 3 * i + 2, 512});
  }
  const Cut cut = cut_into_parts(items_of(run, 512).take());
  ASSERT_FALSE(cut.parts.empty());
  const Part& rest = *std::max_element(cut.parts.begin(), cut.parts.end(), [](const Part& one, const Part& other) {
    return one.members.size() < other.members.size();
  });
  EXPECT_GT(rest.members.size(), 800U);
  EXPECT_GT(rest.base, 60U * 512U) << "some levels were cut";
  EXPECT_EQ(rest.base + rest.peak_bytes, peak_bytes(items_of(run, 512).take()));
}

}  // namespace
}  // namespace cistern::plan
