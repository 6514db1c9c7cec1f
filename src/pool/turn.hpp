// Turn: misses, trims and everything else that moves pages take turns, first come, first served.
//
// A repair may take long, so whoever has the turn gives way between two batches of pages when somebody waits: what it
// moves is marked as moving, nobody else touches it meanwhile. The lock is fair because giving way to those who wait is
// its point: a plain mutex would mostly be won again by the one who just gave it up.
//
// Thread-safety: all. Cost: about 50 ns when nobody waits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace cistern::pool {

struct PoolCore;

class Turn {
 public:
  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // True: had to wait.
  bool lock() noexcept;
  void unlock() noexcept;
  // Does anybody wait?
  bool is_wanted() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
  // Lets those who wait now go first. The turn is held before and after.
  void give_way() noexcept {
    unlock();
    lock();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t serving_ = 0;
  std::atomic<std::uint32_t> waiting_{0};
};

// Holds a pool's turn. When it ends, whoever asked is told of the pages that moved in it, outside all locks.
class MissTurn {
 public:
  explicit MissTurn(PoolCore& pool);
  ~MissTurn();
  MissTurn(const MissTurn&) = delete;
  MissTurn& operator=(const MissTurn&) = delete;

 private:
  PoolCore& pool_;
};

}  // namespace cistern::pool
