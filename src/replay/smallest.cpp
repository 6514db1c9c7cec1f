#include "replay/smallest.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/bits.hpp"
#include "replay/decoded_trace.hpp"

namespace cistern::replay {
namespace {

constexpr std::uint64_t kStepsPerPeak = 400;  // 0.25 %
constexpr std::uint64_t kMostPeaks = 16;
constexpr std::uint64_t kGranuleBytes = 512;

bool serves_all(ReplayTarget& target, const DecodedTrace& trace) {
  std::vector<device::Address> places(trace.slots);
  bool has_failed = false;
  for (const Step& step : trace.steps) {
    device::Address& place = places[step.slot];
    if (step.op == TraceOp::free) {
      (void)target.free(std::exchange(place, 0));
      continue;
    }
    auto served = target.allocate(step.bytes);
    has_failed = !served.is_ok();
    if (has_failed) break;
    place = served.value();
  }
  for (const device::Address place : places) {
    if (place != 0) (void)target.free(place);  // else the pool's end would log them as leaks
  }
  return !has_failed;
}

}  // namespace

base::Result<std::optional<SmallestPool>> find_smallest(const TraceData& trace, const ReplayOptions& options) {
  ReplayOptions scanned = options;
  scanned.capacity_bytes = scanned.pool.limit_bytes = scanned.pool.initial_bytes = 0;
  scanned.capacity_over_peak = 0;
  scanned.filled = scanned.check = false;
  scanned.device = ReplayDevice::none;
  auto in_force = options_for(trace, std::move(scanned));
  if (!in_force.is_ok()) return in_force.take_status();
  scanned = in_force.take();
  const DecodedTrace decoded = decode(trace);
  const std::uint64_t unit = std::max(kGranuleBytes, scanned.pool.page_bytes);
  SmallestPool smallest;
  smallest.peak_live_bytes = peak_live_bytes(trace);
  for (std::uint64_t step = 0; step <= (kMostPeaks - 1) * kStepsPerPeak; ++step) {
    const std::uint64_t more = smallest.peak_live_bytes / kStepsPerPeak * step +
                               smallest.peak_live_bytes % kStepsPerPeak * step / kStepsPerPeak;
    const std::uint64_t capacity = base::round_up(smallest.peak_live_bytes + more, unit);
    if (capacity == smallest.capacity_bytes) continue;  // rounds to the pages that have just failed
    smallest.capacity_bytes = capacity;
    scanned.pool.limit_bytes = capacity;
    if (!scanned.segments) scanned.pool.initial_bytes = capacity;
    auto target = make_target(scanned);
    if (!target.is_ok()) return target.take_status();
    ++smallest.pools_tried;
    const bool is_enough = serves_all(*target.value(), decoded);
    if (options.on_pool_tried) options.on_pool_tried();
    if (is_enough) return std::optional<SmallestPool>(smallest);
  }
  return std::optional<SmallestPool>();
}

}  // namespace cistern::replay
