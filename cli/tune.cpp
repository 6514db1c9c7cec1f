// `cistern tune`: the settings that serve given traces best, found by trying them.
#include <string>
#include <vector>

#include "base/units.hpp"
#include "cli/remarks.hpp"
#include "cli/replay_capacity.hpp"
#include "cli/tune_report.hpp"
#include "cli/ui/output.hpp"
#include "cli/ui/progress.hpp"
#include "cli/verbs.hpp"
#include "replay/sources/read_trace.hpp"

namespace cistern::cli {
namespace {

constexpr std::uint64_t kMaxPasses = 1000;

class TuneVerb final : public Verb {
 public:
  std::string_view name() const override { return "tune"; }
  std::string_view summary() const override { return "Find the settings that serve recorded traces best"; }
  std::vector<Example> examples() const override {
    return {{"cistern tune monday.trace tuesday.trace", "least memory, then least time"},
            {"cistern tune --for time server.trace", "least time, then least memory"},
            {"cistern tune --capacity 1.05x server.trace", "with memory of 1.05 of the trace's peak"}};
  }
  void declare(Arguments* arguments) override {
    arguments->positional("TRACE", &paths_, 1, "the traces; .gz and .zst are unpacked");
    arguments->text("--format", &format_, "FORMAT", "of the traces; auto looks at each file");
    arguments->choice("--for", &goal_, "memory|time", "what comes first");
    arguments->text("--capacity", &capacity_, "BYTES|1.10x|none", "memory of the device, or of each trace's peak");
    arguments->number("--passes", &passes_, 0, kMaxPasses,
                      "of the measurement of time; 0 counts the driver's time only");
    arguments->flag("--all", &all_, "all candidates in the table, not the first ten and the profiles");
    arguments->flag("--json", &json_, "as JSON");
    arguments->settings();
  }
  base::Result<ExitCode> run(const base::OptionSet& settings) override {
    remark_if_unrecorded(name(), settings);
    remark_if_set(
        name(), settings,
        {"CISTERN_PROFILE", "CISTERN_POLICY", "CISTERN_GROWTH", "CISTERN_ON_MISS", "CISTERN_PAGE_BYTES",
         "CISTERN_MAGAZINE_BYTES", "CISTERN_COMPACT", "CISTERN_COMPACT_INTERVAL_MS", "CISTERN_COMPACT_THRESHOLD"},
        "has no effect here: its values are what is tried");
    replay::TuneOptions options;
    options.goal = goal_ == "time" ? replay::Goal::time : replay::Goal::memory;
    options.passes = static_cast<unsigned>(passes_);
    auto base = pool::pool_options_from(settings);
    if (!base.is_ok()) return base.take_status();
    options.base = base.take();
    base::Status wrong = parse_capacity(capacity_, &options.capacity_bytes, &options.capacity_over_peak);
    if (!wrong.is_ok()) return wrong;
    std::vector<replay::TraceData> traces;
    for (const std::string& path : paths_) {
      auto read = replay::read_trace(path, format_ == "auto" ? std::string_view{} : format_);
      if (!read.is_ok()) return read.take_status();
      traces.push_back(read.take());
    }
    options.candidates = replay::sweep(options);
    ProgressBar progress("tune", traces.size() * options.candidates.size());
    options.on_progress = [&progress] { progress.advance(1); };
    auto tried = replay::tune(traces, options);
    if (!tried.is_ok()) return tried.take_status();
    print(json_ ? tune_json(traces, options, tried.value()) : tune_text(traces, options, tried.value(), all_));
    return tried.value().front().failed == 0 ? ExitCode::ok : ExitCode::finding;
  }

 private:
  std::vector<std::string> paths_;
  std::string format_ = "auto";
  std::string goal_ = "memory";
  std::string capacity_ = "none";
  std::uint64_t passes_ = 1;
  bool all_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_tune_verb() { return std::make_unique<TuneVerb>(); }

}  // namespace cistern::cli
