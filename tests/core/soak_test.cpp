// A million operations on an arena of a real device's size, from a fixed seed, with every invariant checked on a
// schedule and every refusal checked by a walk over all blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/suballocator.hpp"

namespace cistern::core {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kOperations = 100'000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr int kOperations = 100'000;
#else
constexpr int kOperations = 1'000'000;
#endif
#else
constexpr int kOperations = 1'000'000;
#endif

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kPage = 2 * kMiB;

class Soak : public ::testing::TestWithParam<FitPolicy> {
 protected:
  void SetUp() override {
    SuballocatorConfig config;
    config.range_bytes = 140'000 * kMiB;
    config.page_bytes = kPage;
    config.policy = GetParam();
    arena_ = Suballocator::create(config).take();
  }

  bool some_hole_holds(std::uint64_t bytes, std::uint64_t alignment) const {
    for (BlockIndex block = arena_->first_block(); block != kNoBlock; block = arena_->next_block(block)) {
      const BlockView view = arena_->view(block);
      if (view.state != BlockState::free || view.readiness.slot != kReadySlot) continue;
      const std::uint64_t begin = (view.range.offset + alignment - 1) / alignment * alignment;
      if (begin + bytes <= view.range.end()) return true;
    }
    return false;
  }

  // Allocates, repairing and growing as a pool would, up to a limit of pages.
  void allocate() {
    const std::uint64_t bytes = std::uint64_t{1} << (9 + random_() % 18);  // 512 B to 64 MiB
    const std::uint64_t wanted = bytes - random_() % (bytes / 2);
    const std::uint64_t alignment = random_() % 16 == 0 ? 512U << (random_() % 13) : 512;
    BlockIndex block = arena_->allocate(wanted, alignment);
    if (block == kNoBlock) {
      if (++misses_ % 16 == 0) {
        ASSERT_FALSE(some_hole_holds((wanted + 511) / 512 * 512, alignment));
      }
      repair(wanted, alignment);
      block = arena_->allocate(wanted, alignment);
    }
    if (block == kNoBlock) return release_some(live_.size() / 4);
    ASSERT_EQ(arena_->find_live(arena_->view(block).range.offset), block);
    live_.push_back(block);
  }

  void repair(std::uint64_t bytes, std::uint64_t alignment) {
    const std::uint64_t mapped = arena_->config().range_bytes - arena_->totals().vacant_bytes;
    RepairLimits limits;
    limits.max_new_pages = (kLimit - std::min(kLimit, mapped)) / kPage;
    limits.use_donors = random_() % 2 == 0;
    RepairPlan plan;
    if (!arena_->plan_repair(bytes, alignment, limits, &plan)) return;
    for (const Range& donor : plan.donors) ASSERT_TRUE(arena_->vacate(donor));
    for (const Range& fill : plan.fills) ASSERT_TRUE(arena_->fill(fill));
    ASSERT_GE(arena_->largest_free_bytes(), bytes);
    ++repairs_;
  }

  void release() {
    std::swap(live_[random_() % live_.size()], live_.back());
    const Readiness readiness =
        random_() % 4 == 0 ? Readiness{static_cast<ReadinessSlot>(1 + random_() % 3), batch_} : Readiness{};
    ASSERT_TRUE(arena_->release(live_.back(), readiness));
    live_.pop_back();
  }
  void release_some(std::size_t count) {
    for (; count > 0; --count) release();
  }

  static constexpr std::uint64_t kLimit = 16'000 * kMiB;
  std::unique_ptr<Suballocator> arena_;
  std::mt19937 random_{20261130};
  std::vector<BlockIndex> live_;
  std::uint32_t batch_ = 1;
  std::uint64_t misses_ = 0;
  std::uint64_t repairs_ = 0;
};

TEST_P(Soak, KeepsEveryInvariant) {
  for (int i = 0; i < kOperations; ++i) {
    // The number of live blocks swings, so that holes are made and closed on every scale.
    const std::size_t wanted = 200 + static_cast<std::size_t>(i / 1000 % 7) * 400;
    if (live_.size() < wanted ? random_() % 8 != 0 : random_() % 8 == 0) {
      allocate();
    } else if (!live_.empty()) {
      release();
    }
    if (i % 97 == 0) {
      arena_->make_ready(static_cast<ReadinessSlot>(1 + random_() % 3), batch_ - 1);
      ++batch_;
    }
    if (i % 1013 == 0) {
      for (const Range& pages : arena_->wholly_free_pages(64 * kMiB)) ASSERT_TRUE(arena_->vacate(pages));
    }
    if (i % 5003 == 0) {
      ASSERT_EQ(arena_->validate(), "") << "operation " << i;
    }
    if (HasFatalFailure()) return;
  }
  ASSERT_EQ(arena_->validate(), "");
  EXPECT_GT(repairs_, 100U) << "the soak must reach repairs to mean anything";
  release_some(live_.size());
  for (unsigned slot = 1; slot <= 3; ++slot) arena_->make_ready(static_cast<ReadinessSlot>(slot), batch_);
  EXPECT_EQ(arena_->totals().live_bytes, 0U);
  EXPECT_EQ(arena_->totals().free_pending_bytes, 0U);
  EXPECT_EQ(arena_->validate(), "");
}

INSTANTIATE_TEST_SUITE_P(Policies, Soak,
                         ::testing::Values(FitPolicy::best_fit, FitPolicy::first_fit, FitPolicy::exact_best_fit));

}  // namespace
}  // namespace cistern::core
