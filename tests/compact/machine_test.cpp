// A random life of a pool of movable and ordinary blocks, with everything that relocation meets: after every step each
// live byte is as it was, the ledger is exact, and a request that was refused could not have been served from a hole.
#include <gtest/gtest.h>

#include <random>

#include "compact/movable_world.hpp"
#include "instrumented.hpp"

namespace cistern::compact {
namespace {

// After some hundred steps memory is crowded, and each costs far more than the first ones.
constexpr int kSteps = kIsInstrumented ? 150 : 400;

using Setup = std::tuple<const char*, pool::Growth, core::FitPolicy, unsigned>;

class Life : public ::testing::TestWithParam<Setup> {
 protected:
  Life() : random_(std::get<3>(GetParam())), world_(setup()) {}

  static WorldSetup setup() {
    WorldSetup setup;
    setup.device = std::get<0>(GetParam());
    setup.growth = std::get<1>(GetParam());
    setup.policy = std::get<2>(GetParam());
    setup.limit_bytes = 6 * kMiB;
    return setup;
  }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::uint64_t some_bytes() {
    switch (below(4)) {
      case 0:
        return 1 + below(4 * kKiB);
      case 1:
        return 1 + below(600 * kKiB);
      case 2:
        return kMiB + below(2 * kMiB);
      default:
        return (1 + below(8)) * 64 * kKiB;
    }
  }
  pool::MovableId any_movable() {
    const auto& all = world_.movables();
    return all.empty() ? 0 : std::next(all.begin(), static_cast<long>(below(all.size())))->first;
  }

  void step() {
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
      case 6:
        allocate();
        break;
      case 7:
        if (world_.fixed().size() < 4) (void)world_.add_fixed(some_bytes() / 4 + 1);
        break;
      case 8:
        if (!world_.fixed().empty()) world_.drop_fixed(world_.fixed().begin()->first);
        break;
      case 9:
        pin_for_a_while();
        break;
      case 10:
        use_quiet_moment();
        break;
      case 11:
        ASSERT_TRUE(world_.pool().trim(below(8) * kMiB).is_ok());
        break;
      default:
        if (const pool::MovableId id = any_movable()) world_.drop(id);
    }
  }
  void allocate() {
    const std::uint64_t bytes = some_bytes();
    const std::uint64_t alignment = below(4) == 0 ? std::uint64_t{1} << (9 + below(9)) : 0;
    if (world_.add(bytes, alignment) != 0) return;
    EXPECT_LT(world_.pool().ledger().largest_free_bytes, bytes + alignment) << "a hole was there";
  }
  // Requests that must leave some blocks where they are.
  void pin_for_a_while() {
    std::vector<std::pair<pool::MovableId, device::Address>> pinned;
    for (int i = 0; i < 3; ++i) {
      if (const pool::MovableId id = any_movable()) pinned.emplace_back(id, world_.pool().pin(id).value());
    }
    allocate();
    use_quiet_moment();
    for (const auto& [id, address] : pinned) {
      EXPECT_EQ(world_.pool().describe_movable(id).value().block.address, address) << "moved under a pin";
      EXPECT_TRUE(world_.pool().unpin(id).is_ok());
    }
  }
  void use_quiet_moment() {
    pool::CompactionRequest request;
    request.max_bytes = below(2) == 0 ? pool::CompactionRequest::kUnlimited : below(kMiB);
    auto report = world_.pool().compact(request);
    ASSERT_TRUE(report.is_ok());
    EXPECT_LE(report.value().copied_bytes, request.max_bytes);
  }

  std::mt19937_64 random_;
  MovableWorld world_;
};

TEST_P(Life, EveryLiveByteIsAsItWas) {
  ASSERT_TRUE(world_.is_made());
  for (int i = 0; i < kSteps && !HasFailure(); ++i) {
    step();
    world_.verify("a step");
  }
  EXPECT_GT(world_.pool().ledger().moves, kIsInstrumented ? 1U : 10U) << "a life without relocation proves nothing";
}

std::string name_of(const ::testing::TestParamInfo<Setup>& life) {
  return std::string(std::get<0>(life.param)) + "_" + std::string(pool::growth_name(std::get<1>(life.param))) + "_" +
         std::string(pool::policy_name(std::get<2>(life.param))) + "_" + std::to_string(std::get<3>(life.param));
}

INSTANTIATE_TEST_SUITE_P(Host, Life,
                         ::testing::Combine(::testing::Values("host"),
                                            ::testing::Values(pool::Growth::expandable, pool::Growth::arenas),
                                            ::testing::Values(core::FitPolicy::best_fit, core::FitPolicy::first_fit),
                                            ::testing::Values(1U, 2U, 3U)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Others, Life,
                         ::testing::Combine(::testing::Values("simulated", "counting"),
                                            ::testing::Values(pool::Growth::expandable, pool::Growth::arenas),
                                            ::testing::Values(core::FitPolicy::best_fit), ::testing::Values(4U)),
                         name_of);

}  // namespace
}  // namespace cistern::compact
