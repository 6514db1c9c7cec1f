#include "base/biased_mutex.hpp"

#include <algorithm>

namespace cistern::base {
namespace {

constexpr unsigned kLooks = 256;  // at a favourite that is inside, before sleeping between looks
constexpr unsigned kLookEveryUs = 20;

}  // namespace

void BiasedMutex::lock_as_anyone(std::uintptr_t me) noexcept {
  lock_.lock();
  if (Candidate* favourite = favourite_.load(std::memory_order_relaxed)) end_reign(*favourite);
  holder_ = nullptr;
  if (last_ != me) {
    last_ = me;
    turns_ = 0;
  }
  if (may_favour_ && ++turns_ >= turns_needed_) begin_reign(me);
}

// With lock_ held: afterwards the favourite is one no more, and outside.
void BiasedMutex::end_reign(Candidate& favourite) noexcept {
  favourite_.store(nullptr, std::memory_order_relaxed);
  heavy_fence();
  for (unsigned looks = 0; favourite.inside.load(std::memory_order_acquire); ++looks) {
    if (looks < kLooks) {
      pause_processor(8);
    } else {
      sleep_microseconds(kLookEveryUs);
    }
  }
  turns_ = 0;
  const bool was_long = std::chrono::steady_clock::now() - reign_began_ >= kLongReign;
  turns_needed_ = was_long ? std::max(turns_needed_ / 2, kFirstTurns) : std::min(turns_needed_ * 2, kMostTurns);
}

// With lock_ held, which turns into holding it as the favourite.
void BiasedMutex::begin_reign(std::uintptr_t me) noexcept {
  const auto candidate = std::find_if(candidates_.begin(), candidates_.end(),
                                      [me](const Candidate& each) { return each.thread == me || each.thread == 0; });
  if (candidate == candidates_.end()) return;
  candidate->thread = me;
  candidate->inside.store(true, std::memory_order_relaxed);
  holder_ = &*candidate;
  reign_began_ = std::chrono::steady_clock::now();
  favourite_.store(&*candidate, std::memory_order_release);
  lock_.unlock();
}

}  // namespace cistern::base
