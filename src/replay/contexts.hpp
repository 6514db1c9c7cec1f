// Streams as contexts: each stream of a trace has a pool of its own on one device, and they share its pages.
//
// The device is as large as it has to be: it grows by what a request lacks only when nothing else has made room, which
// includes what other contexts have borrowed and do not use. So the joint reserve is the least that these pools could
// do with, request by request; set beside it is what each stream would reserve alone, in sum. With a capacity the
// device has that and no more, and a request that finds no room is a finding.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "replay/replay_engine.hpp"
#include "replay/trace_data.hpp"

namespace cistern::replay {

struct StreamContext {
  std::uint32_t stream = 0;
  std::uint64_t allocations = 0;
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t peak_reserved_bytes = 0;  // in the shared device
  std::uint64_t alone_bytes = 0;          // peak reserved on a device of its own
};

struct ContextsReport {
  std::uint64_t events = 0;
  std::uint64_t page_bytes = 0;
  std::uint64_t joint_peak_live_bytes = 0;
  std::uint64_t joint_reserved_bytes = 0;  // the most that the device has given at once
  std::uint64_t failed = 0;
  std::optional<FailedEvent> first_failure;
  std::uint64_t times_grown = 0;  // the device had to, 0 with a capacity
  std::uint64_t lent_bytes = 0;   // given up by one context for another, in all
  std::uint64_t driver_calls = 0;
  std::vector<StreamContext> contexts;  // by stream

  std::uint64_t separate_reserved_bytes() const noexcept;
  double joint_overhead() const noexcept;
  double separate_overhead() const noexcept;
};

// Options as for replay(); compaction none or stitch, the pool itself. invalid_argument for others.
base::Result<ContextsReport> replay_contexts(const TraceData& trace, const ReplayOptions& options);

}  // namespace cistern::replay
