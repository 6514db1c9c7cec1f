// PoolOptions: everything that can be chosen about a pool, checked once at creation.
//
// The names, ranges and defaults that users see are in base's one option table; this is its typed form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/options.hpp"
#include "base/result.hpp"
#include "core/types.hpp"
#include "device/device.hpp"

namespace cistern::pool {

// Where memory comes from when the pool grows.
enum class Growth : std::uint8_t {
  expandable,  // one long address range, pages mapped where needed; needs a device with pages
  arenas,      // driver allocations of growing size
};

// What a miss tries first. stitch_first, the default: footprint. grow_first: fewer page moves while there is room.
enum class OnMiss : std::uint8_t { grow_first, stitch_first };

struct PoolOptions {
  std::string name = "pool";  // in messages, snapshots and reports
  core::FitPolicy policy = core::FitPolicy::best_fit;
  Growth growth = Growth::expandable;  // falls back to arenas, with a log line, where the device has no pages
  bool growth_is_required = false;     // then the fallback is an error instead
  OnMiss on_miss = OnMiss::stitch_first;
  std::uint64_t initial_bytes = 0;  // taken from the device at creation, rounded up to pages
  std::uint64_t minimum_bytes = 0;  // of the device, promised to this pool; rounded up to pages (see context.hpp)
  std::uint64_t limit_bytes = 0;    // reserved never exceeds it; 0: the device's total
  std::uint64_t page_bytes = 0;     // 0: by the limit, see choose_page_bytes()
  std::uint64_t round_bytes = 512;  // requests are rounded up to a multiple; power of two >= 512
  std::uint64_t growth_bytes = 0;   // least step of growth; 0: one page, or 2 MiB for driver arenas
  std::uint64_t max_growth_bytes = std::uint64_t{1} << 30;  // driver arenas double up to this step
  std::uint64_t magazine_bytes = 0;  // freed blocks that each thread may keep for itself; 0: none
  std::uint64_t direct_bytes = 0;    // requests of at least this size get their own driver allocation; 0: never
  std::uint64_t slack_percent = 2;   // growth above the peak of live bytes that ends recurring stitches; 0: none
  // Compaction. Nobody waits longer than a step for any that is not his own (see transfers.hpp).
  std::uint64_t step_us = 500;
  bool compact_actively = false;             // a thread compacts in quiet moments (see compact/scheduler.hpp)
  std::uint64_t compact_interval_ms = 5000;  // how often it looks, at least 1
  double compact_threshold = 0.3;            // it has a reason above this fragmentation rate
  std::uint64_t compact_max_blocks = 10000;  // or above this many blocks
  const base::Clock* clock = nullptr;        // of budgets and pauses; null: the machine's. Outlives the pool
  bool stream_waits = false;  // a stream may be made to wait, on the device, for another's work, to get its memory
  std::uint64_t red_zone_bytes = 0;  // behind each block, looked at when it is freed (see red_zones.hpp); at most 1 MiB
  bool quarantine = false;           // what is freed without a stream waits for the work of all streams
};

std::string_view policy_name(core::FitPolicy policy) noexcept;      // "best_fit", ...
base::Result<core::FitPolicy> parse_policy(std::string_view text);  // any case
std::string_view growth_name(Growth growth) noexcept;
base::Result<Growth> parse_growth(std::string_view text);
std::string_view on_miss_name(OnMiss on_miss) noexcept;
base::Result<OnMiss> parse_on_miss(std::string_view text);

// The pool options that the environment (or a command line) set, defaults elsewhere.
base::Result<PoolOptions> pool_options_from(const base::OptionSet& given);

// Page size for a pool of at most `limit_bytes`: about a thousandth of it, a power of two between 64 KiB and 2 MiB and
// within the device's range. Small pages waste less, large ones cost fewer driver calls.
std::uint64_t choose_page_bytes(std::uint64_t limit_bytes, const device::DeviceInfo& device) noexcept;

}  // namespace cistern::pool
