#include "replay/comparison.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/units.hpp"
#include "device/host_device.hpp"
#include "device/simulated_device.hpp"
#include "engine/direct_memory.hpp"
#include "engine/session.hpp"
#include "engine/tensor_source.hpp"

namespace cistern::replay {
namespace {

using base::Result;
using base::Status;

// What the simulator keeps mapped of freed tensors. Without it, mapping and page faults of the host, which no NPU has,
// take most of a run with every tensor from the driver.
constexpr std::uint64_t kIdleMappingBytes = 512 * base::kMiB;

Result<std::shared_ptr<device::Device>> open_device(const ComparisonPlan& plan, std::uint32_t ordinal) {
  if (plan.device_kind == "host") {
    device::HostConfig config;
    config.ordinal = ordinal;
    config.capacity_bytes = plan.capacity_bytes;
    auto made = device::HostDevice::create(config);
    if (!made.is_ok()) return made.take_status();
    return std::shared_ptr<device::Device>(made.take());
  }
  device::SimulatedConfig config;
  config.ordinal = ordinal;
  config.capacity_bytes = plan.capacity_bytes;
  config.latency.seed = plan.seed;
  config.idle_mapping_bytes = kIdleMappingBytes;
  auto made = device::SimulatedDevice::create(config);
  if (!made.is_ok()) return made.take_status();
  return std::shared_ptr<device::Device>(made.take());
}

struct Fleet {
  ServedWay& direct;
  ServedWay& pooled;
  std::vector<engine::ShapeRules> rules;
};

// Loads every model both ways and settles its shapes.
Status load_models(const ComparisonPlan& plan, engine::Environment& environment, Fleet& fleet,
                   const std::shared_ptr<engine::MemorySource>& direct,
                   const std::vector<std::shared_ptr<engine::MemorySource>>& pooled, ComparisonReport* report) {
  for (std::size_t i = 0; i < plan.model_paths.size(); ++i) {
    const std::string& path = plan.model_paths[i];
    Status loaded = fleet.direct.load(environment, path, direct);
    if (loaded.is_ok()) loaded = fleet.pooled.load(environment, path, pooled[i]);
    if (!loaded.is_ok()) return loaded;
    const engine::Model& model = fleet.pooled.model(report->models.size());
    auto rules = engine::resolve_shape_rules(model.name(), model.inputs(), plan.bindings);
    if (!rules.is_ok()) return rules.take_status();
    fleet.rules.push_back(rules.take());
    ModelSummary summary;
    summary.name = model.name();
    summary.path = path;
    summary.weights = model.held().blocks;
    summary.weight_bytes = model.held().bytes;
    report->models.push_back(std::move(summary));
  }
  for (const engine::Binding& binding : plan.bindings) {
    const bool known =
        binding.model == "*" || std::any_of(report->models.begin(), report->models.end(),
                                            [&](const ModelSummary& model) { return model.name == binding.model; });
    if (known) continue;
    return base::invalid_argument("--dim " + engine::format_binding(binding) + " is for a model '" + binding.model +
                                  "' that is not among the models given");
  }
  return {};
}

// The requests, dealt to lanes in turn; each lane is a thread. The first failure ends all of them.
class Service {
 public:
  Service(const ComparisonPlan& plan, Fleet& fleet, ComparisonReport* report) noexcept
      : plan_(plan), fleet_(fleet), report_(report) {}

  Status serve() {
    const std::size_t lanes = std::max<std::size_t>(plan_.streams, 1);
    std::vector<std::thread> others;
    for (std::size_t lane = 1; lane < lanes; ++lane) others.emplace_back([this, lane, lanes] { serve(lane, lanes); });
    serve(0, lanes);
    for (std::thread& thread : others) thread.join();
    return failure_;
  }

 private:
  void serve(std::size_t lane, std::size_t lanes) {
    for (std::uint64_t request = lane; request < plan_.requests && !ended_.load(); request += lanes) {
      if (request >= plan_.requests / 2) {
        std::call_once(half_, [this] {
          fleet_.direct.begin_second_half();
          fleet_.pooled.begin_second_half();
        });
      }
      Status status = serve_request(request, lane);
      const std::lock_guard lock(mutex_);
      if (status.is_ok()) {
        if (plan_.on_request_done) plan_.on_request_done();
      } else if (!ended_.exchange(true)) {
        failure_ = std::move(status);
      }
    }
  }

  Status serve_request(std::uint64_t request, std::size_t lane) {
    const std::size_t index = request % report_->models.size();
    const engine::ShapeRules& rules = fleet_.rules[index];
    const bool warms_up = request < report_->models.size();
    const auto shapes = warms_up ? engine::largest_shapes(rules) : engine::draw_shapes(rules, plan_.seed, request);
    auto inputs = engine::make_inputs(fleet_.pooled.model(index).inputs(), shapes, engine::mix(plan_.seed, request));
    if (!inputs.is_ok()) return inputs.take_status();
    // Both ways at once: they share nothing but the inputs.
    auto in_background = std::async(std::launch::async, [&] { return fleet_.direct.run(index, inputs.value(), lane); });
    auto pooled = fleet_.pooled.run(index, inputs.value(), lane);
    auto direct = in_background.get();
    if (!direct.is_ok()) return direct.status().with_context("directly from the driver");
    if (!pooled.is_ok()) return pooled.take_status();
    const std::string difference = engine::first_difference(direct.value().tensors(), pooled.value().tensors());
    (void)fleet_.direct.finish(direct.value(), lane);
    book(request, index, difference, fleet_.pooled.finish(pooled.value(), lane));
    return {};
  }

  void book(std::uint64_t request, std::size_t index, const std::string& difference, const engine::MemoryUsage& usage) {
    const std::lock_guard lock(mutex_);
    ModelSummary& summary = report_->models[index];
    ++summary.requests;
    summary.activations_per_request += static_cast<double>(usage.allocations());
    summary.peak_activation_bytes = std::max(summary.peak_activation_bytes, usage.peak_bytes);
    if (difference.empty() || !report_->outputs_identical) return;
    report_->outputs_identical = false;
    report_->first_difference = "request " + std::to_string(request) + ", " + summary.name + ": " + difference;
  }

  const ComparisonPlan& plan_;
  Fleet& fleet_;
  std::once_flag half_;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;  // guards what follows, and the progress
  ComparisonReport* report_;
  Status failure_;
};

}  // namespace

Result<ComparisonReport> compare(const ComparisonPlan& plan) {
  auto runtime = engine::OnnxRuntime::load({.path = {}, .configured = plan.onnxruntime_path});
  if (!runtime.is_ok()) return runtime.take_status();
  auto direct_device = open_device(plan, 0);
  if (!direct_device.is_ok()) return direct_device.take_status();
  auto pooled_device = open_device(plan, 1);
  if (!pooled_device.is_ok()) return pooled_device.take_status();
  auto pooled =
      open_pooled_memory(pooled_device.take(), {plan.pool, plan.model_paths, plan.isolate, plan.quotas, plan.observe});
  if (!pooled.is_ok()) return pooled.take_status();
  PooledMemory memory = pooled.take();

  ComparisonReport report;
  report.time_is_modelled = plan.device_kind == "simulated";
  report.device = memory.device->info().description;
  report.requests = plan.requests;
  ServedWay direct(direct_device.value(), {}, report.time_is_modelled);
  ServedWay by_pool(memory.device, memory.pools, report.time_is_modelled);
  auto environment = engine::Environment::create(runtime.take());
  if (!environment.is_ok()) return environment.take_status();
  Fleet fleet{direct, by_pool, {}};
  const auto direct_source = std::make_shared<engine::DirectMemory>(direct_device.value());
  Status status = load_models(plan, environment.value(), fleet, direct_source, memory.sources, &report);
  if (!status.is_ok()) return status;

  if (plan.streams != 0) {
    status = by_pool.open_streams(plan.streams);
    if (!status.is_ok()) return status;
  }
  direct.begin_requests();
  by_pool.begin_requests();
  status = Service(plan, fleet, &report).serve();
  if (!status.is_ok()) return status;
  for (ModelSummary& model : report.models) {
    if (model.requests > 0) model.activations_per_request /= static_cast<double>(model.requests);
  }
  if (memory.contexts) {
    report.contexts = memory.contexts->views();
    report.share = memory.contexts->share();
  }
  report.direct = direct.conclude();
  report.pool = by_pool.conclude();
  return report;
}

}  // namespace cistern::replay
