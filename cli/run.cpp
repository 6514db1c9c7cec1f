// `cistern run`: real models on ONNX Runtime, every tensor from the driver and every tensor from a pool, side by side.
#include <memory>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "cli/run_report.hpp"
#include "cli/ui/output.hpp"
#include "cli/ui/progress.hpp"
#include "cli/verbs.hpp"
#include "replay/comparison.hpp"
#include "trace/process_trace.hpp"

namespace cistern::cli {
namespace {

constexpr std::uint64_t kMaxRequests = 100'000'000;
constexpr std::uint64_t kMaxStreams = 64;

class RunVerb final : public Verb {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view summary() const override { return "Run ONNX models with all their memory from a pool, and without"; }
  std::vector<Example> examples() const override {
    return {{"cistern run .deps/models/*.onnx", "three networks share one simulated NPU"},
            {"cistern run .deps/models/*.onnx --streams 4", "four threads, each with a stream of the pool"},
            {"cistern run *.onnx --isolate --quota det=128MiB:1GiB", "a context a model, one with a quota"},
            {"cistern run rec.onnx --dim rec:x:3=48:640", "widths of 48 to 640 on axis 3 of input x"},
            {"cistern run det.onnx --device host --policy FIRST_FIT --json", "host memory, first fit, for programs"}};
  }
  void declare(Arguments* arguments) override {
    arguments->positional("MODEL.onnx", &plan_.model_paths, 1, "the models; requests go to them in turn");
    arguments->number("--requests", &plan_.requests, 1, kMaxRequests, "how many requests to serve");
    arguments->number("--seed", &plan_.seed, 0, ~std::uint64_t{0}, "of shapes, inputs and modelled latencies");
    arguments->texts("--dim", &dims_, "MODEL:INPUT:AXIS=LO[:HI[:STEP]]",
                     "extents of a dynamic axis, may be repeated; without it the OCR models have theirs (detection "
                     "320-960 step 32, recognition 48x48-640, classification 48x192) and axis 0 is 1");
    arguments->number("--streams", &plan_.streams, 0, kMaxStreams,
                      "threads that serve requests at once, each with a stream of the pool; 0: one request after the "
                      "other, without streams");
    arguments->flag("--isolate", &plan_.isolate,
                    "a context a model: a pool of its own on the shared device, with a quota");
    arguments->texts("--quota", &quotas_, "MODEL=MIN:MAX",
                     "with --isolate: what the model's context is promised, and the most it may hold; either may be "
                     "left out, may be repeated for other models");
    arguments->choice("--device", &plan_.device_kind, "simulated|host", "where the memory is");
    arguments->bytes("--capacity", &plan_.capacity_bytes, "memory of the device");
    arguments->flag("--json", &json_, "as JSON");
    arguments->settings();
  }
  base::Result<ExitCode> run(const base::OptionSet& settings) override {
    for (const std::string& dim : dims_) {
      auto binding = engine::parse_binding(dim);
      if (!binding.is_ok()) return binding.status().with_context("--dim " + dim);
      plan_.bindings.push_back(binding.take());
    }
    auto options = pool::pool_options_from(settings);
    if (!options.is_ok()) return options.take_status();
    plan_.pool = options.take();
    for (const std::string& text : quotas_) {
      auto quota = replay::parse_quota(text);
      if (!quota.is_ok()) return quota.status().with_context("--quota");
      plan_.quotas.push_back(quota.take());
    }
    plan_.observe = [&settings](std::string_view pool, std::string_view device) {
      return trace::observe_by_options(settings, pool, device);
    };
    plan_.onnxruntime_path = settings.text("CISTERN_ONNXRUNTIME");
    base::Result<replay::ComparisonReport> report = serve();
    if (!report.is_ok()) return one_line(report.status());
    print(json_ ? comparison_json(report.value()) : comparison_text(report.value()));
    const bool sound = report.value().outputs_identical && report.value().leaked_blocks() == 0;
    return sound ? ExitCode::ok : ExitCode::finding;
  }

 private:
  base::Result<replay::ComparisonReport> serve() {
    ProgressBar progress("run", plan_.requests);
    plan_.on_request_done = [&progress] { progress.advance(); };
    return replay::compare(plan_);
  }

  // A pool explains an exhausted device in several lines; here the first one and what to change are enough.
  base::Status one_line(const base::Status& failure) const {
    std::string text(failure.text());
    text.resize(std::min(text.find('\n'), text.size()));
    if (failure.code() == base::StatusCode::limit_exceeded) {
      text += plan_.quotas.empty() ? "; raise --limit-bytes" : "; raise the model's --quota, or --limit-bytes";
    } else if (failure.code() == base::StatusCode::out_of_memory) {
      text += "; raise --capacity (now " + base::format_bytes(plan_.capacity_bytes) + ") or use smaller shapes";
    }
    return base::Status(failure.code(), text, failure.native_code());
  }

  replay::ComparisonPlan plan_{.model_paths = {},
                               .requests = 100,
                               .seed = 1,
                               .streams = 0,
                               .bindings = {},
                               .device_kind = "simulated",
                               .capacity_bytes = 32 * base::kGiB,
                               .pool = {},
                               .onnxruntime_path = {},
                               .on_request_done = {},
                               .isolate = false,
                               .quotas = {},
                               .observe = {}};
  std::vector<std::string> dims_;
  std::vector<std::string> quotas_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_run_verb() { return std::make_unique<RunVerb>(); }

}  // namespace cistern::cli
