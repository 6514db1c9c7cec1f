// Allocation goes on while others compact, miss, trim and are told of pages that move: nothing is served twice,
// contents stay, nobody waits for good. Run under TSan, too.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "compact/scheduler.hpp"
#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

class Count final : public BackingListener {
 public:
  void on_backing_changed(const BackingChange& change) noexcept override {
    bytes.fetch_add(change.bytes, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> bytes{0};
};

// Allocates and frees sizes from a few bytes to many pages; stamps both ends of what it holds and looks at them later.
void serve(TestPool& test, unsigned seed, int rounds, std::atomic<std::uint64_t>* refused) {
  struct Held {
    device::Address at;
    std::uint64_t bytes;
    unsigned char stamp;
  };
  std::vector<Held> held;
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  const auto draw = [&state](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  const auto let_go = [&](std::size_t i) {
    auto* memory = static_cast<unsigned char*>(test.device->host_alias(held[i].at));
    ASSERT_EQ(memory[0], held[i].stamp);
    ASSERT_EQ(memory[held[i].bytes - 1], held[i].stamp);
    ASSERT_TRUE(test->free(held[i].at).is_ok());
    held[i] = held.back();
    held.pop_back();
  };
  for (int round = 0; round < rounds; ++round) {
    if (held.size() > 12 || (!held.empty() && draw(3) == 0)) {
      let_go(draw(held.size()));
      continue;
    }
    const std::uint64_t bytes = draw(4) == 0 ? (1 + draw(10)) * kTestPage : 1 + draw(kTestPage);
    auto served = test->allocate(bytes);
    if (!served.is_ok()) {
      refused->fetch_add(1);
      continue;
    }
    const auto stamp = static_cast<unsigned char>(1 + draw(255));
    auto* memory = static_cast<unsigned char*>(test.device->host_alias(served.value()));
    memory[0] = memory[bytes - 1] = stamp;
    held.push_back({served.value(), bytes, stamp});
  }
  while (!held.empty()) let_go(held.size() - 1);
}

TEST(CompactionThreads, ServeWhileOthersMoveTheirPages) {
  for (const char* kind : {"host", "simulated"}) {
    PoolOptions options;
    options.limit_bytes = 96 * kTestPage;
    options.compact_actively = true;
    options.compact_interval_ms = 1;
    options.compact_threshold = 0.05;
    options.step_us = 50;
    TestPool test(make_device(kind, 1024 * kMiB), options);
    auto count = std::make_shared<Count>();
    test->set_backing_listener(count);
    const auto scheduler = compact::Scheduler::start(*test.pool);
    std::atomic<std::uint64_t> refused{0};
    std::atomic<int> working{3};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        serve(test, i + 1, 4000, &refused);
        working.fetch_sub(1);
      });
    }
    threads.emplace_back([&] {
      CompactionRequest request;
      request.max_us = 2000;
      request.rate_goal = 0.05;
      for (int i = 0; working.load() > 0; ++i) {
        EXPECT_TRUE(test->compact(request).is_ok());
        if (i % 16 == 0) {
          (void)test->trim(48 * kTestPage);
          EXPECT_EQ(test->validate(), "");
          (void)test->snapshot();
        }
        std::this_thread::yield();
      }
    });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(test->validate(), "") << kind;
    const Ledger ledger = test->ledger();
    EXPECT_EQ(ledger.allocated_bytes, 0U);
    EXPECT_GT(ledger.stitched_pages + ledger.compacted_bytes, 0U) << "nothing moved: the test tests nothing";
    EXPECT_GT(count->bytes.load(), 0U);
  }
}

// Several threads miss at once, each more than a hole holds: all are served, one after another.
TEST(CompactionThreads, MissesTakeTurnsInOrder) {
  PoolOptions options;
  options.limit_bytes = 64 * kTestPage;
  options.step_us = 10;
  TestPool test(make_device("simulated", 64 * kMiB), options);
  std::vector<device::Address> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(must_allocate(*test.pool, kTestPage));
  for (std::size_t i = 0; i < blocks.size(); i += 2) ASSERT_TRUE(test->free(blocks[i]).is_ok());
  std::vector<std::thread> threads;
  std::atomic<int> served{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { served.fetch_add(must_allocate(*test.pool, 8 * kTestPage) != 0 ? 1 : 0); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served.load(), 4);
  EXPECT_EQ(test->ledger().reserved_bytes, 64 * kTestPage);
  EXPECT_EQ(test->validate(), "");
}

}  // namespace
}  // namespace cistern::pool
