// Comparison: the same requests to the same models twice, once with every tensor from the driver, once with every
// tensor from a pool.
//
// The first request to each model has the largest shapes, as a server warms up; all others draw theirs from the seed.
// Each way has a device of its own, so that clocks, counters and peaks are its own. Requests go round-robin over the
// models; a request runs both ways, on a thread each, and the outputs are compared bit for bit before they are given
// back. With a simulated device the driver's time is modelled, on the device's virtual clock. With streams, requests
// are dealt in turn to as many threads, which serve at once, and each thread's memory from the pool is that of a
// stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"
#include "engine/shape_rules.hpp"
#include "pool/context.hpp"
#include "pool/options.hpp"
#include "replay/pooled_memory.hpp"
#include "replay/served_way.hpp"

namespace cistern::replay {

struct ComparisonPlan {
  std::vector<std::string> model_paths;
  std::uint64_t requests = 0;  // >= 1
  std::uint64_t seed = 0;
  std::uint64_t streams = 0;  // 0: one request after the other, without streams
  std::vector<engine::Binding> bindings;
  std::string device_kind;  // "simulated" or "host"
  std::uint64_t capacity_bytes = 0;
  pool::PoolOptions pool;
  std::string onnxruntime_path;           // empty: the usual places
  std::function<void()> on_request_done;  // progress; may be empty
  bool isolate = false;                   // a context a model
  std::vector<ModelQuota> quotas;         // with isolate only
  ObserverMaker observe;
};

struct ModelSummary {
  std::string name;
  std::string path;
  std::uint64_t requests = 0;
  std::uint64_t weights = 0;  // blocks
  std::uint64_t weight_bytes = 0;
  std::uint64_t peak_activation_bytes = 0;  // of one request
  double activations_per_request = 0;       // allocations
};

struct ComparisonReport {
  std::string device;  // one line for people
  bool time_is_modelled = false;
  std::uint64_t requests = 0;
  std::vector<ModelSummary> models;
  WaySummary direct;
  WaySummary pool;
  // Isolated runs: where each context stood when all requests were served, and their device. Else empty.
  std::vector<pool::ContextView> contexts;
  pool::DeviceShare share;
  bool outputs_identical = true;
  std::string first_difference;  // empty when identical
  std::uint64_t leaked_blocks() const noexcept { return direct.leaked_blocks + pool.leaked_blocks; }
};

// Errors name the model or device and say what to do.
base::Result<ComparisonReport> compare(const ComparisonPlan& plan);

}  // namespace cistern::replay
