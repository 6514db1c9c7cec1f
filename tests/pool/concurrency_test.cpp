// Many threads on one pool: nothing served twice, nothing lost, sums exact, while others trim, look and fail.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
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
      const std::uint64_t bytes = 512 * (1 + random() % 256);
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

class PoolConcurrency : public ::testing::TestWithParam<Growth> {};

TEST_P(PoolConcurrency, ThreadsShareAPoolWhileItIsTrimmedAndLookedAt) {
  PoolOptions options;
  options.growth = GetParam();
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
  options.growth = GetParam();
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

INSTANTIATE_TEST_SUITE_P(All, PoolConcurrency, ::testing::Values(Growth::expandable, Growth::arenas),
                         growth_param_name);

}  // namespace
}  // namespace cistern::pool
