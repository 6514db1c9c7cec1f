// Elastic buffers that grow and shrink while other threads allocate, free, trim and look.
#include <atomic>
#include <random>
#include <thread>

#include "pool/elastic_fixture.hpp"

namespace cistern::pool {
namespace {

void resize_at_random(TestPool& test, unsigned seed, std::atomic<int>& wrong) {
  std::mt19937 random(seed);
  ElasticStamps stamps(*test.device);
  for (int life = 0; life < 6; ++life) {
    const ElasticView buffer = test->reserve_elastic(2 * kMiB).take();
    std::uint64_t bytes = 0;
    for (int step = 0; step < 40; ++step) {
      const std::uint64_t to = random() % (2 * kMiB);
      if (to < bytes) {
        if (!test->shrink_elastic(buffer.id, to).is_ok()) ++wrong;
        bytes = to;
      } else if (const base::Status grown = test->grow_elastic(buffer.id, to); grown.is_ok()) {
        stamps.write(buffer.address, bytes, to);
        bytes = to;
      } else if (grown.code() != base::StatusCode::limit_exceeded && grown.code() != base::StatusCode::busy) {
        ++wrong;
      }
      if (!stamps.hold(buffer.address, bytes)) ++wrong;
    }
    if (!test->release_elastic(buffer.id).is_ok()) ++wrong;
  }
}

void allocate_at_random(TestPool& test, unsigned seed, std::atomic<int>& wrong) {
  std::mt19937 random(seed);
  ElasticStamps stamps(*test.device);
  std::vector<std::pair<device::Address, std::uint64_t>> live;
  for (int step = 0; step < 1200; ++step) {
    if (random() % 100 < 55 && live.size() < 16) {
      const std::uint64_t bytes = 512 * (1 + random() % 256);
      const device::Address at = must_allocate(*test.pool, bytes);
      if (at == 0) continue;
      stamps.write(at, 0, bytes);
      live.emplace_back(at, bytes);
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      if (!stamps.hold(live.back().first, live.back().second)) ++wrong;
      if (!test->free(live.back().first).is_ok()) ++wrong;
      live.pop_back();
    }
  }
  for (const auto& [at, bytes] : live) {
    if (!test->free(at).is_ok()) ++wrong;
  }
}

class ElasticThreads : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ElasticThreads, BuffersGrowWhileOthersAllocate) {
  PoolOptions options = elastic_options(6 * kMiB);  // tight: refusals and stitches happen all the time
  options.magazine_bytes = GetParam();
  TestPool test(make_device("host", 64 * kMiB), options);
  std::atomic<int> wrong{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) threads.emplace_back([&, i] { resize_at_random(test, i + 1, wrong); });
  for (unsigned i = 0; i < 2; ++i) threads.emplace_back([&, i] { allocate_at_random(test, i + 7, wrong); });
  std::thread watcher([&] {
    while (!done) {
      (void)test->trim(4 * kMiB);
      const Ledger ledger = test->ledger();
      if (ledger.moving_bytes > ledger.reserved_bytes || ledger.reserved_bytes > ledger.limit_bytes) ++wrong;
      if (test->snapshot().elastics.size() > 2) ++wrong;
      if (!test->validate().empty()) ++wrong;
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  watcher.join();
  EXPECT_EQ(wrong, 0);
  expect_exact(test);
  EXPECT_EQ(test->ledger().allocated_bytes, 0u);
  EXPECT_TRUE(test->trim(0).is_ok());
  EXPECT_EQ(test.device->counters().driver_bytes, 0u);
}
INSTANTIATE_TEST_SUITE_P(MagazineBytes, ElasticThreads, ::testing::Values(0, 1 * kMiB));

// Calls on one buffer come one after the other; who does not keep to that is told, and nothing breaks.
TEST(ElasticThreads, TwoThreadsOnOneBufferAreToldApart) {
  TestPool test(make_device("host", 64 * kMiB), elastic_options(8 * kMiB));
  const ElasticView buffer = test->reserve_elastic(8 * kMiB).take();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(i);
      for (int step = 0; step < 100; ++step) {
        const std::uint64_t to = random() % (8 * kMiB);
        const base::Status status =
            random() % 2 == 0 ? test->grow_elastic(buffer.id, to) : test->shrink_elastic(buffer.id, to);
        const base::StatusCode code = status.code();
        if (code != base::StatusCode::ok && code != base::StatusCode::busy &&
            code != base::StatusCode::invalid_argument) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  expect_exact(test);
  EXPECT_TRUE(test->release_elastic(buffer.id).is_ok());
  expect_exact(test);
}

}  // namespace
}  // namespace cistern::pool
