// The scheduler's decisions with a clock that the test owns, and its thread through starts, forks and exits.
#include "compact/scheduler.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "pool/pool_fixture.hpp"

namespace cistern::compact {
namespace {

using pool::kMiB;
using pool::kTestPage;

constexpr std::uint64_t kMs = 1'000'000;

pool::PoolOptions limited(int pages) {
  pool::PoolOptions options;
  options.limit_bytes = static_cast<std::uint64_t>(pages) * kTestPage;
  options.compact_interval_ms = 1000;
  options.compact_threshold = 1;
  return options;
}

struct Watched {
  explicit Watched(const pool::PoolOptions& options = limited(16))
      : test(pool::make_device("counting", 64 * kMiB), options), watch(*test.pool, clock) {}
  // A size that will be exposed, then a comb.
  void fragment() {
    EXPECT_TRUE(test->free(pool::must_allocate(*test.pool, 4 * kTestPage)).is_ok());
    for (int i = 0; i < 16; ++i) blocks.push_back(pool::must_allocate(*test.pool, kTestPage));
    for (std::size_t i = 0; i < blocks.size(); i += 2) EXPECT_TRUE(test->free(blocks[i]).is_ok());
  }
  // One allocation and free: a sign of life.
  void call() { EXPECT_TRUE(test->free(pool::must_allocate(*test.pool, 512)).is_ok()); }
  std::uint64_t tick_after(std::uint64_t ns) {
    clock.advance(ns);
    return watch.tick();
  }

  base::ManualClock clock;
  pool::TestPool test;
  Watch watch;
  std::vector<device::Address> blocks;
};

TEST(Watch, LooksEveryIntervalAndDoesNothingWithoutAReason) {
  Watched it;
  EXPECT_EQ(it.watch.tick(), 1000 * kMs);
  EXPECT_EQ(it.tick_after(400 * kMs), 600 * kMs) << "not due yet";
  EXPECT_EQ(it.tick_after(600 * kMs), 1000 * kMs);
  EXPECT_EQ(it.watch.counts().looks, 0U);
}

TEST(Watch, CompactsInAQuietMoment) {
  Watched it;
  it.fragment();
  EXPECT_EQ(it.tick_after(1000 * kMs), Watch::kQuietNs);
  EXPECT_EQ(it.watch.counts().passes, 0U);
  EXPECT_EQ(it.tick_after(Watch::kQuietNs), Watch::kLeastPauseNs) << "the pass gained: look again soon";
  EXPECT_EQ(it.watch.counts().passes, 1U);
  EXPECT_EQ(it.test->ledger().exposure, 0);
  EXPECT_EQ(it.tick_after(Watch::kLeastPauseNs), 1000 * kMs) << "no reason any more";
}

TEST(Watch, SkipsBusyMomentsButNotForLongerThanAnInterval) {
  Watched it;
  it.fragment();
  it.clock.advance(1000 * kMs);
  std::uint64_t rounds = 0;
  for (; it.watch.counts().passes == 0 && rounds < 100; ++rounds) {
    EXPECT_EQ(it.watch.tick(), Watch::kQuietNs);
    it.clock.advance(Watch::kQuietNs);
    it.call();
    if (it.watch.tick() == Watch::kLeastPauseNs) it.clock.advance(Watch::kLeastPauseNs);
  }
  EXPECT_GE(rounds, 9U) << "busy moments are skipped, 100 ms each";
  EXPECT_LE(rounds, 11U) << "but not for longer than the interval";
  EXPECT_EQ(it.watch.counts().postponed, rounds - 1);
  EXPECT_EQ(it.test->ledger().exposure, 0);
}

TEST(Watch, APassThatGainsNothingIsNotRepeatedBeforeTheNextInterval) {
  pool::PoolOptions options = limited(16);
  options.compact_threshold = 0.01;
  Watched it(options);
  // Only halves of pages are free: nothing can be joined.
  for (int i = 0; i < 32; ++i) it.blocks.push_back(pool::must_allocate(*it.test.pool, kTestPage / 2));
  for (std::size_t i = 0; i < 32; i += 2) EXPECT_TRUE(it.test->free(it.blocks[i]).is_ok());
  it.tick_after(1000 * kMs);
  EXPECT_EQ(it.tick_after(Watch::kQuietNs), 1000 * kMs);
  EXPECT_EQ(it.watch.counts().passes, 1U);
}

TEST(Watch, TheArticlesThresholdsAreReasonsToo) {
  for (const bool by_rate : {true, false}) {
    pool::PoolOptions options = limited(16);
    options.compact_threshold = by_rate ? 0.3 : 1;
    options.compact_max_blocks = by_rate ? 10000 : 10;
    Watched it(options);
    for (int i = 0; i < 16; ++i) it.blocks.push_back(pool::must_allocate(*it.test.pool, kTestPage));
    for (std::size_t i = 0; i < 16; i += 2) EXPECT_TRUE(it.test->free(it.blocks[i]).is_ok());
    EXPECT_EQ(it.test->ledger().exposure, 0);
    EXPECT_EQ(it.tick_after(1000 * kMs), Watch::kQuietNs);
    it.tick_after(Watch::kQuietNs);
    EXPECT_EQ(it.watch.counts().passes, 1U);
    EXPECT_LE(it.test->ledger().fragmentation_rate(), by_rate ? 0.3 : 0.0);
  }
}

pool::PoolOptions active() {
  pool::PoolOptions options = limited(16);
  options.compact_actively = true;
  options.compact_interval_ms = 1;
  return options;
}

TEST(Scheduler, ThereIsNoneUnlessAskedFor) {
  Watched it;
  EXPECT_EQ(Scheduler::start(*it.test.pool), nullptr);
}

TEST(Scheduler, CompactsByItself) {
  Watched it(active());
  const auto scheduler = Scheduler::start(*it.test.pool);
  ASSERT_NE(scheduler, nullptr);
  it.fragment();
  for (int i = 0; i < 2000 && it.test->ledger().exposure > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(it.test->ledger().exposure, 0);
  EXPECT_EQ(it.test->validate(), "");
}

TEST(Scheduler, StopsAtOnceHoweverLongTheIntervalIs) {
  pool::PoolOptions options = active();
  options.compact_interval_ms = 86'400'000;
  Watched it(options);
  const auto began = std::chrono::steady_clock::now();
  Scheduler::start(*it.test.pool).reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

// The child has no such thread, but its pool works, ends, and so does it.
TEST(Scheduler, AForkedChildEndsInOrder) {
  for (const bool destroys : {true, false}) {
    auto* it = new Watched(active());
    auto scheduler = Scheduler::start(*it->test.pool);
    it->fragment();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(60);
      const bool served = pool::must_allocate(*it->test.pool, 512) != 0;
      if (destroys) {
        scheduler.reset();
        delete it;
      }
      std::exit(served ? 0 : 1);  // not _exit: what is registered for the end runs
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_NE(pool::must_allocate(*it->test.pool, 512), 0U) << "the parent's goes on";
    scheduler.reset();
    delete it;
  }
}

// A program that ends without destroying anything: the thread is stopped before what it uses is gone.
TEST(Scheduler, AProcessMayExitWithItRunning) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    // Where a leak check looks: nothing of this is ever destroyed.
    static Watched* volatile it = new Watched(active());
    static Scheduler* volatile scheduler = Scheduler::start(*it->test.pool).release();
    EXPECT_NE(scheduler, nullptr);
    it->fragment();
    std::exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace cistern::compact
