#include "replay/scenarios.hpp"

#include <array>
#include <numeric>

namespace cistern::replay {
namespace {

constexpr std::array<ScenarioName, 1> kScenarios = {
    {{"llama7b", "LLaMA-7B in fp16: 14 GB of weights, a KV cache growing to 8 GB, activations peaking at 3.5 GB"}}};

struct RoundingName {
  DriverRounding rounding;
  std::string_view name;
};
constexpr std::array<RoundingName, 2> kRoundings = {
    {{DriverRounding::huge, "huge"}, {DriverRounding::huge_first, "huge_first"}}};

}  // namespace

std::span<const ScenarioName> scenarios() noexcept { return kScenarios; }

std::string_view kv_cache_name(KvCache cache) noexcept { return cache == KvCache::elastic ? "elastic" : "blocks"; }

base::Result<KvCache> parse_kv_cache(std::string_view text) {
  for (const KvCache cache : {KvCache::elastic, KvCache::blocks}) {
    if (text == kv_cache_name(cache)) return cache;
  }
  return base::invalid_argument("'" + std::string(text) + "' is no KV cache; use elastic or blocks");
}

std::string_view driver_rounding_name(DriverRounding rounding) noexcept {
  for (const RoundingName& known : kRoundings) {
    if (known.rounding == rounding) return known.name;
  }
  return "unknown";
}

base::Result<DriverRounding> parse_driver_rounding(std::string_view text) {
  for (const RoundingName& known : kRoundings) {
    if (known.name == text) return known.rounding;
  }
  return base::invalid_argument("unknown driver rounding '" + std::string(text) + "'; use one of huge, huge_first");
}

}  // namespace cistern::replay
