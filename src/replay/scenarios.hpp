// Scenarios: named workloads that set published claims beside what a pool does with the same tensors.
//
// A scenario plays one series of plans twice, on two simulated devices of the same size and latency: directly, every
// tensor a driver allocation, and through a pool. No memory stands behind the addresses, so a 32 GiB device fits
// anywhere. Everything but the measured time of the pool's own calls repeats exactly for the same options.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "device/latency_model.hpp"
#include "pool/observer.hpp"
#include "pool/options.hpp"
#include "replay/player.hpp"

namespace cistern::replay {

struct ScenarioName {
  std::string_view name;
  std::string_view summary;
};
std::span<const ScenarioName> scenarios() noexcept;

// How the driver of the direct way rounds an allocation.
enum class DriverRounding : std::uint8_t {
  huge,        // every one up to 2 MiB
  huge_first,  // from 1 MiB on up to 2 MiB, smaller ones up to 4 KiB
};
std::string_view driver_rounding_name(DriverRounding rounding) noexcept;
base::Result<DriverRounding> parse_driver_rounding(std::string_view text);

// What a layer's KV cache is made of, in the pool; the driver has blocks only.
enum class KvCache : std::uint8_t {
  elastic,  // one elastic buffer, which grows in place; blocks where the pool maps no pages
  blocks,   // blocks of kv_block_tokens
};
std::string_view kv_cache_name(KvCache cache) noexcept;
base::Result<KvCache> parse_kv_cache(std::string_view text);

struct Llama7bOptions {
  std::uint64_t kv_tokens = 16'384;     // the context at the end
  std::uint64_t kv_block_tokens = 128;  // 2 MiB a layer: the driver rounds nothing away
  KvCache kv_cache = KvCache::elastic;  // in a report: what it was in the end
  // A power of two: blocks of cache are asked for on multiples of their size, up to this. 0: wherever they fit.
  std::uint64_t kv_alignment_bytes = std::uint64_t{2} << 20;
  std::uint64_t steps = 256;  // decode steps, and as many of the article's inferences
  std::uint64_t activation_bytes = 3'500'000'000;
  std::uint64_t device_bytes = std::uint64_t{32} << 30;
  std::uint64_t seed = 1;  // of driver latencies and of the article's tensor sizes
  std::uint64_t pair_min_ns = device::LatencyModel{}.malloc_free_pair_min_ns;
  std::uint64_t pair_max_ns = device::LatencyModel{}.malloc_free_pair_max_ns;
  DriverRounding driver_rounding = DriverRounding::huge;
  pool::PoolOptions pool;  // policy, on_miss, page size
  // Who is told of what happens in the pool, given the device's name; may be empty, and may give nobody. Recording is
  // part of the pool's measured time.
  std::function<std::shared_ptr<pool::Observer>(std::string_view device)> observe;
};

// What the arithmetic says before anything is allocated.
struct Llama7bNeed {
  std::uint64_t weight_bytes = 0;
  std::uint64_t kv_bytes = 0;  // whole blocks
  std::uint64_t activation_bytes = 0;
  std::uint64_t total() const noexcept { return weight_bytes + kv_bytes + activation_bytes; }
};
Llama7bNeed llama7b_need(const Llama7bOptions& options) noexcept;

// The inferences of one way, by sort.
struct WayFigures {
  MemoryCost load;     // the weights, once
  CostSeries prefill;  // a chunk of the prompt each
  CostSeries decode;   // a token each
  CostSeries article;  // 20 tensors each
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t peak_reserved_bytes = 0;
  double overhead() const noexcept {
    return static_cast<double>(peak_reserved_bytes) / static_cast<double>(peak_live_bytes);
  }
  // Memory the way held at its worst beyond what the tensors needed at theirs.
  std::uint64_t fragmentation_bytes() const noexcept { return peak_reserved_bytes - peak_live_bytes; }
};

struct Llama7bReport {
  Llama7bOptions options;  // the pool's with defaults filled in
  Llama7bNeed need;
  std::uint64_t parameters = 0;
  std::uint64_t weight_tensors = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t chunk_tokens = 0;             // of prompt in a pass
  std::uint64_t activation_peak_bytes = 0;    // of the prefill, by its plans
  std::uint64_t decode_activation_bytes = 0;  // of the last decode step
  WayFigures direct;
  WayFigures pool;
};

// invalid_argument: options out of range. out_of_memory: the device is too small; the text has the arithmetic.
base::Result<Llama7bReport> run_llama7b(const Llama7bOptions& options);

}  // namespace cistern::replay
