// LeanMutex: a lock whose release costs no atomic read-modify-write.
//
// Taking a free lock is one compare-and-swap. Releasing one is a plain store, then a look whether anybody sleeps; the
// fence that such a look needs is paid by the sleeper (asymmetric_fence.hpp), who has time. A thread that finds the
// lock taken first waits in ever longer steps without touching it, so that a busy holder keeps its cache lines and gets
// much done before the lock moves on; then it lets other threads run; then it sleeps.
//
// Not fair: a thread that releases and takes it again may pass those that wait. Meant for short sections that are never
// left waiting for anything. Satisfies the standard's Lockable.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/asymmetric_fence.hpp"

namespace cistern::base {

class LeanMutex {
 public:
  LeanMutex() noexcept { prepare_asymmetric_fences(); }
  LeanMutex(const LeanMutex&) = delete;
  LeanMutex& operator=(const LeanMutex&) = delete;

  bool try_lock() noexcept {
    std::uint32_t free = 0;
    return taken_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  void unlock() noexcept {
    taken_.store(0, std::memory_order_release);
    light_fence();
    if (sleepers_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake_one();
  }

 private:
  bool wait_awake() noexcept;
  void wait() noexcept;
  void wake_one() noexcept;

  std::atomic<std::uint32_t> taken_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<std::uint32_t> wake_ups_{0};    // what sleepers sleep on: the number of wake-ups sent
  std::atomic<bool> wake_up_pending_{false};  // one was sent, and who got it has not tried the lock yet
};

}  // namespace cistern::base
