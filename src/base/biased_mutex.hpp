// BiasedMutex: a lock that costs its most frequent user no atomic read-modify-write at all.
//
// An atomic read-modify-write is 5-12 ns, which is much where what is guarded takes 40 ns; and most pools are used by
// one thread for long stretches. A thread that takes the lock many times in a row becomes its favourite: from then on
// it enters and leaves with plain stores (asymmetric_fence.hpp). Another thread that wants the lock ends that reign
// first: it says so, runs the heavy half of the fence (some microseconds), and waits until the favourite is outside.
// After a short reign the next favourite needs twice as many turns in a row, after a long one half, so threads that
// take turns pay little.
//
// Otherwise like LeanMutex, which it falls back to: not fair, for short sections. Satisfies BasicLockable.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/lean_mutex.hpp"
#include "base/thread_wait.hpp"

namespace cistern::base {

class BiasedMutex {
 public:
  BiasedMutex() noexcept : may_favour_(prepare_asymmetric_fences()) {}
  BiasedMutex(const BiasedMutex&) = delete;
  BiasedMutex& operator=(const BiasedMutex&) = delete;

  void lock() noexcept {
    const std::uintptr_t me = this_thread_number();
    Candidate* favourite = favourite_.load(std::memory_order_acquire);
    if (favourite == nullptr || favourite->thread != me || !enter(*favourite)) [[unlikely]]
      lock_as_anyone(me);
  }
  void unlock() noexcept {
    if (holder_ != nullptr) [[likely]] {
      holder_->inside.store(false, std::memory_order_release);
    } else {
      lock_.unlock();
    }
  }

  // Whether some thread is the favourite right now; for tests and diagnostics.
  bool has_favourite() const noexcept { return favourite_.load(std::memory_order_relaxed) != nullptr; }

  // Turns in a row that make a thread the favourite.
  static constexpr std::uint32_t kFirstTurns = 256;
  static constexpr std::uint32_t kMostTurns = std::uint32_t{1} << 20;
  // A reign of this length has saved far more than its end costs.
  static constexpr std::chrono::milliseconds kLongReign{10};
  // Threads beyond the first that became favourites stay ordinary.
  static constexpr std::size_t kCandidates = 8;

 private:
  // A thread that was the favourite once. Each has a flag of its own, so that a thread that was stopped on its way in
  // and goes on in a later reign disturbs nobody.
  struct Candidate {
    std::uintptr_t thread = 0;  // written once, before anybody else sees it
    std::atomic<bool> inside{false};
  };

  bool enter(Candidate& candidate) noexcept {
    (void)candidate.inside.load(std::memory_order_acquire);  // what an ended thread of the same number left behind
    candidate.inside.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // there are favourites only where a light fence is no more
    if (favourite_.load(std::memory_order_acquire) == &candidate) [[likely]] {
      holder_ = &candidate;
      return true;
    }
    candidate.inside.store(false, std::memory_order_release);
    return false;
  }
  void lock_as_anyone(std::uintptr_t me) noexcept;
  void end_reign(Candidate& favourite) noexcept;
  void begin_reign(std::uintptr_t me) noexcept;

  std::atomic<Candidate*> favourite_{nullptr};
  Candidate* holder_ = nullptr;  // the favourite, if it holds the lock; guarded by the lock itself, for unlock()
  LeanMutex lock_;               // taken by all others, and by who begins or ends a reign
  const bool may_favour_;
  // Guarded by lock_.
  std::uintptr_t last_ = 0;  // who came last, and how many times in a row
  std::uint32_t turns_ = 0;
  std::uint32_t turns_needed_ = kFirstTurns;
  std::chrono::steady_clock::time_point reign_began_;
  std::array<Candidate, kCandidates> candidates_;
};

}  // namespace cistern::base
