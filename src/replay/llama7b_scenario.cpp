// The llama7b scenario: load the weights, prefill a prompt in chunks, decode to the end of the context, then run the
// article's inference of 20 tensors beside the full cache. Twice, once each way.
#include <algorithm>
#include <numeric>
#include <string>

#include "base/bits.hpp"
#include "base/units.hpp"
#include "device/simulated_device.hpp"
#include "replay/article.hpp"
#include "replay/llama7b.hpp"
#include "replay/scenarios.hpp"

namespace cistern::replay {
namespace {

using base::Result;
using base::Status;

constexpr std::uint64_t kMaxTokens = std::uint64_t{16} << 20;
constexpr std::uint64_t kMaxActivationBytes = base::kTiB;
constexpr std::uint64_t kMinActivationBytes = base::kMiB;
constexpr std::uint64_t kMaxPairNs = 1'000'000'000;

Status check_range(std::string_view what, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) return {};
  return base::invalid_argument(std::string(what) + " = " + std::to_string(value) + " is not between " +
                                std::to_string(least) + " and " + std::to_string(most));
}

Status check(const Llama7bOptions& options) {
  Status status = check_range("kv-tokens", options.kv_tokens, 2, kMaxTokens);
  if (status.is_ok()) status = check_range("steps", options.steps, 1, options.kv_tokens - 1);
  if (status.is_ok()) status = check_range("kv-block-tokens", options.kv_block_tokens, 1, kMaxTokens);
  if (status.is_ok()) status = check_range("kv-alignment-bytes", options.kv_alignment_bytes, 0, base::kGiB);
  if (status.is_ok() && options.kv_alignment_bytes != 0 && !base::is_power_of_two(options.kv_alignment_bytes)) {
    status = base::invalid_argument("kv-alignment-bytes = " + std::to_string(options.kv_alignment_bytes) +
                                    " is neither 0 nor a power of two");
  }
  if (status.is_ok()) {
    status = check_range("activation-bytes", options.activation_bytes, kMinActivationBytes, kMaxActivationBytes);
  }
  if (status.is_ok()) status = check_range("pair-max-us", options.pair_max_ns / 1000, 0, kMaxPairNs / 1000);
  if (status.is_ok()) {
    status = check_range("pair-min-us", options.pair_min_ns / 1000, 0, options.pair_max_ns / 1000);
  }
  return status;
}

std::string gigabytes(std::uint64_t bytes) {
  std::string tenths = std::to_string((bytes + 5'000'000) / 10'000'000);
  while (tenths.size() < 3) tenths.insert(tenths.begin(), '0');
  return tenths.substr(0, tenths.size() - 2) + "." + tenths.substr(tenths.size() - 2) + " GB";
}

// What both ways may hold.
std::uint64_t capacity(const Llama7bOptions& options) {
  return options.pool.limit_bytes == 0 ? options.device_bytes
                                       : std::min(options.pool.limit_bytes, options.device_bytes);
}

// Refused with the sum, before a run that must fail: how many tokens would fit is the answer people need.
Status check_room(const Llama7bOptions& options) {
  const Llama7bNeed need = llama7b_need(options);
  if (need.total() <= capacity(options)) return {};
  const std::uint64_t fixed = need.weight_bytes + need.activation_bytes;
  const std::uint64_t block_bytes = llama7b::kv_bytes(options.kv_block_tokens, options.kv_block_tokens);
  const std::uint64_t room = capacity(options) > fixed ? capacity(options) - fixed : 0;
  const std::string tokens = std::to_string(options.kv_tokens);
  std::string text = "LLaMA-7B with a context of " + tokens + " tokens does not fit: weights " +
                     gigabytes(need.weight_bytes) + " + KV cache " + gigabytes(need.kv_bytes) + " (" + tokens + " x " +
                     std::to_string(llama7b::kKvBytesPerToken / base::kKiB) + " KiB) + activations " +
                     gigabytes(need.activation_bytes) + " = " + gigabytes(need.total()) + ", but there are only " +
                     gigabytes(capacity(options)) + ". At most " +
                     std::to_string(room / block_bytes * options.kv_block_tokens) +
                     " tokens fit; use fewer --kv-tokens or a larger --device-bytes";
  return {base::StatusCode::out_of_memory, std::move(text)};
}

device::SimulatedConfig device_config(const Llama7bOptions& options) {
  device::SimulatedConfig config;
  config.capacity_bytes = options.device_bytes;
  config.backed = false;
  config.latency.seed = options.seed;
  config.latency.malloc_free_pair_min_ns = config.latency.small_malloc_free_pair_min_ns = options.pair_min_ns;
  config.latency.malloc_free_pair_max_ns = config.latency.small_malloc_free_pair_max_ns = options.pair_max_ns;
  if (options.driver_rounding == DriverRounding::huge) config.rounding.small_bytes = config.rounding.huge_bytes;
  return config;
}

TensorPlan weights_plan() {
  TensorPlan plan;
  for (const std::uint64_t bytes : llama7b::weight_tensors()) plan.keep(bytes);
  return plan;
}

Status play_into(Player& player, const TensorPlan& plan, CostSeries* series, std::string_view what) {
  auto cost = player.play(plan);
  if (!cost.is_ok()) return cost.status().with_context(what);
  series->add(cost.value());
  return {};
}

// All inferences of the scenario, one way.
Status play_all(MemoryWay& way, const Llama7bReport& report, WayFigures* figures) {
  const Llama7bOptions& options = report.options;
  Player player(way);
  auto load = player.play(weights_plan());
  if (!load.is_ok()) return load.status().with_context("loading the weights");
  figures->load = load.value();
  std::uint64_t context = 0;
  while (context < report.prompt_tokens) {
    const std::uint64_t tokens = std::min(report.chunk_tokens, report.prompt_tokens - context);
    context += tokens;
    const TensorPlan pass =
        llama7b::forward_pass({tokens, context, options.kv_block_tokens, options.kv_alignment_bytes});
    Status status = play_into(player, pass, &figures->prefill, "prefill to token " + std::to_string(context));
    if (!status.is_ok()) return status;
  }
  while (context < options.kv_tokens) {
    ++context;
    const TensorPlan pass = llama7b::forward_pass({1, context, options.kv_block_tokens, options.kv_alignment_bytes});
    Status status = play_into(player, pass, &figures->decode, "decoding token " + std::to_string(context));
    if (!status.is_ok()) return status;
  }
  for (std::uint64_t inference = 0; inference < options.steps; ++inference) {
    const TensorPlan pass = article::inference(options.seed + inference, options.activation_bytes);
    Status status = play_into(player, pass, &figures->article, "inference of 20 tensors");
    if (!status.is_ok()) return status;
  }
  figures->peak_live_bytes = player.peak_live_bytes();
  figures->peak_reserved_bytes = way.counters().peak_driver_bytes;
  return player.release();
}

Status run_direct(const device::SimulatedConfig& config, Llama7bReport* report) {
  auto device = device::SimulatedDevice::create(config);
  if (!device.is_ok()) return device.take_status();
  DirectWay way(device.take());
  return play_all(way, *report, &report->direct);
}

Status run_pooled(const device::SimulatedConfig& config, Llama7bReport* report) {
  auto device = device::SimulatedDevice::create(config);
  if (!device.is_ok()) return device.take_status();
  const device::DeviceInfo& info = device.value()->info();
  auto observer = report->options.observe ? report->options.observe(info.kind + ":" + std::to_string(info.ordinal))
                                          : std::shared_ptr<pool::Observer>();
  auto way = PooledWay::create(device.take(), report->options.pool, std::move(observer));
  if (!way.is_ok()) return way.take_status();
  Llama7bOptions& options = report->options;
  options.pool = way.value()->pool().options();
  if (options.pool.growth != pool::Growth::expandable) options.kv_cache = KvCache::blocks;
  if (options.kv_cache == KvCache::elastic) {
    way.value()->let_buffers_grow(llama7b::kv_bytes(options.kv_tokens, options.kv_block_tokens) / llama7b::kLayers);
  }
  return play_all(*way.value(), *report, &report->pool);
}

// What the plans say of themselves.
Status describe(Llama7bReport* report) {
  const Llama7bOptions& options = report->options;
  report->need = llama7b_need(options);
  report->parameters = llama7b::parameter_count();
  report->weight_tensors = llama7b::weight_tensors().size();
  report->prompt_tokens = options.kv_tokens - options.steps;
  report->chunk_tokens = llama7b::longest_chunk(report->prompt_tokens, options.activation_bytes);
  const TensorPlan last_step =
      llama7b::forward_pass({1, options.kv_tokens, options.kv_block_tokens, options.kv_alignment_bytes});
  report->decode_activation_bytes = last_step.peak_transient_bytes();
  if (report->chunk_tokens == 0 || report->decode_activation_bytes > options.activation_bytes) {
    return base::invalid_argument("activation-bytes = " + std::to_string(options.activation_bytes) +
                                  " is too little: one token at the end of " + std::to_string(options.kv_tokens) +
                                  " needs " + std::to_string(report->decode_activation_bytes));
  }
  std::uint64_t context = 0;
  while (context < report->prompt_tokens) {
    const std::uint64_t tokens = std::min(report->chunk_tokens, report->prompt_tokens - context);
    context += tokens;
    const TensorPlan pass =
        llama7b::forward_pass({tokens, context, options.kv_block_tokens, options.kv_alignment_bytes});
    report->activation_peak_bytes = std::max(report->activation_peak_bytes, pass.peak_transient_bytes());
  }
  return {};
}

}  // namespace

Llama7bNeed llama7b_need(const Llama7bOptions& options) noexcept {
  return {llama7b::parameter_count() * llama7b::kHalf, llama7b::kv_bytes(options.kv_tokens, options.kv_block_tokens),
          options.activation_bytes};
}

Result<Llama7bReport> run_llama7b(const Llama7bOptions& options) {
  Status status = check(options);
  if (status.is_ok()) status = check_room(options);
  if (!status.is_ok()) return status;
  Llama7bReport report;
  report.options = options;
  status = describe(&report);
  const device::SimulatedConfig config = device_config(options);
  if (status.is_ok()) status = run_direct(config, &report);
  if (status.is_ok()) status = run_pooled(config, &report);
  if (!status.is_ok()) return status;
  return report;
}

}  // namespace cistern::replay
