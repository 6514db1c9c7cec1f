// ServedWay: one way to serve models, on a device of its own: from a source of memory, with the figures so far.
//
// Requests come in lanes. A lane is a thread of the caller's; with streams, each lane has a stream of the device, and
// the memory of its requests is the pool's in the order of that stream. The models compute on the CPU, in the lane's
// own thread, so a lane's work is complete when it frees; what streams show here is how the pool passes memory from one
// to another, and what that costs.
//
// Thread-safety: run() and finish() from any lanes at once; everything else from one thread while no lane is at work.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"
#include "engine/memory_source.hpp"
#include "engine/session.hpp"
#include "pool/pauses.hpp"
#include "pool/pool.hpp"
#include "replay/fragmentation.hpp"

namespace cistern::replay {

// What one stream served.
struct StreamSummary {
  std::uint64_t requests = 0;
  std::uint64_t allocations = 0;
  std::uint64_t memory_ns = 0;
};

// One way's figures. Times are per request, in nanoseconds.
struct WaySummary {
  double allocations_per_request = 0;
  double driver_calls_per_request = 0;
  std::uint64_t memory_ns_p50 = 0;
  std::uint64_t memory_ns_p99 = 0;
  std::uint64_t memory_ns_total = 0;
  std::uint64_t compute_ns_total = 0;  // the rest of the requests' time
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t peak_reserved_bytes = 0;
  FragmentationSamples fragmentation;     // while each request's outputs are held; of all pools together
  pool::PauseCounts requester_pauses;     // waits of requests for the compaction that they needed
  pool::PauseCounts other_pauses;         // what compaction kept everybody else waiting, at most
  std::uint64_t driver_calls_steady = 0;  // driver allocations and page creations in the second half of the run
  std::uint64_t maps_steady = 0;          // pages mapped in the second half
  std::uint64_t leaked_blocks = 0;        // live after all models were unloaded
  std::vector<StreamSummary> streams;     // empty: one request after the other, without streams
  std::uint64_t events_created = 0;       // of the requests, as are the next two
  std::uint64_t events_recorded = 0;
  std::uint64_t event_waits = 0;  // of the host: a request at the limit waited for another stream's work

  double overhead() const noexcept;
  double memory_share() const noexcept;  // of the requests' time
};

class ServedWay {
 public:
  // `pools`: where its sources get their memory; none: directly from the driver.
  ServedWay(std::shared_ptr<device::Device> device, std::vector<std::shared_ptr<pool::Pool>> pools,
            bool time_is_modelled);
  ~ServedWay();
  ServedWay(const ServedWay&) = delete;
  ServedWay& operator=(const ServedWay&) = delete;

  // All sources of a way count what is live together.
  base::Status load(engine::Environment& environment, const std::string& path,
                    const std::shared_ptr<engine::MemorySource>& source);
  // A stream for each of `lanes` lanes. Without this call lanes have none.
  base::Status open_streams(std::size_t lanes);
  engine::Model& model(std::size_t index) noexcept { return models_[index]; }
  void begin_requests();
  // While lanes may be at work.
  void begin_second_half();

  base::Result<engine::Outputs> run(std::size_t model, const std::vector<engine::Tensor>& inputs, std::size_t lane);
  // After the outputs of a request were looked at: gives them back and books the request.
  engine::MemoryUsage finish(engine::Outputs& outputs, std::size_t lane);

  // The figures; unloads the models and ends the streams.
  WaySummary conclude();

 private:
  std::optional<device::StreamHandle> stream_of(std::size_t lane) const noexcept;
  std::uint64_t percentile(std::size_t percent) const;
  void close_streams() noexcept;
  void look_at_holes();
  void add_pauses(WaySummary* summary) const;
  std::uint64_t peak_reserved(const device::DeviceCounters& counters) const noexcept;
  std::uint64_t leaked_blocks() const noexcept;

  std::shared_ptr<device::Device> device_;
  std::shared_ptr<engine::MemorySource> source_;  // one of those that were loaded from
  std::vector<std::shared_ptr<pool::Pool>> pools_;
  bool time_is_modelled_;
  std::vector<engine::Model> models_;
  std::vector<device::StreamHandle> streams_;
  device::DeviceCounters before_;

  std::mutex mutex_;  // guards what follows
  std::vector<StreamSummary> by_stream_;
  std::vector<std::uint64_t> memory_ns_;  // a request
  std::uint64_t compute_ns_ = 0;
  std::uint64_t allocations_ = 0;
  FragmentationSampler fragmentation_;
  device::DeviceCounters half_;
};

}  // namespace cistern::replay
