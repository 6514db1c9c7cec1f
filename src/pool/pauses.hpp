// Pauses: how long compaction kept anybody waiting, as histograms.
//
// Two kinds, because they are two promises. A request that no hole could hold waits for its own repair, as long as that
// takes. Everybody else waits for the pool's lock while compaction holds it, or, missing too, for the turn; that is
// what the step budget bounds. Each hold counts in full, whether somebody waited behind it or not: an upper bound that
// costs callers nothing.
//
// Thread-safety: all. Buckets are powers of two of a microsecond.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/clock.hpp"

namespace cistern::pool {

// A copy, for readers.
struct PauseCounts {
  static constexpr unsigned kBuckets = 24;  // below 1 us, below 2 us, ... the last is open: from 4 s on

  std::array<std::uint64_t, kBuckets> counts{};
  std::uint64_t longest_ns = 0;
  std::uint64_t total_ns = 0;

  std::uint64_t count() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t each : counts) sum += each;
    return sum;
  }
  // Those of another pool, too.
  void add(const PauseCounts& other) noexcept {
    for (unsigned i = 0; i < kBuckets; ++i) counts[i] += other.counts[i];
    longest_ns = std::max(longest_ns, other.longest_ns);
    total_ns += other.total_ns;
  }
  // No more than `share` (0..1) of the pauses are longer than this: the end of a bucket, or the longest pause.
  std::uint64_t quantile_ns(double share) const noexcept {
    const double wanted = share * static_cast<double>(count());
    std::uint64_t below = 0;
    for (unsigned i = 0; i < kBuckets; ++i) {
      below += counts[i];
      if (below != 0 && static_cast<double>(below) >= wanted) return std::min(end_ns(i), longest_ns);
    }
    return longest_ns;
  }
  static std::uint64_t end_ns(unsigned bucket) noexcept {
    return bucket + 1 == kBuckets ? ~std::uint64_t{0} : std::uint64_t{1000} << bucket;
  }
};

class PauseHistogram {
 public:
  void record(std::uint64_t ns) noexcept {
    const auto bucket = std::min<unsigned>(static_cast<unsigned>(std::bit_width(ns / 1000)), PauseCounts::kBuckets - 1);
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    total_ns_.fetch_add(ns, std::memory_order_relaxed);
    std::uint64_t longest = longest_ns_.load(std::memory_order_relaxed);
    while (longest < ns && !longest_ns_.compare_exchange_weak(longest, ns, std::memory_order_relaxed)) {
    }
  }
  std::uint64_t longest_ns() const noexcept { return longest_ns_.load(std::memory_order_relaxed); }
  PauseCounts read() const noexcept {
    PauseCounts copy;
    for (unsigned i = 0; i < PauseCounts::kBuckets; ++i) copy.counts[i] = counts_[i].load(std::memory_order_relaxed);
    copy.longest_ns = longest_ns_.load(std::memory_order_relaxed);
    copy.total_ns = total_ns_.load(std::memory_order_relaxed);
    return copy;
  }

 private:
  std::array<std::atomic<std::uint64_t>, PauseCounts::kBuckets> counts_{};
  std::atomic<std::uint64_t> longest_ns_{0};
  std::atomic<std::uint64_t> total_ns_{0};
};

// Records how long it lives.
class TimedPause {
 public:
  TimedPause(const base::Clock& clock, PauseHistogram* histogram) noexcept  // null: records nothing
      : clock_(clock), histogram_(histogram), began_(histogram == nullptr ? 0 : clock.now_ns()) {}
  ~TimedPause() {
    if (histogram_ != nullptr) histogram_->record(clock_.now_ns() - began_);
  }
  TimedPause(const TimedPause&) = delete;
  TimedPause& operator=(const TimedPause&) = delete;

 private:
  const base::Clock& clock_;
  PauseHistogram* histogram_;
  std::uint64_t began_;
};

struct Pauses {
  PauseHistogram requester;  // repairs, by the request that needed them
  PauseHistogram others;     // holds of the lock by compaction, and waits for the turn behind it
};

}  // namespace cistern::pool
