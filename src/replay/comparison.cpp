#include "replay/comparison.hpp"

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "base/units.hpp"
#include "compact/scheduler.hpp"
#include "compact/stitcher.hpp"
#include "device/host_device.hpp"
#include "device/page_pool.hpp"
#include "device/simulated_device.hpp"
#include "engine/direct_memory.hpp"
#include "engine/pool_memory.hpp"
#include "engine/session.hpp"
#include "engine/tensor_source.hpp"
#include "pool/pool.hpp"

namespace cistern::replay {
namespace {

using base::Result;
using base::Status;

// What the simulator keeps mapped of freed tensors. Without it, mapping and page faults of the host, which no NPU has,
// take most of a run with every tensor from the driver.
constexpr std::uint64_t kIdleMappingBytes = 512 * base::kMiB;

std::uint64_t all_driver_calls(const device::DeviceCounters& counters) noexcept {
  return counters.mallocs + counters.frees + counters.reserves + counters.releases + counters.pages_created +
         counters.pages_destroyed + counters.maps + counters.unmaps + counters.set_accesses + counters.pages_moved;
}

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

// One way to serve the models: a device, a source of memory on it, and the figures so far.
class Way {
 public:
  Way(std::shared_ptr<device::Device> device, std::shared_ptr<engine::MemorySource> source,
      std::shared_ptr<pool::Pool> pool, bool time_is_modelled)
      : device_(std::move(device)),
        source_(std::move(source)),
        pool_(std::move(pool)),
        time_is_modelled_(time_is_modelled) {}

  Status load(engine::Environment& environment, const std::string& path) {
    auto model = environment.load(path, source_);
    if (!model.is_ok()) return model.take_status();
    models_.push_back(model.take());
    note_peak(models_.size() - 1);
    return {};
  }

  engine::Model& model(std::size_t index) noexcept { return models_[index]; }
  void begin_requests() { calls_before_ = all_driver_calls(device_->counters()); }
  void begin_second_half() { half_ = device_->counters(); }

  Result<engine::Outputs> run(std::size_t index, const std::vector<engine::Tensor>& inputs) {
    models_[index].reset_peak();
    auto outputs = models_[index].run(inputs);
    note_peak(index);
    if (pool_) fragmentation_ += pool_->ledger().fragmentation_rate();
    return outputs;
  }

  // After the outputs of a request were looked at: gives them back and books the request.
  engine::MemoryUsage finish(engine::Outputs& outputs) {
    outputs.release();
    const engine::MemoryUsage usage = outputs.usage();
    // The simulator's own work for a driver call is not the driver's time; a pool's bookkeeping is real either way.
    const bool only_modelled = time_is_modelled_ && pool_ == nullptr;
    memory_ns_.push_back(usage.modelled_ns + (only_modelled ? 0 : usage.measured_ns));
    compute_ns_ += outputs.run_ns() > usage.measured_ns ? outputs.run_ns() - usage.measured_ns : 0;
    allocations_ += usage.allocations();
    return usage;
  }

  // The figures; unloads the models.
  WaySummary conclude() {
    const device::DeviceCounters now = device_->counters();
    const auto requests = static_cast<double>(memory_ns_.size());
    WaySummary summary;
    summary.allocations_per_request = static_cast<double>(allocations_) / requests;
    summary.driver_calls_per_request = static_cast<double>(all_driver_calls(now) - calls_before_) / requests;
    for (const std::uint64_t ns : memory_ns_) summary.memory_ns_total += ns;
    std::sort(memory_ns_.begin(), memory_ns_.end());
    summary.memory_ns_p50 = percentile(50);
    summary.memory_ns_p99 = percentile(99);
    summary.compute_ns_total = compute_ns_;
    summary.peak_live_bytes = peak_live_;
    summary.peak_reserved_bytes = pool_ ? pool_->ledger().peak_reserved_bytes : now.peak_driver_bytes;
    summary.fragmentation_rate = fragmentation_ / requests;
    summary.driver_calls_steady = now.driver_allocations() - half_.driver_allocations();
    summary.maps_steady = now.maps - half_.maps;
    for (engine::Model& model : models_) (void)model.unload();
    models_.clear();
    const device::DeviceCounters end = device_->counters();
    summary.leaked_blocks = pool_ ? pool_->ledger().live_blocks : end.mallocs - end.frees;
    return summary;
  }

 private:
  // Nearest rank, of the sorted times.
  std::uint64_t percentile(std::size_t percent) const {
    const std::size_t rank = (memory_ns_.size() * percent + 99) / 100;
    return memory_ns_[std::max<std::size_t>(rank, 1) - 1];
  }

  // Only one model works at a time, so all live memory peaks with the one that ran last.
  void note_peak(std::size_t working) {
    std::uint64_t live = models_[working].held().peak_bytes;
    for (std::size_t i = 0; i < models_.size(); ++i) live += i == working ? 0 : models_[i].held().bytes;
    peak_live_ = std::max(peak_live_, live);
  }

  std::shared_ptr<device::Device> device_;
  std::shared_ptr<engine::MemorySource> source_;
  std::shared_ptr<pool::Pool> pool_;  // null: directly from the driver
  bool time_is_modelled_;
  std::vector<engine::Model> models_;
  std::vector<std::uint64_t> memory_ns_;  // a request
  std::uint64_t compute_ns_ = 0;
  std::uint64_t allocations_ = 0;
  std::uint64_t peak_live_ = 0;
  std::uint64_t calls_before_ = 0;
  double fragmentation_ = 0;
  device::DeviceCounters half_;
};

struct PoolOnDevice {
  std::shared_ptr<device::Device> device;
  std::shared_ptr<device::PagePool> pages;  // outlives the pool
  std::shared_ptr<pool::Pool> pool;
  std::shared_ptr<compact::Scheduler> scheduler;  // null: not asked for
};

Result<PoolOnDevice> open_pool(const ComparisonPlan& plan, std::uint32_t ordinal) {
  PoolOnDevice out;
  auto device = open_device(plan, ordinal);
  if (!device.is_ok()) return device.take_status();
  out.device = device.take();
  pool::PoolOptions options = plan.pool;
  options.name = "run";
  if (options.growth == pool::Growth::expandable && out.device->info().capabilities.pages) {
    const std::uint64_t limit = options.limit_bytes != 0 ? options.limit_bytes : out.device->info().total_bytes;
    if (options.page_bytes == 0) options.page_bytes = pool::choose_page_bytes(limit, out.device->info());
    out.pages = std::make_shared<device::PagePool>(*out.device, options.page_bytes);
  }
  const device::DeviceInfo& info = out.device->info();
  auto observer = plan.observe ? plan.observe(info.kind + ":" + std::to_string(info.ordinal)) : nullptr;
  auto made = pool::Pool::create(out.device, out.pages, options, compact::rescue_steps(options.on_miss), observer);
  if (!made.is_ok()) return made.take_status();
  out.pool = made.take();
  out.scheduler = compact::Scheduler::start(*out.pool);
  return out;
}

struct Fleet {
  Way& direct;
  Way& pooled;
  std::vector<engine::ShapeRules> rules;
};

// Loads every model both ways and settles its shapes.
Status load_models(const ComparisonPlan& plan, engine::Environment& environment, Fleet& fleet,
                   ComparisonReport* report) {
  for (const std::string& path : plan.model_paths) {
    Status loaded = fleet.direct.load(environment, path);
    if (loaded.is_ok()) loaded = fleet.pooled.load(environment, path);
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

Status serve_request(const ComparisonPlan& plan, Fleet& fleet, std::uint64_t request, ComparisonReport* report) {
  const std::size_t index = request % report->models.size();
  ModelSummary& summary = report->models[index];
  const engine::ShapeRules& rules = fleet.rules[index];
  const bool warms_up = request < report->models.size();
  const auto shapes = warms_up ? engine::largest_shapes(rules) : engine::draw_shapes(rules, plan.seed, request);
  auto inputs = engine::make_inputs(fleet.pooled.model(index).inputs(), shapes, engine::mix(plan.seed, request));
  if (!inputs.is_ok()) return inputs.take_status();
  // Both ways at once: they share nothing but the inputs.
  auto in_background = std::async(std::launch::async, [&] { return fleet.direct.run(index, inputs.value()); });
  auto pooled = fleet.pooled.run(index, inputs.value());
  auto direct = in_background.get();
  if (!direct.is_ok()) return direct.status().with_context("directly from the driver");
  if (!pooled.is_ok()) return pooled.take_status();
  const std::uint64_t peak = fleet.pooled.model(index).held().peak_bytes;
  summary.peak_activation_bytes = std::max(summary.peak_activation_bytes, peak - summary.weight_bytes);
  if (report->outputs_identical) {
    std::string difference = engine::first_difference(direct.value().tensors(), pooled.value().tensors());
    if (!difference.empty()) {
      report->outputs_identical = false;
      report->first_difference = "request " + std::to_string(request) + ", " + summary.name + ": " + difference;
    }
  }
  (void)fleet.direct.finish(direct.value());
  const engine::MemoryUsage usage = fleet.pooled.finish(pooled.value());
  ++summary.requests;
  summary.activations_per_request += static_cast<double>(usage.allocations());
  return {};
}

}  // namespace

double WaySummary::overhead() const noexcept {
  return peak_live_bytes == 0 ? 0 : static_cast<double>(peak_reserved_bytes) / static_cast<double>(peak_live_bytes);
}

double WaySummary::memory_share() const noexcept {
  const std::uint64_t total = memory_ns_total + compute_ns_total;
  return total == 0 ? 0 : static_cast<double>(memory_ns_total) / static_cast<double>(total);
}

Result<ComparisonReport> compare(const ComparisonPlan& plan) {
  auto runtime = engine::OnnxRuntime::load({.path = {}, .configured = plan.onnxruntime_path});
  if (!runtime.is_ok()) return runtime.take_status();
  auto direct_device = open_device(plan, 0);
  if (!direct_device.is_ok()) return direct_device.take_status();
  auto pooled = open_pool(plan, 1);
  if (!pooled.is_ok()) return pooled.take_status();
  PoolOnDevice pool = pooled.take();

  ComparisonReport report;
  report.time_is_modelled = plan.device_kind == "simulated";
  report.device = pool.device->info().description;
  report.requests = plan.requests;
  Way direct(direct_device.value(), std::make_shared<engine::DirectMemory>(direct_device.value()), nullptr,
             report.time_is_modelled);
  Way by_pool(pool.device, std::make_shared<engine::PoolMemory>(pool.pool), pool.pool, report.time_is_modelled);
  auto environment = engine::Environment::create(runtime.take());
  if (!environment.is_ok()) return environment.take_status();
  Fleet fleet{direct, by_pool, {}};
  Status status = load_models(plan, environment.value(), fleet, &report);
  if (!status.is_ok()) return status;

  direct.begin_requests();
  by_pool.begin_requests();
  for (std::uint64_t request = 0; request < plan.requests; ++request) {
    if (request == plan.requests / 2) {
      direct.begin_second_half();
      by_pool.begin_second_half();
    }
    status = serve_request(plan, fleet, request, &report);
    if (!status.is_ok()) return status;
    if (plan.on_request_done) plan.on_request_done();
  }
  for (ModelSummary& model : report.models) {
    if (model.requests > 0) model.activations_per_request /= static_cast<double>(model.requests);
  }
  report.ledger = pool.pool->ledger();
  report.direct = direct.conclude();
  report.pool = by_pool.conclude();
  return report;
}

}  // namespace cistern::replay
