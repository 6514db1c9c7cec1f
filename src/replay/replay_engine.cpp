#include "replay/replay_engine.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/bits.hpp"
#include "base/units.hpp"
#include "compact/stitcher.hpp"
#include "core/fragmentation.hpp"
#include "device/counting_device.hpp"
#include "device/host_device.hpp"
#include "device/simulated_device.hpp"
#include "replay/block_stamps.hpp"
#include "replay/memory_way.hpp"
#include "replay/segments.hpp"

namespace cistern::replay {
namespace {

constexpr std::uint64_t kSamples = 256;  // of fragmentation in a trace, about
constexpr std::uint64_t kProgressEvents = 4096;
constexpr std::uint64_t kStampsOfArenas = 64 * base::kKiB;

template <typename Kind>
base::Result<std::shared_ptr<device::Device>> as_device(base::Result<std::shared_ptr<Kind>> made) {
  if (!made.is_ok()) return made.take_status();
  return std::shared_ptr<device::Device>(made.take());
}

base::Result<std::shared_ptr<device::Device>> make_device(const ReplayOptions& options) {
  if (options.device == ReplayDevice::host) {
    device::HostConfig config;
    config.capacity_bytes = options.capacity_bytes;
    config.huge_pages = false;  // stamps touch memory sparsely: a huge page for each would be most of the machine's
    return as_device(device::HostDevice::create(config));
  }
  if (options.device == ReplayDevice::simulated) {
    device::SimulatedConfig config;
    if (options.capacity_bytes != 0) config.capacity_bytes = options.capacity_bytes;
    return as_device(device::SimulatedDevice::create(config));
  }
  device::CountingConfig config;
  config.capacity_bytes = options.capacity_bytes;
  return as_device(device::CountingDevice::create(config));
}

// The first pass: everything but times.
class FirstPass {
 public:
  FirstPass(const TraceData& trace, const ReplayOptions& options, ReplayTarget& target, ReplayReport* report)
      : trace_(trace), options_(options), target_(target), report_(report), places_(trace.slots) {
    report_->fragmentation.every_events = std::max<std::uint64_t>(1, trace.events.size() / kSamples);
    if (options.check) {
      report_->check.emplace();
      const std::uint64_t page = options.pool.page_bytes;
      stamps_.emplace(static_cast<PoolTarget&>(target).device(), page != 0 ? page : kStampsOfArenas);
    }
  }

  base::Status run() {
    for (std::uint64_t index = 0; index < trace_.events.size(); ++index) {
      const TraceEvent& event = trace_.events[index];
      const device::Address place = places_[event.slot];
      if (event.op == TraceOp::allocate) {
        allocate(index, event);
      } else if (base::Status refused = free(index, event); !refused.is_ok()) {
        return refused;
      }
      if (options_.after_event) options_.after_event(index, place != 0 ? place : places_[event.slot]);
      if ((index + 1) % report_->fragmentation.every_events == 0) sample();
      if (options_.on_progress && (index + 1) % kProgressEvents == 0) options_.on_progress(index + 1);
    }
    report_->ledger = target_.ledger();
    report_->calls = target_.counters();
    if (samples_ > 0) {
      report_->fragmentation.samples = samples_;
      report_->fragmentation.mean_rate = rates_ / static_cast<double>(samples_);
      report_->fragmentation.mean_exposure = exposures_ / static_cast<double>(samples_);
    }
    return free_the_rest();
  }

 private:
  void allocate(std::uint64_t index, const TraceEvent& event) {
    recent_sizes_.record(base::round_up(event.bytes, options_.pool.round_bytes));
    auto served = target_.allocate(event.bytes);
    if (served.is_ok()) {
      places_[event.slot] = served.value();
      if (stamps_) stamps_->stamp(served.value(), event.bytes, event.slot);
      return;
    }
    if (report_->failed++ > 0) return;
    const pool::Ledger ledger = target_.ledger();
    report_->first_failure = FailedEvent{.index = index,
                                         .time_ns = event.time_ns,
                                         .bytes = event.bytes,
                                         .stream = event.stream,
                                         .largest_free_bytes = ledger.largest_free_bytes,
                                         .free_bytes = ledger.free_bytes,
                                         .reserved_bytes = ledger.reserved_bytes};
  }

  base::Status free(std::uint64_t index, const TraceEvent& event) {
    const device::Address place = std::exchange(places_[event.slot], 0);
    if (place == 0) return {};  // its allocation failed
    look_at(index, event, place);
    return target_.free(place).with_context("event " + std::to_string(index) + " of trace " + trace_.name);
  }

  void look_at(std::uint64_t index, const TraceEvent& event, device::Address place) {
    if (!stamps_) return;
    ++report_->check->blocks;
    const auto damage = stamps_->find_damage(place, event.bytes, event.slot);
    if (!damage) return;
    ++report_->check->damaged;
    if (!report_->check->first)
      report_->check->first = DamagedBlock{index, event.bytes, damage->offset, damage->expected, damage->found};
  }

  void sample() {
    const pool::Ledger ledger = target_.ledger();
    const double rate = ledger.fragmentation_rate();
    const double exposure = recent_sizes_.exposure(ledger.largest_free_bytes, ledger.free_bytes);
    ++samples_;
    rates_ += rate;
    exposures_ += exposure;
    report_->fragmentation.max_rate = std::max(report_->fragmentation.max_rate, rate);
    report_->fragmentation.max_exposure = std::max(report_->fragmentation.max_exposure, exposure);
  }

  // What the trace never freed.
  base::Status free_the_rest() {
    for (const TraceEvent& event : trace_.events) {
      if (event.op != TraceOp::allocate || places_[event.slot] == 0) continue;
      if (base::Status refused = free(trace_.events.size(), event); !refused.is_ok()) return refused;
    }
    return {};
  }

  const TraceData& trace_;
  const ReplayOptions& options_;
  ReplayTarget& target_;
  ReplayReport* report_;
  std::vector<device::Address> places_;  // by the trace's slots; 0: not live
  std::optional<BlockStamps> stamps_;
  core::ExposureWindow recent_sizes_;
  std::uint64_t samples_ = 0;
  double rates_ = 0;
  double exposures_ = 0;
};

base::Status check_options(const TraceData& trace, const ReplayOptions& options) {
  if (trace.events.empty()) return base::Status(base::StatusCode::io_error, "there are no allocations in it");
  if (options.segments && options.device != ReplayDevice::none) {
    return base::invalid_argument("growth 'segments' is bookkeeping without memory; leave out --device");
  }
  if (options.check && options.device == ReplayDevice::none) {
    return base::invalid_argument("there are no contents to check without memory; choose --device host or simulated");
  }
  std::uint64_t largest = 0;
  for (const TraceEvent& event : trace.events) largest = std::max(largest, event.bytes);
  for (const auto& [bytes, what] :
       {std::pair{options.capacity_bytes, "capacity"}, std::pair{options.pool.limit_bytes, "limit"}}) {
    if (bytes == 0 || bytes >= largest) continue;
    return base::invalid_argument("a " + std::string(what) + " of " + base::format_bytes_exactly(bytes) +
                                  " is smaller than the largest block of " + std::to_string(largest) + " bytes (" +
                                  base::format_bytes(largest) + ")");
  }
  return {};
}

}  // namespace

std::string_view replay_device_name(ReplayDevice device) noexcept {
  switch (device) {
    case ReplayDevice::none:
      return "none";
    case ReplayDevice::host:
      return "host";
    case ReplayDevice::simulated:
      return "simulated";
  }
  return "?";
}

base::Result<ReplayOptions> options_for(const TraceData& trace, ReplayOptions options) {
  if (base::Status wrong = check_options(trace, options); !wrong.is_ok()) return wrong.with_context(trace.name);
  if (options.segments || options.pool.growth != pool::Growth::expandable) {
    options.pool.page_bytes = 0;
    return options;
  }
  const auto device = make_device(options);
  if (!device.is_ok()) return device.status();
  if (options.pool.page_bytes == 0) {
    std::uint64_t limit = options.pool.limit_bytes != 0 ? options.pool.limit_bytes : options.capacity_bytes;
    if (limit == 0) limit = peak_live_bytes(trace);
    options.pool.page_bytes = pool::choose_page_bytes(limit, device.value()->info());
  }
  return options;
}

base::Result<std::unique_ptr<ReplayTarget>> make_target(const ReplayOptions& options) {
  if (options.segments) {
    const std::uint64_t limit = options.pool.limit_bytes != 0 ? options.pool.limit_bytes : options.capacity_bytes;
    return std::unique_ptr<ReplayTarget>(std::make_unique<Segments>(limit));
  }
  auto device = make_device(options);
  if (!device.is_ok()) return device.take_status();
  std::shared_ptr<device::PagePool> pages;
  if (options.pool.page_bytes != 0) {
    pages = std::make_shared<device::PagePool>(*device.value(), options.pool.page_bytes);
  }
  pool::PoolOptions in_force = options.pool;
  in_force.clock = &still_clock();
  auto pool = pool::Pool::create(device.value(), std::move(pages), in_force, compact::rescue_steps(in_force.on_miss));
  if (!pool.is_ok()) return pool.take_status();
  return std::unique_ptr<ReplayTarget>(std::make_unique<PoolTarget>(device.take(), pool.take()));
}

std::uint64_t events_to_replay(const TraceData& trace, const ReplayOptions& options) noexcept {
  return trace.events.size() * (1 + timed_plays(options.passes));
}

base::Result<ReplayReport> replay(const TraceData& trace, const ReplayOptions& options) {
  auto in_force = options_for(trace, options);
  if (!in_force.is_ok()) return in_force.take_status();
  ReplayReport report;
  report.events = trace.events.size();
  report.allocations = trace.slots;
  report.streams = trace.streams;
  report.peak_live_bytes = peak_live_bytes(trace);
  report.page_bytes = in_force.value().pool.page_bytes;
  {
    auto target = make_target(in_force.value());
    if (!target.is_ok()) return target.take_status();
    FirstPass first(trace, in_force.value(), *target.value(), &report);
    if (base::Status refused = first.run(); !refused.is_ok()) return refused;
  }
  std::uint64_t plays = 1;
  const auto played = [&] {
    if (options.on_progress) options.on_progress(plays * trace.events.size());
    ++plays;
  };
  played();
  if (options.passes == 0) return report;
  ReplayOptions timed = in_force.value();  // times are those of bookkeeping, whatever memory the first pass had
  timed.device = ReplayDevice::none;
  if (timed.capacity_bytes == 0 && options.device != ReplayDevice::none) {
    timed.capacity_bytes = report.ledger.limit_bytes;
  }
  auto times = measure_times(
      decode(trace), options.passes, [&timed] { return make_target(timed); }, played);
  if (!times.is_ok()) return times.take_status();
  report.times = times.value();
  return report;
}

}  // namespace cistern::replay
