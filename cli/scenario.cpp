// `cistern scenario`: a named workload, played directly against a simulated driver and through a pool.
#include <string>

#include "base/text.hpp"
#include "cli/remarks.hpp"
#include "cli/scenario_report.hpp"
#include "cli/ui/output.hpp"
#include "cli/ui/wrap.hpp"
#include "cli/verbs.hpp"
#include "replay/scenarios.hpp"
#include "trace/process_trace.hpp"

namespace cistern::cli {

namespace {

constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 40;  // the scenario itself knows the narrower range

std::string known_scenarios() {
  std::string names;
  for (const auto& known : replay::scenarios()) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

class ScenarioVerb final : public Verb {
 public:
  std::string_view name() const override { return "scenario"; }
  std::string_view summary() const override {
    return "Set published claims beside what a pool does with the same load";
  }
  std::vector<Example> examples() const override {
    return {{"cistern scenario", "the scenarios there are"},
            {"cistern scenario llama7b", "LLaMA-7B with 16 K tokens of context, as a table"},
            {"cistern scenario llama7b --kv-tokens 131072 --device-bytes 96GiB", "with 128 K tokens: 69 GB of cache"},
            {"cistern scenario llama7b --on-miss STITCH_FIRST --json", "another pool, for programs"}};
  }
  void declare(Arguments* arguments) override {
    arguments->positional("NAME", &names_, 0, "the scenario; without it, all are listed");
    arguments->flag("--json", &json_, "as JSON");
    arguments->number("--kv-tokens", &options_.kv_tokens, 0, kMaxCount,
                      "the context at the end; 512 KiB of cache each");
    arguments->number("--steps", &options_.steps, 0, kMaxCount, "decode steps, and as many inferences of 20 tensors");
    arguments->number("--seed", &options_.seed, 0, ~std::uint64_t{0}, "of driver latencies and tensor sizes");
    arguments->number("--kv-block-tokens", &options_.kv_block_tokens, 0, kMaxCount,
                      "tokens by which the cache grows in a layer");
    arguments->choice("--kv-cache", &kv_cache_, "elastic|blocks",
                      "in the pool: a buffer a layer that grows in place, or blocks");
    arguments->bytes("--kv-alignment-bytes", &options_.kv_alignment_bytes,
                     "the most that blocks of cache are aligned to; 0 lets them lie anywhere");
    arguments->bytes("--activation-bytes", &options_.activation_bytes,
                     "what a prefill may use at its peak; sets the length of its chunks");
    arguments->bytes("--device-bytes", &options_.device_bytes, "memory of the simulated device");
    arguments->number("--pair-min-us", &pair_min_us_, 0, kMaxCount, "modelled driver malloc and free together, least");
    arguments->number("--pair-max-us", &pair_max_us_, 0, kMaxCount, "the same, most");
    arguments->choice("--driver-rounding", &rounding_, "huge|huge_first",
                      "the driver's unit: 2 MiB always, or 4 KiB below 1 MiB");
    arguments->settings();
  }
  base::Result<ExitCode> run(const base::OptionSet& settings) override {
    if (names_.empty()) return list();
    if (names_.size() > 1)
      return base::invalid_argument("one scenario at a time; second is " + base::in_quotes(names_[1]));
    if (names_[0] != "llama7b") {
      return base::invalid_argument("there is no scenario " + base::in_quotes(names_[0]) +
                                    "; there are: " + known_scenarios());
    }
    auto rounding = replay::parse_driver_rounding(rounding_);
    if (!rounding.is_ok()) return rounding.take_status();
    remark_if_set(name(), settings, {"CISTERN_COMPACT", "CISTERN_COMPACT_INTERVAL_MS", "CISTERN_COMPACT_THRESHOLD"},
                  "has no effect here: a scenario's requests follow each other without a quiet moment");
    auto pool = pool::pool_options_from(settings);
    if (!pool.is_ok()) return pool.take_status();
    auto kv_cache = replay::parse_kv_cache(kv_cache_);
    if (!kv_cache.is_ok()) return kv_cache.take_status();
    options_.kv_cache = kv_cache.value();
    options_.driver_rounding = rounding.value();
    options_.pool = pool.take();
    options_.pair_min_ns = pair_min_us_ * 1000;
    options_.pair_max_ns = pair_max_us_ * 1000;
    options_.observe = [&settings](std::string_view device) {
      return trace::observe_by_options(settings, "llama7b", device);
    };
    const auto report = replay::run_llama7b(options_);
    if (!report.is_ok()) return report.status();
    print(json_ ? llama7b_json(report.value()) : llama7b_text(report.value()));
    return ExitCode::ok;
  }

 private:
  base::Result<ExitCode> list() const {
    for (const auto& known : replay::scenarios()) print(hanging_lines(known.name, known.summary));
    return ExitCode::ok;
  }

  std::vector<std::string> names_;
  bool json_ = false;
  replay::Llama7bOptions options_;
  std::uint64_t pair_min_us_ = options_.pair_min_ns / 1000;
  std::uint64_t pair_max_us_ = options_.pair_max_ns / 1000;
  std::string kv_cache_ = std::string(replay::kv_cache_name(options_.kv_cache));
  std::string rounding_ = std::string(replay::driver_rounding_name(options_.driver_rounding));
};

}  // namespace

std::unique_ptr<Verb> make_scenario_verb() { return std::make_unique<ScenarioVerb>(); }

}  // namespace cistern::cli
