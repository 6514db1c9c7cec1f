// The two halves together: of two threads that each write one flag and read the other's, one at least sees the other.
#include "base/asymmetric_fence.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace cistern::base {
namespace {

// Dekker's exchange, the frequent side free-running. Without the fences this fails within a few thousand rounds on any
// processor that buffers stores.
TEST(AsymmetricFence, OneOfTwoThreadsSeesTheOther) {
  prepare_asymmetric_fences();
  constexpr int kRounds = 3000;
  std::atomic<int> round{0};
  std::atomic<int> done{0};
  std::atomic<bool> frequent{false};
  std::atomic<bool> rare{false};
  bool frequent_saw = false;
  int missed = 0;
  std::thread other([&] {
    for (int i = 1; i <= kRounds; ++i) {
      while (round.load(std::memory_order_acquire) < i) std::this_thread::yield();
      frequent.store(true, std::memory_order_relaxed);
      light_fence();
      frequent_saw = rare.load(std::memory_order_relaxed);
      done.store(i, std::memory_order_release);
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    frequent.store(false, std::memory_order_relaxed);
    rare.store(false, std::memory_order_relaxed);
    round.store(i, std::memory_order_release);
    rare.store(true, std::memory_order_relaxed);
    heavy_fence();
    const bool rare_saw = frequent.load(std::memory_order_relaxed);
    while (done.load(std::memory_order_acquire) < i) std::this_thread::yield();
    missed += rare_saw || frequent_saw ? 0 : 1;
  }
  other.join();
  EXPECT_EQ(missed, 0);
}

TEST(AsymmetricFence, PreparingTwiceAnswersTheSame) {
  EXPECT_EQ(prepare_asymmetric_fences(), prepare_asymmetric_fences());
}

}  // namespace
}  // namespace cistern::base
