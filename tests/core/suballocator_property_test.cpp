// Histories drawn at random, shrunk when they fail, each step compared with the granule model.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <random>

#include "core/arena_driver.hpp"
#include "instrumented.hpp"

namespace rc {
template <>
struct Arbitrary<cistern::core::testing::Step> {
  static Gen<cistern::core::testing::Step> arbitrary() {
    using cistern::core::testing::Step;
    // All values are equally likely whatever the size: small numbers are not simpler steps.
    return gen::build<Step>(gen::set(&Step::action, gen::resize(kNominalSize, gen::arbitrary<std::uint8_t>())),
                            gen::set(&Step::detail, gen::resize(kNominalSize, gen::arbitrary<std::uint8_t>())),
                            gen::set(&Step::first, gen::resize(kNominalSize, gen::arbitrary<std::uint16_t>())),
                            gen::set(&Step::second, gen::resize(kNominalSize, gen::arbitrary<std::uint16_t>())));
  }
};
}  // namespace rc

namespace cistern::core::testing {

void showValue(const Step& step, std::ostream& out) {
  out << '{' << int{step.action} << ", " << int{step.detail} << ", " << step.first << ", " << step.second << '}';
}

TEST(SuballocatorProperty, EveryHistoryMatchesTheModel) {
  EXPECT_TRUE(rc::check("every step of every history matches the model", [] {
    const auto shape = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint16_t>());
    const auto steps = *rc::gen::arbitrary<std::vector<Step>>();
    ArenaDriver driver(shape);
    const std::string problem = driver.run_all(steps);
    if (!problem.empty()) RC_FAIL(problem);
  }));
}

// Longer histories than rapidcheck draws, from fixed seeds and through the fuzzer's entrance: the same in every build.
class SeededHistory : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(SeededHistory, MatchesTheModel) {
  std::mt19937 random(GetParam());
  for (int history = 0; history < history_steps(60); ++history) {
    std::vector<std::uint8_t> bytes(2 + 6 * 400);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    ASSERT_EQ(run_bytes(bytes.data(), bytes.size()), "") << "history " << history;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SeededHistory, ::testing::Range(1U, 9U));

}  // namespace cistern::core::testing
