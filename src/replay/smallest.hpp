// The smallest pool that never fails: how little memory a trace could have been served with.
//
// An upward scan, because a larger pool can fail where a smaller one does not. The capacity is the trace's peak and
// 0.25 % more at each step, rounded up to pages; all of it is the pool's before the first event, so that no growth
// helps it. (The segments baseline can hold nothing beforehand: there the capacity is what it may take from the
// driver.)
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "replay/replay_engine.hpp"

namespace cistern::replay {

struct SmallestPool {
  std::uint64_t capacity_bytes = 0;
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t pools_tried = 0;
  double over_peak() const noexcept {
    return static_cast<double>(capacity_bytes) / static_cast<double>(peak_live_bytes);
  }
};

// nullopt: none up to sixteen times the peak. Capacity, limit and initial memory of `options` are not used.
base::Result<std::optional<SmallestPool>> find_smallest(const TraceData& trace, const ReplayOptions& options);

}  // namespace cistern::replay
