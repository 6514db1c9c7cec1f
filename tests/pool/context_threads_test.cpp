// Contexts under many threads: a noisy neighbour, contexts that ask one another at once, contexts that come and go.
#include <atomic>
#include <random>
#include <thread>

#include "pool/context_fixture.hpp"

namespace cistern::pool {
namespace {

// Asks for everything, for as long as it is let, and frees now and then.
void be_noisy(Pool& pool, unsigned seed, const std::atomic<bool>& done) {
  std::mt19937 random(seed);
  std::vector<device::Address> blocks;
  while (!done) {
    const device::Address block = must_allocate(pool, kTestPage * (1 + random() % 16));
    if (block != 0) blocks.push_back(block);
    if (block == 0 || random() % 8 == 0) {
      for (std::size_t n = random() % 4; n > 0 && !blocks.empty(); --n) {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        EXPECT_TRUE(pool.free(blocks.back()).is_ok());
        blocks.pop_back();
      }
    }
  }
  for (const device::Address block : blocks) EXPECT_TRUE(pool.free(block).is_ok());
}

// Goes up to its minimum and back, again and again; what is asked for is whole pages, so all of it can be used.
std::uint64_t live_within_minimum(Pool& pool, unsigned seed, int rounds) {
  std::mt19937 random(seed);
  std::uint64_t failed = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<device::Address> blocks;
    std::uint64_t left = pool.options().minimum_bytes / kTestPage;
    while (left > 0) {
      const std::uint64_t pages = std::min<std::uint64_t>(left, 1 + random() % 8);
      const device::Address block = must_allocate(pool, pages * kTestPage);
      if (block == 0) ++failed;
      if (block != 0) blocks.push_back(block);
      left -= pages;
    }
    for (const device::Address block : blocks) EXPECT_TRUE(pool.free(block).is_ok());
    const bool begins_anew = round % 2 == 0;  // with no page at all
    EXPECT_TRUE(!begins_anew || pool.trim(0).is_ok());
  }
  return failed;
}

TEST(ContextThreads, RequestsWithinTheMinimumNeverFailWhateverANeighbourDoes) {
  const TestDevice on("counting", 24 * kMiB);
  auto noisy = on.make("noisy", kMiB);
  std::vector<std::unique_ptr<Pool>> quiet;
  for (int i = 0; i < 3; ++i) quiet.push_back(on.make("quiet " + std::to_string(i), 4 * kMiB).take());
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> failed{0};
  std::vector<std::thread> neighbours;
  for (unsigned i = 0; i < 3; ++i) neighbours.emplace_back([&, i] { be_noisy(*noisy.value(), i, done); });
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] { failed += live_within_minimum(*quiet[i], 100 + i, 60); });
  }
  std::thread watcher([&] {
    while (!done) {
      const DeviceShare share = on.contexts->share();
      if (share.reserved_bytes > share.capacity_bytes) ++failed;
      if (on.contexts->views().size() != 4) ++failed;
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  for (std::thread& thread : neighbours) thread.join();
  watcher.join();
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(noisy.value()->validate(), "");
  for (const auto& pool : quiet) EXPECT_EQ(pool->validate(), "");
  EXPECT_EQ(on.reserved(), on.given_by_device());
}

// Each has what the other lacks, so both ask at once, over and over. Nobody may wait for ever.
TEST(ContextThreads, ContextsThatAskOneAnotherAtOnceGoOn) {
  const TestDevice on("counting", 8 * kMiB);
  std::vector<std::unique_ptr<Pool>> pools;
  for (int i = 0; i < 3; ++i) pools.push_back(on.make("context " + std::to_string(i), kMiB).take());
  std::atomic<std::uint64_t> served{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      Pool& pool = *pools[i % 3];
      std::mt19937 random(i);
      for (int round = 0; round < 200; ++round) {
        const device::Address block = must_allocate(pool, kMiB + random() % (2 * kMiB));
        if (block == 0) continue;
        ++served;
        EXPECT_TRUE(pool.free(block).is_ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(served, 600u);
  for (const auto& pool : pools) EXPECT_EQ(pool->validate(), "");
  EXPECT_EQ(on.reserved(), on.given_by_device());
}

// Lenders end while others ask them.
TEST(ContextThreads, ContextsComeAndGoWhileOthersAskThem) {
  const TestDevice on("counting", 16 * kMiB);
  auto stays = on.make("stays", kMiB);
  std::atomic<bool> done{false};
  std::thread needy([&] {
    while (!done) {
      const device::Address block = must_allocate(*stays.value(), 14 * kMiB);
      EXPECT_TRUE(block == 0 || stays.value()->free(block).is_ok());
      EXPECT_EQ(stays.value()->free(77).code(), base::StatusCode::not_found);  // asks the others, too
    }
  });
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 100; ++round) {
        auto pool = on.make("comes and goes " + std::to_string(i), round % 2 == 0 ? 0 : kMiB);
        if (!pool.is_ok()) continue;  // what it would be promised is in use
        const device::Address block = must_allocate(*pool.value(), 2 * kMiB);
        EXPECT_TRUE(block == 0 || pool.value()->free(block).is_ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  needy.join();
  EXPECT_EQ(on.contexts->share().contexts, 1u);
  EXPECT_EQ(stays.value()->validate(), "");
  EXPECT_EQ(on.reserved(), on.given_by_device());
}

}  // namespace
}  // namespace cistern::pool
