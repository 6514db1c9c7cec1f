// Threads that allocate, pin, write, read and free while relocation goes on: every thread finds what it has written.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "compact/relocator.hpp"
#include "instrumented.hpp"
#include "pool/pool_fixture.hpp"

namespace cistern::compact {
namespace {

using pool::kKiB;
using pool::kMiB;

constexpr int kSteps = history_steps(1500);

struct Owned {
  pool::MovableId id = 0;
  std::uint64_t bytes = 0;
  unsigned char value = 0;
};

// One thread's life; the number of blocks that were not as it had left them.
class Worker {
 public:
  Worker(pool::TestPool& pool, unsigned seed) : pool_(pool), random_(seed) {}
  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      const std::uint64_t choice = random_() % 8;
      if (choice < 3 || owned_.empty()) {
        allocate();
      } else if (choice < 6) {
        rewrite(owned_[random_() % owned_.size()]);
      } else {
        const std::size_t victim = random_() % owned_.size();
        EXPECT_TRUE(pool_->free_movable(owned_[victim].id).is_ok());
        owned_[victim] = owned_.back();
        owned_.pop_back();
      }
    }
    for (Owned& block : owned_) {
      rewrite(block);
      EXPECT_TRUE(pool_->free_movable(block.id).is_ok());
    }
  }
  std::uint64_t damaged() const { return damaged_; }
  std::uint64_t served() const { return served_; }

 private:
  void allocate() {
    pool::AllocationRequest request;
    request.bytes = random_() % 8 == 0 ? kMiB / 2 : 16 * kKiB + random_() % (96 * kKiB);
    auto made = pool_->allocate_movable(request);
    if (!made.is_ok()) {
      if (!owned_.empty()) {
        EXPECT_TRUE(pool_->free_movable(owned_.back().id).is_ok());
        owned_.pop_back();
      }
      return;
    }
    ++served_;
    owned_.push_back({made.value(), request.bytes, 0});
    write(&owned_.back());
  }
  void rewrite(Owned& block) {
    const device::Address address = pool_->pin(block.id).value();
    const auto* memory = static_cast<const unsigned char*>(pool_.device->host_alias(address));
    bool is_whole = true;
    for (std::uint64_t i = 0; i < block.bytes; i += 509) is_whole = is_whole && memory[i] == block.value;
    is_whole = is_whole && memory[block.bytes - 1] == block.value;
    damaged_ += is_whole ? 0 : 1;
    EXPECT_TRUE(pool_->unpin(block.id).is_ok());
    write(&block);
  }
  void write(Owned* block) {
    block->value = static_cast<unsigned char>(random_());
    const device::Address address = pool_->pin(block->id).value();
    std::memset(pool_.device->host_alias(address), block->value, block->bytes);
    EXPECT_TRUE(pool_->unpin(block->id).is_ok());
  }

  pool::TestPool& pool_;
  std::mt19937_64 random_;
  std::vector<Owned> owned_;
  std::uint64_t damaged_ = 0;
  std::uint64_t served_ = 0;
};

class RelocationThreads : public ::testing::TestWithParam<pool::Growth> {};

TEST_P(RelocationThreads, EveryThreadFindsWhatItHasWritten) {
  pool::PoolOptions options;
  options.growth = GetParam();
  options.limit_bytes = options.initial_bytes = 4 * kMiB;
  options.page_bytes = 256 * kKiB;
  if (GetParam() == pool::Growth::expandable) options.magazine_bytes = 256 * kKiB;
  pool::TestPool pool(pool::make_device("host", 64 * kMiB), options);
  ASSERT_TRUE(pool.pool);
  std::vector<Worker> workers;
  for (unsigned i = 0; i < 3; ++i) workers.emplace_back(pool, 100 + i);
  std::atomic<bool> done{false};
  std::thread maintenance([&] {
    while (!done.load()) {
      pool::CompactionRequest request;
      request.max_bytes = kMiB;
      (void)pool->compact(request);
      (void)pool->snapshot();
    }
  });
  std::vector<std::thread> threads;
  for (Worker& worker : workers) threads.emplace_back([&worker] { worker.run(kSteps); });
  for (std::thread& thread : threads) thread.join();
  done = true;
  maintenance.join();
  for (const Worker& worker : workers) {
    EXPECT_EQ(worker.damaged(), 0U);
    EXPECT_GT(worker.served(), static_cast<std::uint64_t>(kSteps / 15));
  }
  EXPECT_EQ(pool->validate(), "");
  const pool::Ledger ledger = pool->ledger();
  EXPECT_EQ(ledger.allocated_bytes, 0U);
  EXPECT_EQ(ledger.movable_blocks, 0U);
  EXPECT_EQ(ledger.pinned_bytes, 0U);
  EXPECT_EQ(ledger.moving_bytes, 0U);
  EXPECT_GT(ledger.moves, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, RelocationThreads, ::testing::Values(pool::Growth::expandable, pool::Growth::arenas),
                         pool::growth_param_name);

}  // namespace
}  // namespace cistern::compact
