#include "replay/contexts.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/bits.hpp"
#include "compact/stitcher.hpp"
#include "device/counting_device.hpp"
#include "pool/context.hpp"
#include "replay/memory_way.hpp"

namespace cistern::replay {
namespace {

constexpr std::uint64_t kProgressEvents = 4096;

double ratio(std::uint64_t part, std::uint64_t whole) noexcept {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

base::Status check(const ReplayOptions& options) {
  if (options.segments || options.filled || options.check || options.device != ReplayDevice::none) {
    return base::invalid_argument(
        "contexts of streams are pools on a device that only counts; leave out --filled, --check, --device and the "
        "growth 'segments'");
  }
  if (options.compaction == Compaction::relocate || options.compaction == Compaction::all) {
    return base::invalid_argument("contexts of streams move pages, not blocks; choose --compaction none or stitch");
  }
  if (options.pool.compact_actively) {
    return base::invalid_argument("contexts of streams are not compacted by a thread; leave out CISTERN_COMPACT");
  }
  return {};
}

// The device that all contexts share, and a pool for each stream.
class Shared {
 public:
  static base::Result<std::unique_ptr<Shared>> create(const ReplayOptions& options, std::uint64_t streams) {
    device::CountingConfig config;
    config.capacity_bytes = options.capacity_bytes;
    auto device = device::CountingDevice::create(config);
    if (!device.is_ok()) return device.take_status();
    std::unique_ptr<Shared> shared(new Shared(device.take(), options));
    for (std::uint64_t stream = 0; stream < streams; ++stream) {
      if (base::Status refused = shared->add_pool(options, stream); !refused.is_ok()) return refused;
    }
    return shared;
  }

  pool::Pool& pool(std::uint32_t stream) { return *pools_[stream]; }
  pool::ContextSet& contexts() { return *contexts_; }
  device::DeviceCounters counters() const { return device_->counters(); }
  std::uint64_t times_grown() const { return times_grown_; }

 private:
  Shared(std::shared_ptr<device::Device> device, const ReplayOptions& options)
      : device_(std::move(device)),
        contexts_(std::make_shared<pool::ContextSet>(options.capacity_bytes)),
        grows_(options.capacity_bytes == 0) {
    if (options.pool.page_bytes != 0) {
      pages_ = std::make_shared<device::PagePool>(*device_, options.pool.page_bytes);
    }
  }

  base::Status add_pool(const ReplayOptions& options, std::uint64_t stream) {
    pool::PoolOptions own = options.pool;
    own.name = "stream " + std::to_string(stream);
    own.clock = &still_clock();
    std::vector<std::unique_ptr<pool::RescueStep>> steps;
    if (options.compaction == Compaction::stitch) steps = compact::stitch_steps(own.on_miss);
    auto made = pool::Pool::create(device_, pages_, own, std::move(steps), nullptr, contexts_);
    if (!made.is_ok()) return made.take_status();
    pools_.push_back(made.take());
    if (!grows_) return {};
    // Last of all, when others have given what they could spare.
    (void)pools_.back()->add_pressure_callback(0, [this](const pool::Pressure& pressure) {
      if (pressure.by_own_limit) return false;
      contexts_->add_capacity(pressure.missing_bytes);
      ++times_grown_;
      return true;
    });
    return {};
  }

  std::shared_ptr<device::Device> device_;
  std::shared_ptr<device::PagePool> pages_;
  std::shared_ptr<pool::ContextSet> contexts_;
  const bool grows_;
  std::uint64_t times_grown_ = 0;
  std::vector<std::unique_ptr<pool::Pool>> pools_;
};

struct Place {
  device::Address address = 0;
  std::uint32_t stream = 0;
};

class SharedPass {
 public:
  SharedPass(const TraceData& trace, const ReplayOptions& options, Shared& shared, ContextsReport* report)
      : trace_(trace), options_(options), shared_(shared), report_(report), places_(trace.slots) {}

  base::Status run() {
    for (std::uint64_t index = 0; index < trace_.events.size(); ++index) {
      const TraceEvent& event = trace_.events[index];
      if (event.op == TraceOp::allocate) {
        allocate(index, event);
      } else if (base::Status refused = free(event); !refused.is_ok()) {
        return refused.with_context("event " + std::to_string(index) + " of trace " + trace_.name);
      }
      const std::uint64_t given = shared_.counters().driver_bytes;
      report_->joint_reserved_bytes = std::max(report_->joint_reserved_bytes, given);
      if (options_.on_progress && (index + 1) % kProgressEvents == 0) options_.on_progress(index + 1);
    }
    for (StreamContext& each : report_->contexts) {
      const pool::Ledger ledger = shared_.pool(each.stream).ledger();
      each.allocations = ledger.allocations;
      each.peak_live_bytes = ledger.peak_requested_bytes;
      each.peak_reserved_bytes = ledger.peak_reserved_bytes;
    }
    report_->times_grown = shared_.times_grown();
    report_->lent_bytes = shared_.contexts().lent_bytes();
    report_->driver_calls = driver_calls(shared_.counters());
    return free_the_rest();
  }

 private:
  void allocate(std::uint64_t index, const TraceEvent& event) {
    auto served = shared_.pool(event.stream).allocate(event.bytes);
    if (served.is_ok()) {
      places_[event.slot] = {served.value(), event.stream};
      return;
    }
    if (report_->failed++ > 0) return;
    report_->first_failure = failed_event(index, event, shared_.pool(event.stream).ledger());
  }

  // Whichever stream frees it, it goes where it came from.
  base::Status free(const TraceEvent& event) {
    const Place place = std::exchange(places_[event.slot], Place{});
    return place.address == 0 ? base::Status() : shared_.pool(place.stream).free(place.address);
  }

  base::Status free_the_rest() {
    for (Place& place : places_) {
      if (place.address == 0) continue;
      if (base::Status refused = shared_.pool(place.stream).free(place.address); !refused.is_ok()) return refused;
    }
    return {};
  }

  const TraceData& trace_;
  const ReplayOptions& options_;
  Shared& shared_;
  ContextsReport* report_;
  std::vector<Place> places_;  // by the trace's slots; address 0: not live
};

// The blocks of one stream, wherever they are freed, as a trace of their own.
TraceData part_of(const TraceData& trace, std::uint32_t stream) {
  TraceData part;
  part.name = trace.name;
  part.streams = 1;
  constexpr std::uint32_t kElsewhere = ~std::uint32_t{0};
  std::vector<std::uint32_t> slots(trace.slots, kElsewhere);
  for (TraceEvent event : trace.events) {
    if (event.op == TraceOp::allocate && event.stream != stream) continue;
    if (event.op == TraceOp::allocate) slots[event.slot] = static_cast<std::uint32_t>(part.slots++);
    event.slot = slots[event.slot];
    event.stream = 0;
    if (event.slot != kElsewhere) part.events.push_back(event);
  }
  return part;
}

}  // namespace

std::uint64_t ContextsReport::separate_reserved_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const StreamContext& each : contexts) sum += each.alone_bytes;
  return sum;
}
double ContextsReport::joint_overhead() const noexcept { return ratio(joint_reserved_bytes, joint_peak_live_bytes); }
double ContextsReport::separate_overhead() const noexcept {
  return ratio(separate_reserved_bytes(), joint_peak_live_bytes);
}

base::Result<ContextsReport> replay_contexts(const TraceData& trace, const ReplayOptions& options) {
  if (base::Status wrong = check(options); !wrong.is_ok()) return wrong;
  auto in_force = options_for(trace, options);
  if (!in_force.is_ok()) return in_force.take_status();
  ContextsReport report;
  report.events = trace.events.size();
  report.page_bytes = in_force.value().pool.page_bytes;
  report.joint_peak_live_bytes = peak_live_bytes(trace);
  std::uint32_t streams = 0;
  for (const TraceEvent& event : trace.events) streams = std::max(streams, event.stream + 1);
  report.contexts.resize(streams);
  for (std::uint32_t stream = 0; stream < streams; ++stream) report.contexts[stream].stream = stream;
  {
    auto shared = Shared::create(in_force.value(), streams);
    if (!shared.is_ok()) return shared.take_status();
    base::Status refused = SharedPass(trace, in_force.value(), *shared.value(), &report).run();
    if (!refused.is_ok()) return refused;
  }
  ReplayOptions alone = in_force.value();  // pages as in the shared device
  alone.capacity_bytes = 0;
  alone.capacity_over_peak = 0;
  alone.passes = 0;
  alone.on_progress = nullptr;
  for (StreamContext& each : report.contexts) {
    const TraceData part = part_of(trace, each.stream);
    if (part.events.empty()) continue;
    auto replayed = replay(part, alone);
    if (!replayed.is_ok()) return replayed.take_status();
    each.alone_bytes = replayed.value().ledger.peak_reserved_bytes;
  }
  std::erase_if(report.contexts, [](const StreamContext& each) { return each.allocations == 0; });
  if (options.on_progress) options.on_progress(trace.events.size());
  return report;
}

}  // namespace cistern::replay
