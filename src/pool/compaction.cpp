#include "pool/compaction.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/bits.hpp"
#include "pool/magazines.hpp"
#include "pool/pool_core.hpp"
#include "pool/stream_queues.hpp"
#include "pool/transfers.hpp"

namespace cistern::pool {
namespace {

constexpr std::size_t kMostHoles = 16;  // of different sizes that are planned for before nothing can be done

// How fragmented the pool is, now.
struct State {
  std::uint64_t largest_free = 0;
  std::uint64_t free_bytes = 0;
  double exposure = 0;
  double rate = 0;
};

State state_of(const PoolCore& pool) {
  const Ledger ledger = pool.ledger();
  return {ledger.largest_free_bytes, ledger.free_bytes, ledger.exposure, ledger.fragmentation_rate()};
}

// Holes worth making, the most useful first.
std::vector<std::uint64_t> wanted_holes(const PoolCore& pool, const State& now, double rate_goal) {
  std::vector<std::uint64_t> sizes = pool.recent_sizes.exposed_sizes(now.largest_free, now.free_bytes);
  if (sizes.empty() && now.rate > rate_goal) {
    const double share = (1.0 - rate_goal) * static_cast<double>(now.free_bytes);
    auto bytes = base::round_up(static_cast<std::uint64_t>(share), core::kGranuleBytes);
    // What lies in parts of pages can't be joined: smaller and smaller holes, to a sixteenth more than there is.
    for (; bytes > now.largest_free + now.largest_free / 16; bytes -= (bytes - now.largest_free) / 4) {
      sizes.push_back(base::round_up(bytes, core::kGranuleBytes));
      if (sizes.size() == kMostHoles) break;
    }
  }
  if (sizes.size() <= kMostHoles) return sizes;
  std::vector<std::uint64_t> some;
  for (std::size_t i = 0; i < kMostHoles; ++i) some.push_back(sizes[i * (sizes.size() - 1) / (kMostHoles - 1)]);
  return some;
}

Need need_for(const PoolCore& pool, std::uint64_t bytes) {
  Need need{bytes, pool.rules.least_alignment};
  const std::uint64_t page = pool.rules.page_bytes;
  if (page != 0 && base::is_aligned(bytes, page)) need.alignment = std::max(need.alignment, page);
  return need;
}

class Compaction {
 public:
  Compaction(PoolCore& pool, const CompactionRequest& request) : pool_(pool), request_(request), lock_(pool.mutex) {}

  base::Result<CompactionReport> run() {
    began_ = pool_.clock->now_ns();
    settle_stuck(pool_, lock_);
    empty_magazines(pool_);
    const State before = state_of(pool_);
    report_.exposure_before = before.exposure;
    report_.rate_before = before.rate;
    report_.largest_free_before = before.largest_free;
    while (may_go_on() && do_batch()) breathe();
    const State after = state_of(pool_);
    report_.exposure_after = after.exposure;
    report_.rate_after = after.rate;
    report_.largest_free_after = after.largest_free;
    report_.duration_ns = pool_.clock->now_ns() - began_;
    if (report_.batches == 0) return failure_.is_ok() ? base::Result<CompactionReport>(report_) : failure_;
    ++pool_.counts.compactions;
    pool_.counts.compacted_bytes += report_.moved_bytes + report_.copied_bytes;
    return report_;
  }

 private:
  std::uint64_t used_us() const { return (pool_.clock->now_ns() - began_) / 1000; }
  std::uint64_t used_bytes() const { return report_.moved_bytes + report_.copied_bytes; }

  bool may_go_on() {
    if (used_us() >= request_.max_us || used_bytes() >= request_.max_bytes) {
      report_.end = CompactionEnd::budget;
      return false;
    }
    if (!request_.yields_to_misses || !pool_.turn.is_wanted()) return true;
    report_.end = CompactionEnd::gave_way;
    return false;
  }

  // Between two batches anybody may have lock and turn.
  void breathe() {
    lock_.unlock();
    if (!request_.yields_to_misses && pool_.turn.is_wanted()) pool_.turn.give_way();
    lock_.lock();
  }

  // False: no step can do anything for any hole that is wanted.
  bool do_batch() {
    const std::vector<std::uint64_t> holes = wanted_holes(pool_, state_of(pool_), request_.rate_goal);
    BatchBudget budget;
    budget.max_bytes = request_.max_bytes - used_bytes();
    const std::uint64_t left_us = request_.max_us - std::min(request_.max_us, used_us());
    budget.max_us = std::min(pool_.options.step_us, left_us);
    budget.all_bytes = budget.max_bytes;
    budget.all_us = left_us;
    for (const std::uint64_t bytes : holes) {
      if (bytes > smallest_in_vain_) continue;
      for (const auto& step : pool_.rescue_steps) {
        BatchResult done = step->compact(pool_, need_for(pool_, bytes), budget, lock_);
        if (!done.failure.is_ok()) failure_ = std::move(done.failure);
        if (done.moved_bytes + done.copied_bytes == 0) continue;
        ++report_.batches;
        report_.moved_bytes += done.moved_bytes;
        report_.copied_bytes += done.copied_bytes;
        if (pool_.options.page_bytes != 0) report_.moved_pages = report_.moved_bytes / pool_.options.page_bytes;
        return true;
      }
      smallest_in_vain_ = bytes - 1;  // not asked for again in this call
    }
    return false;
  }

  PoolCore& pool_;
  CompactionRequest request_;
  PoolLock lock_;
  std::uint64_t began_ = 0;
  std::uint64_t smallest_in_vain_ = ~std::uint64_t{0};
  CompactionReport report_;
  base::Status failure_;
};

}  // namespace

base::Result<CompactionReport> compact(PoolCore& pool, const CompactionRequest& request) {
  const MissTurn turn(pool);
  const StreamsSettled settled(pool);
  return Compaction(pool, request).run();
}

}  // namespace cistern::pool
