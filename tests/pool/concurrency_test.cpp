// Many threads on one pool: nothing served twice, nothing lost, sums exact, while others trim, look and fail.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

// Allocates and frees at random; every block is stamped with its owner and checked before it goes.
void work(TestPool& test, unsigned seed, std::atomic<int>& corrupted) {
  std::mt19937 random(seed);
  struct Live {
    device::Address at;
    std::uint64_t bytes;
  };
  std::vector<Live> live;
  const auto stamp_of = [&](const Live& block) { return block.at * 31 + seed; };
  const auto word_at = [&](device::Address at) { return static_cast<std::uint64_t*>(test.device->host_alias(at)); };
  for (int step = 0; step < 1500; ++step) {
    if (random() % 100 < 55 && live.size() < 24) {
      const std::uint64_t bytes = random() % 2 == 0 ? 4096 : 512 * (1 + random() % 256);  // some sizes recur
      const device::Address at = must_allocate(*test.pool, bytes);
      if (at == 0) continue;
      live.push_back({at, bytes});
      *word_at(at) = stamp_of(live.back());
      *word_at(at + bytes - 8) = stamp_of(live.back());
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      const Live block = live.back();
      live.pop_back();
      if (*word_at(block.at) != stamp_of(block) || *word_at(block.at + block.bytes - 8) != stamp_of(block)) ++corrupted;
      if (!test->free(block.at).is_ok()) ++corrupted;
    }
  }
  for (const Live& block : live) {
    if (!test->free(block.at).is_ok()) ++corrupted;
  }
}

// Growth and magazine bytes.
using ConcurrentSetup = std::tuple<Growth, std::uint64_t>;
class PoolConcurrency : public ::testing::TestWithParam<ConcurrentSetup> {};

TEST_P(PoolConcurrency, ThreadsShareAPoolWhileItIsTrimmedAndLookedAt) {
  PoolOptions options;
  std::tie(options.growth, options.magazine_bytes) = GetParam();
  options.limit_bytes = 4 * kMiB;  // tight: misses and failures happen all the time
  TestPool test(make_device("host", 64 * kMiB), options);
  std::atomic<int> corrupted{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back([&, i] { work(test, i + 1, corrupted); });
  std::thread watcher([&] {
    while (!done) {
      (void)test->trim(kMiB);
      const Ledger ledger = test->ledger();
      if (ledger.moving_bytes > ledger.reserved_bytes) ++corrupted;  // the other sums passed the reserved bytes
      if (ledger.reserved_bytes > ledger.limit_bytes) ++corrupted;
      if (test->snapshot().ledger.live_blocks > 4 * 24) ++corrupted;
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  watcher.join();
  EXPECT_EQ(corrupted, 0);
  EXPECT_EQ(test->validate(), "");
  EXPECT_EQ(test->ledger().allocated_bytes, 0u);
  EXPECT_TRUE(test->trim(0).is_ok());
  EXPECT_EQ(test.device->counters().driver_bytes, 0u);
}

TEST_P(PoolConcurrency, OneNameIsServedOnce) {
  PoolOptions options;
  std::tie(options.growth, options.magazine_bytes) = GetParam();
  TestPool test(make_device("counting", 64 * kMiB), options);
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      AllocationRequest request;
      request.bytes = kMiB;
      request.name = "only one";
      if (test->allocate(request).is_ok()) ++served;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, 1);
  EXPECT_EQ(test->ledger().live_blocks, 1u);
}

// Two threads free one block at the same instant: one of them is told, and the block is served once.
TEST_P(PoolConcurrency, ABlockFreedTwiceAtOnceIsFreedOnce) {
  PoolOptions options;
  std::tie(options.growth, options.magazine_bytes) = GetParam();
  TestPool test(make_device("counting", 64 * kMiB), options);
  for (int round = 0; round < 300; ++round) {
    const device::Address at = must_allocate(*test.pool, 4096);
    ASSERT_NE(at, 0u);
    std::atomic<int> ready{0};
    std::atomic<int> freed{0};
    const auto free_it = [&] {
      ++ready;
      while (ready < 2) {
      }
      if (test->free(at).is_ok()) ++freed;
    };
    std::thread other(free_it);
    free_it();
    other.join();
    ASSERT_EQ(freed, 1) << "round " << round;
    const device::Address first = must_allocate(*test.pool, 4096);
    const device::Address second = must_allocate(*test.pool, 4096);
    ASSERT_NE(first, second);
    ASSERT_TRUE(test->free(first).is_ok());
    ASSERT_TRUE(test->free(second).is_ok());
  }
  EXPECT_EQ(test->validate(), "");
  EXPECT_EQ(test->ledger().allocated_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, PoolConcurrency,
                         ::testing::Combine(::testing::Values(Growth::expandable, Growth::arenas),
                                            ::testing::Values(0, kMiB)),
                         [](const ::testing::TestParamInfo<ConcurrentSetup>& setup) {
                           return std::string(growth_name(std::get<0>(setup.param))) +
                                  (std::get<1>(setup.param) != 0 ? "_magazines" : "");
                         });

}  // namespace
}  // namespace cistern::pool
