#include "replay/replay_engine.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bits.hpp"
#include "base/clock.hpp"
#include "base/units.hpp"
#include "compact/relocator.hpp"
#include "compact/stitcher.hpp"
#include "core/fragmentation.hpp"
#include "device/counting_device.hpp"
#include "device/host_device.hpp"
#include "device/simulated_device.hpp"
#include "replay/driver_time.hpp"
#include "replay/memory_way.hpp"
#include "replay/segments.hpp"
#include "replay/trace_time.hpp"

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

// What tells whether something was moved, and how much.
struct Moved {
  std::uint64_t pages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t modelled_ns = 0;
};

// The first pass: everything but times.
class FirstPass {
 public:
  FirstPass(const TraceData& trace, const ReplayOptions& options, ReplayTarget& target, ReplayReport* report)
      : trace_(trace), options_(options), target_(target), report_(report), places_(trace.slots) {
    report_->fragmentation.every_events = std::max<std::uint64_t>(1, trace.events.size() / kSamples);
    const std::uint64_t page = options.pool.page_bytes;
    if (options.check) watch_ = std::make_unique<ContentWatch>(target, trace.slots, page != 0 ? page : kStampsOfArenas);
    if (!options.pool.compact_actively || target.pool() == nullptr) return;
    time_ = std::make_unique<TraceTime>(*target.pool());
    report_->active.emplace();
  }

  base::Status run() {
    for (std::uint64_t index = 0; index < trace_.events.size(); ++index) {
      const TraceEvent& event = trace_.events[index];
      const device::Address place = places_[event.slot];
      if (time_) let_time_pass(index, event.time_ns);
      if (event.op == TraceOp::allocate) {
        allocate(index, event);
      } else if (base::Status refused = free(index, event); !refused.is_ok()) {
        return refused;
      }
      if (options_.after_event) options_.after_event(index, place != 0 ? place : places_[event.slot]);
      if ((index + 1) % report_->fragmentation.every_events == 0) sample();
      if (options_.on_progress && (index + 1) % kProgressEvents == 0) options_.on_progress(index + 1);
    }
    if (time_) {
      report_->active->looks = time_->counts().looks;
      report_->active->postponed = time_->counts().postponed;
      report_->active->passes = time_->counts().passes;
      report_->active->compacted_bytes = target_.ledger().compacted_bytes;
    }
    report_->compaction.pauses = step_pauses_.read();
    report_->ledger = target_.ledger();
    report_->calls = target_.counters();
    const std::uint64_t every_events = report_->fragmentation.every_events;
    report_->fragmentation = sampler_.samples();
    report_->fragmentation.every_events = every_events;
    base::Status refused = free_the_rest();
    if (watch_) report_->check = watch_->found();
    return refused;
  }

 private:
  void allocate(std::uint64_t index, const TraceEvent& event) {
    const std::uint64_t bytes = base::round_up(event.bytes, options_.pool.round_bytes);
    count_triggers(bytes);
    recent_sizes_.record(bytes);
    const std::uint64_t began_ns = clock_.now_ns();
    auto served = target_.allocate(event.bytes);
    note_step(index, clock_.now_ns() - began_ns, served.is_ok());
    if (served.is_ok()) {
      places_[event.slot] = served.value();
      if (watch_) watch_->begin(event.slot, event.bytes, served.value());
      return;
    }
    if (report_->failed++ > 0) return;
    report_->first_failure = failed_event(index, event, target_.ledger());
  }

  void count_triggers(std::uint64_t bytes) {
    const pool::Ledger ledger = target_.ledger();
    const bool above = ledger.free_bytes > 0 && ledger.fragmentation_rate() > options_.pool.compact_threshold;
    const bool exposed = recent_sizes_.exposure(ledger.largest_free_bytes, ledger.free_bytes) > 0;
    const bool blocked = bytes > ledger.largest_free_bytes && bytes <= ledger.free_bytes;
    TriggerCounts& counts = report_->triggers;
    counts.above_threshold += above ? 1 : 0;
    counts.exposed += exposed ? 1 : 0;
    counts.blocked += blocked ? 1 : 0;
    counts.blocked_above_threshold += blocked && above ? 1 : 0;
    counts.blocked_exposed += blocked && exposed ? 1 : 0;
  }

  // What the compacting thread does before the event.
  void let_time_pass(std::uint64_t index, std::uint64_t time_ns) {
    const device::DeviceCounters before = target_.counters();
    if (!time_->advance_to(time_ns)) return;
    report_->active->driver_ns += modelled_driver_ns(target_.counters()) - modelled_driver_ns(before);
    moved_ = moved_until_now();  // the next request has nothing to do with it
    if (watch_) watch_->look_at_all(index);
  }

  Moved moved_until_now() const {
    const pool::Ledger ledger = target_.ledger();
    return {ledger.stitched_pages, ledger.moved_bytes, target_.counters().modelled_ns};
  }

  // Was it a step of compaction?
  void note_step(std::uint64_t index, std::uint64_t elapsed_ns, bool was_served) {
    if (options_.compaction == Compaction::none || options_.segments) return;
    const Moved now = moved_until_now();
    const Moved before = std::exchange(moved_, now);
    if (now.pages == before.pages && now.bytes == before.bytes) return;
    CompactionSteps& steps = report_->compaction;
    ++steps.steps;
    steps.served += was_served ? 1 : 0;
    step_pauses_.record(elapsed_ns);
    steps.longest_modelled_ns = std::max(steps.longest_modelled_ns, now.modelled_ns - before.modelled_ns);
    steps.most_bytes = std::max(steps.most_bytes, now.bytes - before.bytes);
    if (watch_) watch_->look_at_all(index);
  }

  base::Status free(std::uint64_t index, const TraceEvent& event) {
    const device::Address place = std::exchange(places_[event.slot], 0);
    if (place == 0) return {};  // its allocation failed
    if (watch_) watch_->end(event.slot, index);
    return target_.free(place).with_context("event " + std::to_string(index) + " of trace " + trace_.name);
  }

  void sample() {
    const pool::Ledger ledger = target_.ledger();
    sampler_.add(ledger.fragmentation_rate(), recent_sizes_.exposure(ledger.largest_free_bytes, ledger.free_bytes));
    if (target_.pool() == nullptr || ledger.free_bytes == 0) return;
    sampler_.add_stitchable(target_.pool()->snapshot().stitchable_share());
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
  std::unique_ptr<ContentWatch> watch_;  // null: not asked for
  std::unique_ptr<TraceTime> time_;      // null: nothing compacts actively
  core::ExposureWindow recent_sizes_;
  const base::SteadyClock clock_;
  Moved moved_;
  FragmentationSampler sampler_;
  pool::PauseHistogram step_pauses_;
};

base::Status check_options(const TraceData& trace, const ReplayOptions& options) {
  if (trace.events.empty()) return base::Status(base::StatusCode::io_error, "there are no allocations in it");
  if (options.segments && options.device != ReplayDevice::none) {
    return base::invalid_argument("growth 'segments' is bookkeeping without memory; leave out --device");
  }
  if (options.pool.compact_actively && (options.segments || options.compaction == Compaction::none)) {
    return base::invalid_argument(
        "CISTERN_COMPACT is on, and there is nothing that it could do: " +
        std::string(options.segments ? "growth 'segments' has no compaction" : "compaction is 'none'"));
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

FailedEvent failed_event(std::uint64_t index, const TraceEvent& event, const pool::Ledger& ledger) noexcept {
  return {.index = index,
          .time_ns = event.time_ns,
          .bytes = event.bytes,
          .stream = event.stream,
          .largest_free_bytes = ledger.largest_free_bytes,
          .free_bytes = ledger.free_bytes,
          .reserved_bytes = ledger.reserved_bytes};
}

std::string_view compaction_name(Compaction compaction) noexcept {
  switch (compaction) {
    case Compaction::none:
      return "none";
    case Compaction::stitch:
      return "stitch";
    case Compaction::relocate:
      return "relocate";
    case Compaction::all:
      return "all";
  }
  return "?";
}

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
  if (options.capacity_over_peak > 0) {
    const double capacity = std::ceil(options.capacity_over_peak * static_cast<double>(peak_live_bytes(trace)));
    options.capacity_bytes = base::round_up(static_cast<std::uint64_t>(capacity), core::kGranuleBytes);
  }
  if (base::Status wrong = check_options(trace, options); !wrong.is_ok()) return wrong.with_context(trace.name);
  if (options.filled) {
    if (options.capacity_bytes == 0) return base::invalid_argument("a filled pool needs a capacity to be filled to");
    // The device may round a driver allocation up; what the pool gets is what it divides.
    options.pool.limit_bytes = std::exchange(options.capacity_bytes, 0);
    options.pool.initial_bytes = options.pool.limit_bytes;
  }
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
  if (options.filled) {
    options.pool.limit_bytes = base::round_up(options.pool.limit_bytes, options.pool.page_bytes);
    options.pool.initial_bytes = options.pool.limit_bytes;
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
  const bool relocates = options.compaction == Compaction::relocate || options.compaction == Compaction::all;
  const bool stitches = options.compaction == Compaction::stitch || options.compaction == Compaction::all;
  std::vector<std::unique_ptr<pool::RescueStep>> steps;
  if (stitches) steps = compact::stitch_steps(options.pool.on_miss);
  if (relocates) steps.push_back(std::make_unique<compact::RelocateStep>());
  pool::PoolOptions in_force = options.pool;
  in_force.clock = &still_clock();
  auto pool = pool::Pool::create(device.value(), std::move(pages), in_force, std::move(steps));
  if (!pool.is_ok()) return pool.take_status();
  if (relocates) {
    return std::unique_ptr<ReplayTarget>(std::make_unique<MovableTarget>(device.take(), pool.take()));
  }
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
