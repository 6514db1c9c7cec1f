#include "pool/turn.hpp"

#include "pool/pool_core.hpp"

namespace cistern::pool {

bool Turn::lock() noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::uint64_t mine = next_ticket_++;
  if (serving_ == mine) return false;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  changed_.wait(lock, [&] { return serving_ == mine; });
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void Turn::unlock() noexcept {
  bool wanted = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++serving_;
    wanted = serving_ != next_ticket_;
  }
  if (wanted) changed_.notify_all();
}

MissTurn::MissTurn(PoolCore& pool) : pool_(pool) {
  const std::uint64_t mark = pool.moves.load(std::memory_order_relaxed);
  const std::uint64_t began = pool.clock->now_ns();
  const bool waited = pool.turn.lock();
  // Only waits in which pages were moved count: behind a growth one waits for the driver, not for compaction.
  const bool moved = (mark & 1) != 0 || pool.moves.load(std::memory_order_relaxed) != mark;
  if (waited && moved) pool.pauses.others.record(pool.clock->now_ns() - began);
}

MissTurn::~MissTurn() {
  pool_.turn.unlock();
  tell_backing_changes(pool_);
}

}  // namespace cistern::pool
