// `cistern replay`: recorded traces through the real pool, or the baseline, and what came of them.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/contexts_report.hpp"
#include "cli/remarks.hpp"
#include "cli/replay_capacity.hpp"
#include "cli/replay_report.hpp"
#include "cli/ui/output.hpp"
#include "cli/ui/progress.hpp"
#include "cli/verbs.hpp"
#include "replay/sources/read_trace.hpp"

namespace cistern::cli {
namespace {

constexpr std::uint64_t kMaxPasses = 10'000;
constexpr std::uint64_t kTicks = 1000;  // of the progress bar, a trace

base::Result<replay::ReplayDevice> parse_device(std::string_view name) {
  for (const auto device : {replay::ReplayDevice::none, replay::ReplayDevice::host, replay::ReplayDevice::simulated}) {
    if (name == replay::replay_device_name(device)) return device;
  }
  return base::invalid_argument("--device is " + base::in_quotes(name) + "; choose none, host or simulated");
}

base::Result<replay::Compaction> parse_compaction(std::string_view name) {
  using replay::Compaction;
  for (const auto compaction : {Compaction::none, Compaction::stitch, Compaction::relocate, Compaction::all}) {
    if (name == replay::compaction_name(compaction)) return compaction;
  }
  return base::invalid_argument("--compaction is " + base::in_quotes(name) + "; choose none, stitch, relocate or all");
}

class ReplayVerb final : public Verb {
 public:
  std::string_view name() const override { return "replay"; }
  std::string_view summary() const override { return "Replay allocation traces through the pool: footprint and time"; }
  std::vector<Example> examples() const override {
    return {{"cistern replay decode.csv.zst", "one trace in full"},
            {"cistern replay *.csv.zst --smallest", "a row a trace, with the least memory that never fails"},
            {"cistern replay a.csv --growth ARENAS --capacity 1.10x --filled --compaction relocate",
             "blocks moved within one arena of 1.10 of the peak"},
            {"cistern replay snapshot.pickle --growth segments", "the caching-allocator baseline"},
            {"cistern replay models.csv --contexts streams", "a pool a stream, on one device that they share"},
            {"cistern replay decode.csv --capacity 512MiB --device simulated --check", "does it fit, and stay intact"}};
  }
  void declare(Arguments* arguments) override {
    arguments->positional("TRACE", &paths_, 1, "the traces; .gz and .zst are unpacked");
    arguments->text("--format", &format_, "FORMAT", "of the traces; auto looks at each file");
    arguments->choice("--growth", &growth_, "EXPANDABLE|ARENAS|SEGMENTS",
                      "as the setting of that name; SEGMENTS is the caching-allocator baseline in the pool's place");
    arguments->text("--capacity", &capacity_, "BYTES|1.10x|none", "memory of the device, or of each trace's peak");
    arguments->flag("--filled", &options_.filled, "all of the capacity is the pool's at once, as one arena");
    arguments->choice("--compaction", &compaction_, "none|stitch|relocate|all",
                      "what makes free memory contiguous; with relocate and all, every block is movable");
    arguments->choice("--device", &device_, "none|host|simulated", "where the memory is; none: addresses only");
    arguments->choice("--contexts", &contexts_, "none|streams",
                      "streams: each stream has a pool of its own, and they share the device");
    arguments->flag("--smallest", &smallest_, "find the least capacity at which no request fails, over peak live");
    arguments->flag("--check", &options_.check, "stamp every block, and look at the stamps when it is freed");
    arguments->number("--passes", &passes_, 0, kMaxPasses, "of the measurement of time; 0 leaves times out");
    arguments->flag("--json", &json_, "as JSON");
    arguments->flag("--csv", &csv_, "as CSV, a line a trace");
    arguments->settings();
  }
  base::Result<ExitCode> run(const base::OptionSet& settings) override {
    if (json_ && csv_) return base::invalid_argument("--json and --csv exclude each other");
    if (base::Status wrong = take(settings); !wrong.is_ok()) return wrong;
    remark_if_unrecorded(name(), settings);
    if (contexts_ == "streams") return run_contexts();
    ProgressBar progress("replay", paths_.size() * kTicks);
    std::vector<ReplayedTrace> traces;
    bool is_sound = true;
    for (const std::string& path : paths_) {
      auto replayed = replay_file(path, &progress);
      if (!replayed.is_ok()) return replayed.take_status();
      traces.push_back(replayed.take());
      const ReplayedTrace& last = traces.back();
      is_sound = is_sound && last.report.failed == 0 && last.report.damaged() == 0 &&
                 last.smallest_wanted == last.smallest.has_value();
    }
    print(json_ ? replay_json(options_, traces) : csv_ ? replay_csv(options_, traces) : replay_text(options_, traces));
    return is_sound ? ExitCode::ok : ExitCode::finding;
  }

 private:
  base::Status take(base::OptionSet settings) {
    options_.segments = growth_ == "SEGMENTS";
    if (!growth_.empty() && !options_.segments) {
      if (base::Status wrong = settings.set("CISTERN_GROWTH", growth_, "--growth"); !wrong.is_ok()) return wrong;
    }
    auto pool = pool::pool_options_from(settings);
    if (!pool.is_ok()) return pool.take_status();
    auto device = parse_device(device_);
    if (!device.is_ok()) return device.take_status();
    auto compaction = parse_compaction(compaction_);
    if (!compaction.is_ok()) return compaction.take_status();
    base::Status wrong = parse_capacity(capacity_, &options_.capacity_bytes, &options_.capacity_over_peak);
    if (!wrong.is_ok()) return wrong;
    options_.pool = pool.take();
    options_.device = device.value();
    options_.compaction = compaction.value();
    options_.passes = static_cast<unsigned>(passes_);
    return {};
  }

  base::Result<ExitCode> run_contexts() {
    if (smallest_) return base::invalid_argument("--smallest is of one pool; --contexts streams has several");
    ProgressBar progress("replay", paths_.size() * kTicks);
    std::vector<SharedTrace> traces;
    bool is_sound = true;
    for (const std::string& path : paths_) {
      auto read = replay::read_trace(path, format_ == "auto" ? std::string_view{} : format_);
      if (!read.is_ok()) return read.take_status();
      const replay::TraceData trace = read.take();
      const std::uint64_t events = std::max<std::uint64_t>(1, trace.events.size());
      std::uint64_t ticks = 0;
      options_.on_progress = [&](std::uint64_t done) {
        const std::uint64_t reached = kTicks * done / events;
        progress.advance(reached - std::exchange(ticks, reached));
      };
      auto report = replay::replay_contexts(trace, options_);
      if (!report.is_ok()) return report.take_status();
      is_sound = is_sound && report.value().failed == 0;
      traces.push_back({trace.name, trace.format, trace.remarks, report.take()});
    }
    print(json_ ? contexts_json(traces) : csv_ ? contexts_csv(traces) : contexts_text(traces));
    return is_sound ? ExitCode::ok : ExitCode::finding;
  }

  base::Result<ReplayedTrace> replay_file(const std::string& path, ProgressBar* progress) {
    auto read = replay::read_trace(path, format_ == "auto" ? std::string_view{} : format_);
    if (!read.is_ok()) return read.take_status();
    replay::TraceData trace = read.take();
    const std::uint64_t events = std::max<std::uint64_t>(1, replay::events_to_replay(trace, options_));
    const std::uint64_t replay_ticks = smallest_ ? kTicks / 2 : kTicks;
    std::uint64_t ticks = 0;
    options_.on_progress = [&](std::uint64_t done) {
      const std::uint64_t reached = replay_ticks * done / events;
      progress->advance(reached - std::exchange(ticks, reached));
    };
    // How many pools will be tried is not known: each takes an eighth of what is left of the bar.
    options_.on_pool_tried = [&] {
      const std::uint64_t step = (kTicks - ticks) / 8;
      progress->advance(step);
      ticks += step;
    };
    auto report = replay::replay(trace, options_);
    if (!report.is_ok()) return report.take_status();
    ReplayedTrace replayed{.path = path,
                           .name = trace.name,
                           .format = trace.format,
                           .remarks = trace.remarks,
                           .missing = trace.missing,
                           .report = report.take(),
                           .smallest_wanted = smallest_,
                           .smallest = {}};
    if (!smallest_) return replayed;
    auto smallest = replay::find_smallest(trace, options_);
    if (!smallest.is_ok()) return smallest.take_status();
    replayed.smallest = smallest.take();
    progress->advance(kTicks - ticks);
    return replayed;
  }

  std::vector<std::string> paths_;
  std::string format_ = "auto";
  std::string growth_;  // empty: the setting in force
  std::string capacity_ = "none";
  std::string device_ = "none";
  std::string compaction_ = "stitch";
  std::string contexts_ = "none";
  std::uint64_t passes_ = replay::kUsualPasses;
  bool smallest_ = false;
  bool json_ = false;
  bool csv_ = false;
  replay::ReplayOptions options_;
};

}  // namespace

std::unique_ptr<Verb> make_replay_verb() { return std::make_unique<ReplayVerb>(); }

}  // namespace cistern::cli
