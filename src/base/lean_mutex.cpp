#include "base/lean_mutex.hpp"

#include <algorithm>

#include "base/thread_wait.hpp"

namespace cistern::base {
namespace {

constexpr unsigned kSpinRounds = 16;
constexpr unsigned kMostPauses = 64;  // of one round: some microseconds at most
constexpr unsigned kYields = 8;

}  // namespace

bool LeanMutex::wait_awake() noexcept {
  for (unsigned round = 0; round < kSpinRounds + kYields; ++round) {
    if (round < kSpinRounds) {
      pause_processor(std::min(1U << std::min(round, 16U), kMostPauses));
    } else {
      yield_processor();
    }
    if (taken_.load(std::memory_order_relaxed) == 0 && try_lock()) return true;
  }
  return false;
}

// The order of the steps is what makes a wake-up impossible to lose. A sleeper counts itself, fences for both sides and
// only then tries for the last time: a release before the fence is seen by that try, one after it sees the sleeper.
// While a wake-up is pending none is sent, so a sleeper takes it back before it tries; and it reads the number it will
// sleep on before that, so a wake-up sent in between keeps it from sleeping.
void LeanMutex::wait() noexcept {
  if (wait_awake()) return;
  sleepers_.fetch_add(1, std::memory_order_relaxed);
  for (;;) {
    const std::uint32_t seen = wake_ups_.load(std::memory_order_acquire);
    wake_up_pending_.store(false, std::memory_order_relaxed);
    heavy_fence();
    if (try_lock()) break;
    sleep_while_equal(wake_ups_, seen);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void LeanMutex::wake_one() noexcept {
  if (wake_up_pending_.load(std::memory_order_relaxed)) return;
  if (wake_up_pending_.exchange(true, std::memory_order_acq_rel)) return;
  wake_ups_.fetch_add(1, std::memory_order_release);
  wake_sleeper(wake_ups_);
}

}  // namespace cistern::base
