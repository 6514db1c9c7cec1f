// The checker: what it accepts and each way in which a plan can be wrong.
#include <gtest/gtest.h>

#include <string>

#include "plan/offset_plan.hpp"

namespace cistern::plan {
namespace {

// A and B meet; C lives after A has gone.
const std::vector<Lifetime> kRun = {{0, 10, 512}, {5, 20, 1024}, {10, 20, 512}};

std::string check(std::vector<std::uint64_t> offsets, std::uint64_t bytes, std::uint64_t alignment = 512) {
  OffsetPlan plan;
  plan.offsets = std::move(offsets);
  plan.bytes = bytes;
  plan.alignment = alignment;
  const base::Status outcome = check_plan(kRun, plan);
  if (!outcome.is_ok()) {
    EXPECT_EQ(outcome.code(), base::StatusCode::corrupted);
  }
  return std::string(outcome.text());
}

TEST(CheckPlan, AcceptsTensorsThatNeverMeetAtOnePlace) { EXPECT_EQ(check({0, 512, 0}, 1536), ""); }

TEST(CheckPlan, AnEndAndABeginningAtOneTimeDoNotMeet) { EXPECT_EQ(check({0, 512, 0}, 1536), ""); }

TEST(CheckPlan, RefusesTensorsThatShareAnAddress) {
  EXPECT_EQ(check({512, 0, 1024}, 1536),
            "the plan is wrong: tensor 1 at [0, 1024) meets tensor 0 at [512, 1024), which is live at time 5");
  EXPECT_EQ(check({0, 512, 1024}, 1536),
            "the plan is wrong: tensor 2 at [1024, 1536) meets tensor 1 at [512, 1536), which is live at time 10");
  EXPECT_EQ(check({0, 0, 1024}, 1536),
            "the plan is wrong: tensor 1 at [0, 1024) meets tensor 0 at [0, 512), which is live at time 5");
}

TEST(CheckPlan, RefusesPlacesOutsideTheRange) {
  EXPECT_EQ(check({0, 512, 0}, 1535),
            "the plan is wrong: tensor 1 of 1024 bytes at 512 ends beyond the plan's 1535 bytes");
  EXPECT_NE(check({0, ~std::uint64_t{0} - 511, 0}, 1536), "") << "an end that wraps";
}

TEST(CheckPlan, RefusesPlacesBesideTheAlignment) {
  EXPECT_EQ(check({0, 512, 0}, 1536, 1024),
            "the plan is wrong: tensor 1 begins at 512, no multiple of the alignment, 1024");
}

TEST(CheckPlan, RefusesOffsetsForOtherTensors) {
  EXPECT_EQ(check({0, 512}, 1536), "the plan is wrong: it has 2 offsets for 3 tensors");
}

}  // namespace
}  // namespace cistern::plan
