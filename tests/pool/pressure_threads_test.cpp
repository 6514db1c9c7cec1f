// Pressure callbacks under threads: pools in need of one another's caches, callbacks removed and pools ended meanwhile.
#include <atomic>
#include <random>
#include <thread>

#include "pool/context_fixture.hpp"

namespace cistern::pool {
namespace {

// A pool with a cache that others' need empties.
class Cached {
 public:
  explicit Cached(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {
    id_ = pool_->add_pressure_callback(1, [this](const Pressure&) { return drop(); });
  }
  ~Cached() { drop(); }

  void work(unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < 150; ++round) {
      const device::Address block = must_allocate(*pool_, kTestPage * (1 + random() % 24));
      if (block == 0) continue;
      std::lock_guard lock(mutex_);
      cache_.push_back(block);
    }
  }
  bool drop() {
    std::vector<device::Address> all;
    {
      std::lock_guard lock(mutex_);
      all.swap(cache_);
    }
    for (const device::Address block : all) EXPECT_TRUE(pool_->free(block).is_ok());
    return !all.empty();
  }
  void replace_callback() {
    EXPECT_TRUE(pool_->remove_pressure_callback(id_).is_ok());
    id_ = pool_->add_pressure_callback(1, [this](const Pressure&) { return drop(); });
  }
  Pool& pool() { return *pool_; }

 private:
  std::mutex mutex_;
  std::vector<device::Address> cache_;
  std::unique_ptr<Pool> pool_;
  std::uint64_t id_ = 0;
};

TEST(PressureThreads, PoolsInNeedEmptyOneAnothersCaches) {
  const TestDevice on("counting", 8 * kMiB);
  std::vector<std::unique_ptr<Cached>> all;
  for (int i = 0; i < 3; ++i) all.push_back(std::make_unique<Cached>(on.make("cached " + std::to_string(i), 0).take()));
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 6; ++i) threads.emplace_back([&, i] { all[i % 3]->work(i); });
  std::thread changer([&] {
    while (!done) {
      all[0]->replace_callback();
      std::this_thread::yield();
    }
  });
  std::thread comer([&] {
    for (unsigned i = 0; i < 40; ++i) {
      Cached guest(on.make("guest", 0).take());
      EXPECT_NE(must_allocate(guest.pool(), kTestPage), 0u);
    }
  });
  for (std::thread& thread : threads) thread.join();
  comer.join();
  done = true;
  changer.join();
  for (const auto& each : all) EXPECT_EQ(each->pool().validate(), "");
  EXPECT_EQ(on.reserved(), on.given_by_device());
}

}  // namespace
}  // namespace cistern::pool
