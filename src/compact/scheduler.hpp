// Scheduler: a thread that compacts a pool in its quiet moments.
//
// Off unless asked for. Every interval it looks whether compaction would help: a recent request size is exposed (free
// memory could hold it, no hole can), or, as the articles have it, the fragmentation rate or the number of blocks is
// above a threshold. Then it waits for a quiet moment: a millisecond in which nobody allocates or frees. A busy moment
// is skipped and looked at again after 100 ms; a pool that was busy for a whole interval gets its pass all the same,
// for a pass keeps nobody waiting longer than the step budget and ends as soon as somebody misses. Passes go on, at
// most one every 100 ms, while each gains at least 1 % of exposure or rate.
//
// Watch is the decision, in terms of a clock that tests own; Scheduler is the thread around it. After a fork the child
// has no such thread: its pools are compacted on demand only. At exit threads are stopped before anything is destroyed.
//
// Thread-safety: a Watch belongs to one thread; Scheduler: start and destroy from any.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.hpp"
#include "pool/pool.hpp"

namespace cistern::compact {

class Watch {
 public:
  static constexpr std::uint64_t kQuietNs = 1'000'000;         // so long nobody calls
  static constexpr std::uint64_t kLeastPauseNs = 100'000'000;  // between two passes, and two looks for a quiet moment
  static constexpr std::uint64_t kPassSteps = 20;              // a pass is this many step budgets at most
  static constexpr double kLeastGain = 0.01;

  struct Counts {
    std::uint64_t looks = 0;      // for a reason
    std::uint64_t postponed = 0;  // because the moment was busy
    std::uint64_t passes = 0;
  };

  // Interval, threshold and most blocks are the pool's options.
  Watch(pool::Pool& pool, const base::Clock& clock) noexcept;
  // Does what is due now; returns how many ns from now the next call is due.
  std::uint64_t tick() noexcept;
  const Counts& counts() const noexcept { return counts_; }

 private:
  std::uint64_t look(std::uint64_t now) noexcept;
  std::uint64_t listen(std::uint64_t now) noexcept;
  std::uint64_t pass(const pool::Ledger& ledger) noexcept;
  bool has_too_many_blocks(const pool::Ledger& ledger) const noexcept;
  bool has_reason(const pool::Ledger& ledger) const noexcept;
  std::uint64_t wait(std::uint64_t ns) noexcept;

  pool::Pool& pool_;
  const base::Clock& clock_;
  std::uint64_t interval_ns_;
  std::uint64_t due_ns_;
  bool listening_ = false;          // a quiet moment is being waited for, since the last tick
  std::uint64_t calls_ = 0;         // of the pool, when listening began
  std::uint64_t wanted_since_ = 0;  // when there was first a reason that has not been dealt with; 0: there is none
  Counts counts_;
};

class Scheduler {
 public:
  // Null where the pool's options don't ask for one, or no thread can be had (which is logged). The pool outlives it.
  static std::unique_ptr<Scheduler> start(pool::Pool& pool);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  std::uint64_t passes() const noexcept;

 private:
  struct State;
  explicit Scheduler(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace cistern::compact
