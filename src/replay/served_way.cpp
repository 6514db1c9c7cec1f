#include "replay/served_way.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "replay/memory_way.hpp"

namespace cistern::replay {

using base::Result;
using base::Status;

double WaySummary::overhead() const noexcept {
  return peak_live_bytes == 0 ? 0 : static_cast<double>(peak_reserved_bytes) / static_cast<double>(peak_live_bytes);
}

double WaySummary::memory_share() const noexcept {
  const std::uint64_t total = memory_ns_total + compute_ns_total;
  return total == 0 ? 0 : static_cast<double>(memory_ns_total) / static_cast<double>(total);
}

ServedWay::ServedWay(std::shared_ptr<device::Device> device, std::vector<std::shared_ptr<pool::Pool>> pools,
                     bool time_is_modelled)
    : device_(std::move(device)), pools_(std::move(pools)), time_is_modelled_(time_is_modelled) {}

ServedWay::~ServedWay() { close_streams(); }

Status ServedWay::load(engine::Environment& environment, const std::string& path,
                       const std::shared_ptr<engine::MemorySource>& source) {
  source_ = source;
  auto model = environment.load(path, source);
  if (!model.is_ok()) return model.take_status();
  models_.push_back(model.take());
  return {};
}

Status ServedWay::open_streams(std::size_t lanes) {
  while (streams_.size() < lanes) {
    auto stream = device_->create_stream();
    if (!stream.is_ok()) return stream.status().with_context("stream " + std::to_string(streams_.size()));
    streams_.push_back(stream.value());
  }
  by_stream_.resize(lanes);
  return {};
}

void ServedWay::close_streams() noexcept {
  for (const device::StreamHandle stream : streams_) {
    Status ended;
    for (const auto& pool : pools_) {
      Status forgotten = pool->forget_stream(stream);
      if (ended.is_ok()) ended = std::move(forgotten);
    }
    if (ended.is_ok()) ended = device_->destroy_stream(stream);
    if (!ended.is_ok()) base::log(base::LogLevel::warning, "run", ended.to_string());
  }
  streams_.clear();
}

std::optional<device::StreamHandle> ServedWay::stream_of(std::size_t lane) const noexcept {
  if (streams_.empty()) return std::nullopt;
  return streams_[lane];
}

void ServedWay::begin_requests() { before_ = half_ = device_->counters(); }

void ServedWay::begin_second_half() {
  const std::lock_guard lock(mutex_);
  half_ = device_->counters();
}

Result<engine::Outputs> ServedWay::run(std::size_t model, const std::vector<engine::Tensor>& inputs, std::size_t lane) {
  auto outputs = models_[model].run(inputs, stream_of(lane));
  if (!pools_.empty()) look_at_holes();
  return outputs;
}

engine::MemoryUsage ServedWay::finish(engine::Outputs& outputs, std::size_t lane) {
  outputs.release();
  const engine::MemoryUsage usage = outputs.usage();
  // The simulator's own work for a driver call is not the driver's time; a pool's bookkeeping is real either way.
  const bool only_modelled = time_is_modelled_ && pools_.empty();
  const std::uint64_t memory_ns = usage.modelled_ns + (only_modelled ? 0 : usage.measured_ns);
  const std::lock_guard lock(mutex_);
  memory_ns_.push_back(memory_ns);
  compute_ns_ += outputs.run_ns() > usage.measured_ns ? outputs.run_ns() - usage.measured_ns : 0;
  allocations_ += usage.allocations();
  if (!by_stream_.empty()) {
    StreamSummary& stream = by_stream_[lane];
    ++stream.requests;
    stream.allocations += usage.allocations();
    stream.memory_ns += memory_ns;
  }
  return usage;
}

WaySummary ServedWay::conclude() {
  const device::DeviceCounters now = device_->counters();
  const auto requests = static_cast<double>(memory_ns_.size());
  WaySummary summary;
  summary.allocations_per_request = static_cast<double>(allocations_) / requests;
  summary.driver_calls_per_request = static_cast<double>(driver_calls(now) - driver_calls(before_)) / requests;
  for (const std::uint64_t ns : memory_ns_) summary.memory_ns_total += ns;
  std::sort(memory_ns_.begin(), memory_ns_.end());
  summary.memory_ns_p50 = percentile(50);
  summary.memory_ns_p99 = percentile(99);
  summary.compute_ns_total = compute_ns_;
  summary.peak_live_bytes = source_->live().peak();
  summary.peak_reserved_bytes = peak_reserved(now);
  summary.fragmentation = fragmentation_.samples();
  add_pauses(&summary);
  summary.driver_calls_steady = now.driver_allocations() - half_.driver_allocations();
  summary.maps_steady = now.maps - half_.maps;
  summary.streams = by_stream_;
  summary.events_created = now.events_created - before_.events_created;
  summary.events_recorded = now.events_recorded - before_.events_recorded;
  summary.event_waits = now.event_waits - before_.event_waits;
  for (engine::Model& model : models_) (void)model.unload();
  models_.clear();
  close_streams();
  summary.leaked_blocks = leaked_blocks();
  return summary;
}

// Of all pools together. What is a hole in one pool is none in another: exposure is that of the pool which is worst
// off.
void ServedWay::look_at_holes() {
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_bytes = 0;
  std::uint64_t stitchable_bytes = 0;
  double exposure = 0;
  for (const auto& pool : pools_) {
    const pool::Snapshot snapshot = pool->snapshot();
    free_bytes += snapshot.ledger.free_bytes;
    largest_bytes = std::max(largest_bytes, snapshot.ledger.largest_free_bytes);
    stitchable_bytes += snapshot.stitchable_bytes;
    exposure = std::max(exposure, snapshot.ledger.exposure);
  }
  const std::lock_guard lock(mutex_);
  const auto all = static_cast<double>(free_bytes);
  fragmentation_.add(free_bytes == 0 ? 0 : 1 - static_cast<double>(largest_bytes) / all, exposure);
  if (free_bytes != 0) fragmentation_.add_stitchable(static_cast<double>(stitchable_bytes) / all);
}

void ServedWay::add_pauses(WaySummary* summary) const {
  for (const auto& pool : pools_) {
    const pool::Snapshot snapshot = pool->snapshot();
    summary->requester_pauses.add(snapshot.requester_pauses);
    summary->other_pauses.add(snapshot.other_pauses);
  }
}

// Several pools don't peak together: then it is the device that knows.
std::uint64_t ServedWay::peak_reserved(const device::DeviceCounters& counters) const noexcept {
  return pools_.size() == 1 ? pools_.front()->ledger().peak_reserved_bytes : counters.peak_driver_bytes;
}

std::uint64_t ServedWay::leaked_blocks() const noexcept {
  if (pools_.empty()) {
    const device::DeviceCounters counters = device_->counters();
    return counters.mallocs - counters.frees;
  }
  std::uint64_t blocks = 0;
  for (const auto& pool : pools_) blocks += pool->ledger().live_blocks;
  return blocks;
}

// Nearest rank, of the sorted times.
std::uint64_t ServedWay::percentile(std::size_t percent) const {
  const std::size_t rank = (memory_ns_.size() * percent + 99) / 100;
  return memory_ns_[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace cistern::replay
