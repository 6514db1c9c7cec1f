// Replay: a recorded trace through the real pool, and what came of it.
//
// The pool under replay is the one that programs use; only the device below it may be one without memory, so traces of
// any size run anywhere and all figures but times repeat exactly. A request that fails is a finding: the first is
// described, all are counted, and replay goes on without their blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "pool/options.hpp"
#include "pool/pauses.hpp"
#include "replay/content_watch.hpp"
#include "replay/fragmentation.hpp"
#include "replay/replay_target.hpp"
#include "replay/replay_timing.hpp"
#include "replay/trace_data.hpp"

namespace cistern::replay {

enum class ReplayDevice : std::uint8_t {
  none,       // addresses and counters only
  host,       // this machine's memory
  simulated,  // an NPU's, with modelled driver times
};

// What a pool may do so that free memory becomes contiguous.
enum class Compaction : std::uint8_t {
  none,
  stitch,    // pages of holes are put together, under stable addresses
  relocate,  // blocks are copied elsewhere: every block of the trace is a movable one
  all,
};

struct ReplayOptions {
  pool::PoolOptions pool;
  Compaction compaction = Compaction::stitch;
  bool segments = false;             // the caching-allocator baseline in the pool's place
  std::uint64_t capacity_bytes = 0;  // of the device; 0: no limit (host, simulated: the device's own default)
  double capacity_over_peak = 0;     // the same as a multiple of the trace's peak; 0: not given
  bool filled = false;               // the pool holds all of the capacity before the first event, as one piece
  ReplayDevice device = ReplayDevice::none;
  // Stamp every block, look at it when it is freed, and at all of them whenever pages or blocks have moved; needs a
  // device with memory.
  bool check = false;
  unsigned passes = kUsualPasses;  // of the measurement of time; 0: no times
  // Called now and then with the number of events replayed so far, in all passes together; see events_to_replay().
  std::function<void(std::uint64_t)> on_progress;
  std::function<void()> on_pool_tried;  // progress of find_smallest()
  // Called after each event of the first pass with its number and the block's address (0: it has none). For tests that
  // damage memory.
  std::function<void(std::uint64_t, device::Address)> after_event;
};

struct FailedEvent {
  std::uint64_t index = 0;  // in the trace's events, from 0
  std::uint64_t time_ns = 0;
  std::uint64_t bytes = 0;
  std::uint32_t stream = 0;
  std::uint64_t largest_free_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t reserved_bytes = 0;
};

// `ledger`: of the pool that refused it.
FailedEvent failed_event(std::uint64_t index, const TraceEvent& event, const pool::Ledger& ledger) noexcept;

// Requests that no hole could hold and in which pages or blocks were moved.
struct CompactionSteps {
  std::uint64_t steps = 0;
  std::uint64_t served = 0;               // requests that were served then
  pool::PauseCounts pauses;               // how long these requests took, on this machine
  std::uint64_t longest_modelled_ns = 0;  // of the driver, on a simulated device
  std::uint64_t most_bytes = 0;           // copied in one
};

// How well fragmentation rate and exposure tell trouble. A request is blocked when free memory could hold it and no
// hole can. Looked at before every request.
struct TriggerCounts {
  std::uint64_t above_threshold = 0;  // fragmentation rate above the pool's threshold
  std::uint64_t exposed = 0;          // exposure above 0
  std::uint64_t blocked = 0;
  std::uint64_t blocked_above_threshold = 0;
  std::uint64_t blocked_exposed = 0;
};

// What the pool's compacting thread would have done (see trace_time.hpp).
struct ActiveCompaction {
  std::uint64_t looks = 0;  // that found a reason
  std::uint64_t postponed = 0;
  std::uint64_t passes = 0;
  std::uint64_t compacted_bytes = 0;  // put elsewhere, pages and blocks
  double driver_ns = 0;               // modelled, of all passes
};

struct ReplayReport {
  std::uint64_t events = 0;
  std::uint64_t allocations = 0;
  std::uint64_t streams = 0;
  std::uint64_t peak_live_bytes = 0;  // the trace's, exactly
  std::uint64_t page_bytes = 0;       // 0: driver allocations
  pool::Ledger ledger;                // after the last event
  device::DeviceCounters calls;       // of the device, after the last event
  std::uint64_t failed = 0;
  std::optional<FailedEvent> first_failure;
  CompactionSteps compaction;
  std::optional<ActiveCompaction> active;
  TriggerCounts triggers;
  FragmentationSamples fragmentation;
  std::optional<ContentCheck> check;
  std::optional<ReplayTimes> times;

  // Peak reserved over the most that was live in what was served.
  double overhead() const noexcept { return ledger.overhead(); }
  std::uint64_t damaged() const noexcept { return check ? check->damaged : 0; }
  // Share of allocations that a magazine served, in the first pass.
  double magazine_hit_rate() const noexcept {
    return ledger.allocations == 0
               ? 0.0
               : static_cast<double>(ledger.magazine_hits) / static_cast<double>(ledger.allocations);
  }
};

std::string_view compaction_name(Compaction compaction) noexcept;
std::string_view replay_device_name(ReplayDevice device) noexcept;

// The options as they are in force for this trace: without a capacity or limit, pages are as large as in a pool limited
// to the trace's peak. invalid_argument where the trace cannot be replayed so.
base::Result<ReplayOptions> options_for(const TraceData& trace, ReplayOptions options);
// A fresh target on a fresh device. Options of options_for().
base::Result<std::unique_ptr<ReplayTarget>> make_target(const ReplayOptions& options);

std::uint64_t events_to_replay(const TraceData& trace, const ReplayOptions& options) noexcept;
base::Result<ReplayReport> replay(const TraceData& trace, const ReplayOptions& options);

}  // namespace cistern::replay
