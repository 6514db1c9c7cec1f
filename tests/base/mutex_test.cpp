// The pool's locks: one thread inside at a time, whoever comes, however long it stays, and nobody waits for ever.
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "base/biased_mutex.hpp"
#include "base/lean_mutex.hpp"

namespace cistern::base {
namespace {

template <typename Mutex>
class MutexTest : public ::testing::Test {
 protected:
  // Two numbers that are equal whenever nobody is inside.
  void step() {
    const std::lock_guard<Mutex> lock(mutex_);
    if (first_ != second_) ++broken_;
    ++first_;
    ++second_;
  }
  std::uint64_t steps() {
    const std::lock_guard<Mutex> lock(mutex_);
    return first_;
  }

  Mutex mutex_;
  std::uint64_t first_ = 0;
  std::uint64_t second_ = 0;
  std::uint64_t broken_ = 0;
};

using Mutexes = ::testing::Types<LeanMutex, BiasedMutex>;
TYPED_TEST_SUITE(MutexTest, Mutexes);

TYPED_TEST(MutexTest, OneThreadAtATimeWhenMoreThreadsThanProcessorsCompete) {
  constexpr int kThreads = 6;
  constexpr int kSteps = 20'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int step = 0; step < kSteps; ++step) this->step();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(this->steps(), std::uint64_t{kThreads} * kSteps);
  EXPECT_EQ(this->broken_, 0U);
}

// Long runs of one thread, between them others: favourites come and go.
TYPED_TEST(MutexTest, OneThreadAtATimeWhenThreadsTakeTurnsInRuns) {
  constexpr int kThreads = 3;
  constexpr int kRuns = 40;
  constexpr int kRunLength = 2'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      for (int run = 0; run < kRuns; ++run) {
        for (int step = 0; step < kRunLength; ++step) this->step();
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(this->steps(), std::uint64_t{kThreads} * kRuns * kRunLength);
  EXPECT_EQ(this->broken_, 0U);
}

// Holders that stay so long that those who wait go to sleep: everyone is woken.
TYPED_TEST(MutexTest, SleepersAreWoken) {
  constexpr int kThreads = 4;
  constexpr int kSteps = 12;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int step = 0; step < kSteps; ++step) {
        const std::lock_guard<TypeParam> lock(this->mutex_);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ++this->first_;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(this->first_, std::uint64_t{kThreads} * kSteps);
}

TEST(LeanMutex, TryLockRefusesWhatIsTaken) {
  LeanMutex mutex;
  ASSERT_TRUE(mutex.try_lock());
  std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  mutex.unlock();
  std::thread([&] {
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  }).join();
}

// Where the kernel has no membarrier there is never a favourite, and that is what these tests see then.
class Favourites : public ::testing::Test {
 protected:
  void take(std::uint32_t times) {
    for (; times > 0; --times) {
      mutex_.lock();
      mutex_.unlock();
    }
  }
  BiasedMutex mutex_;
  const bool possible_ = prepare_asymmetric_fences();
};

TEST_F(Favourites, AThreadBecomesOneByTurnsInARow) {
  take(BiasedMutex::kFirstTurns - 1);
  EXPECT_FALSE(mutex_.has_favourite());
  take(1);
  EXPECT_EQ(mutex_.has_favourite(), possible_);
  take(1000);
  EXPECT_EQ(mutex_.has_favourite(), possible_);
}

TEST_F(Favourites, AnotherThreadEndsItsReignAndWaitsUntilItIsOutside) {
  take(BiasedMutex::kFirstTurns);
  mutex_.lock();
  std::atomic<bool> other_is_in{false};
  std::thread other([&] {
    mutex_.lock();
    other_is_in.store(true);
    mutex_.unlock();
  });
  while (mutex_.has_favourite()) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(other_is_in.load());
  mutex_.unlock();
  other.join();
  EXPECT_TRUE(other_is_in.load());
  EXPECT_FALSE(mutex_.has_favourite());
}

TEST_F(Favourites, AfterAShortReignTheNextNeedsMoreTurns) {
  // On a busy machine even a short reign may last: then there is nothing to see, and the next mutex is tried.
  for (int attempt = 0; attempt < 200; ++attempt) {
    BiasedMutex mutex;
    const auto take_from = [&mutex](std::uint32_t times) {
      for (; times > 0; --times) {
        mutex.lock();
        mutex.unlock();
      }
    };
    const auto before = std::chrono::steady_clock::now();
    take_from(BiasedMutex::kFirstTurns);
    std::thread([&] { take_from(1); }).join();
    if (std::chrono::steady_clock::now() - before >= BiasedMutex::kLongReign) continue;
    take_from(BiasedMutex::kFirstTurns);
    EXPECT_FALSE(mutex.has_favourite());
    take_from(BiasedMutex::kFirstTurns);
    EXPECT_EQ(mutex.has_favourite(), possible_);
    return;
  }
  FAIL() << "no reign was short";
}

TEST_F(Favourites, AfterALongReignTheNextNeedsNoMore) {
  take(BiasedMutex::kFirstTurns);
  std::this_thread::sleep_for(2 * BiasedMutex::kLongReign);
  std::thread([&] { take(1); }).join();
  take(BiasedMutex::kFirstTurns);
  EXPECT_EQ(mutex_.has_favourite(), possible_);
}

// Threads that live at the same time have different numbers, so each uses up a place.
TEST_F(Favourites, ThreadsBeyondTheCandidatesStayOrdinary) {
  std::vector<std::thread> threads;
  std::atomic<std::size_t> done{0};
  std::size_t favoured = 0;
  const std::size_t all = BiasedMutex::kCandidates + 2;
  for (std::size_t i = 0; i < all; ++i) {
    threads.emplace_back([&, i] {
      while (done.load() != i) std::this_thread::yield();
      take(BiasedMutex::kFirstTurns << (i + 1));
      favoured += mutex_.has_favourite() ? 1 : 0;
      done.store(i + 1);
      while (done.load() != all) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(favoured, possible_ ? BiasedMutex::kCandidates : 0U);
}

}  // namespace
}  // namespace cistern::base
