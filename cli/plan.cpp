// `cistern plan`: fixed offsets for every tensor of a run, found offline from when each one lives.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/json_writer.hpp"
#include "base/units.hpp"
#include "cli/ui/numbers.hpp"
#include "cli/ui/output.hpp"
#include "cli/ui/progress.hpp"
#include "cli/ui/wrap.hpp"
#include "cli/verbs.hpp"
#include "plan/offset_planner.hpp"
#include "replay/sources/read_trace.hpp"
#include "report/table.hpp"

namespace cistern::cli {
namespace {

constexpr std::uint64_t kStepsAMillion = 1'000'000;
constexpr std::uint64_t kMostMillions = 1'000'000;

struct PlannedTrace {
  std::string path;
  std::string name;
  std::string format;
  std::vector<plan::Lifetime> lifetimes;
  std::vector<std::string> block_names;  // empty: a tensor's number is its name
  plan::OffsetPlan plan;
  std::uint64_t planning_ns = 0;
};

// Time is the event's number, or what a lifetimes file says; what is never freed lives until after the last event.
std::vector<plan::Lifetime> lifetimes_of(const replay::TraceData& trace) {
  const bool has_own_time = !trace.block_names.empty();
  std::vector<plan::Lifetime> lifetimes(trace.slots);
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const replay::TraceEvent& event = trace.events[i];
    const std::uint64_t time = has_own_time ? event.time_ns : i;
    if (event.op == replay::TraceOp::allocate) {
      lifetimes[event.slot] = {time, trace.events.size(), event.bytes};
    } else {
      lifetimes[event.slot].upper = time;
    }
  }
  return lifetimes;
}

std::string plan_text(const std::vector<PlannedTrace>& traces) {
  using report::Align;
  report::Table table({{"trace"},
                       {"tensors", Align::right},
                       {"peak live", Align::right},
                       {"lower bound", Align::right},
                       {"plan", Align::right},
                       {"plan/live", Align::right},
                       {"plan/bound", Align::right},
                       {"smallest", Align::left},
                       {"decided by", Align::left},
                       {"time", Align::right}});
  for (const PlannedTrace& trace : traces) {
    const plan::OffsetPlan& plan = trace.plan;
    table.add_row({trace.name, std::to_string(trace.lifetimes.size()), base::format_bytes(plan.peak_live_bytes),
                   base::format_bytes(plan.lower_bound_bytes), base::format_bytes(plan.bytes),
                   fixed(plan.over_live(), 4), fixed(plan.over_bound(), 4), plan.is_optimal() ? "yes" : "unknown",
                   plan.method, base::format_nanoseconds(static_cast<double>(trace.planning_ns))});
  }
  return table.text() + "\n" +
         wrapped(
             "Each plan was checked: no two tensors that live at the same time share an address. The lower bound is "
             "the peak of live bytes, sizes rounded up to --align; a plan as small as that is the smallest there is.",
             0);
}

std::string plan_json(const std::vector<PlannedTrace>& traces) {
  std::string out;
  base::JsonWriter json(&out, base::JsonWriter::Style::pretty);
  json.begin_array();
  for (const PlannedTrace& trace : traces) {
    const plan::OffsetPlan& plan = trace.plan;
    json.begin_object().member("trace", trace.name).member("path", trace.path).member("format", trace.format);
    json.member("tensors", trace.lifetimes.size()).member("alignment", plan.alignment);
    json.member("peak_live_bytes", plan.peak_live_bytes).member("lower_bound_bytes", plan.lower_bound_bytes);
    json.member("plan_bytes", plan.bytes).member("plan_over_live", plan.over_live());
    json.member("plan_over_bound", plan.over_bound()).member("is_smallest", plan.is_optimal());
    json.member("method", plan.method).member("parts", plan.parts).member("repeated_parts", plan.repeats);
    json.member("steps", plan.steps).member("planning_ns", trace.planning_ns).end_object();
  }
  json.end_array();
  return out + "\n";
}

base::Status write_plan(const PlannedTrace& trace, const std::string& path) {
  std::string text = "id,lower,upper,size,offset\n";
  for (std::size_t i = 0; i < trace.lifetimes.size(); ++i) {
    text += trace.block_names.empty() ? std::to_string(i) : trace.block_names[i];
    const plan::Lifetime& lifetime = trace.lifetimes[i];
    for (const std::uint64_t number : {lifetime.lower, lifetime.upper, lifetime.bytes, trace.plan.offsets[i]}) {
      text += "," + std::to_string(number);
    }
    text += '\n';
  }
  return write_file(path, "the plan", text);
}

class PlanVerb final : public Verb {
 public:
  std::string_view name() const override { return "plan"; }
  std::string_view summary() const override {
    return "Plan fixed offsets for a run's tensors, near the peak of live bytes";
  }
  std::vector<Example> examples() const override {
    return {{"cistern plan resnet50.csv.zst", "the arena that one run needs when all of it is known"},
            {"cistern plan *.csv", "a row a trace or lifetimes file"},
            {"cistern plan lifetimes.csv --output plan.csv", "the offsets, a tensor a line"},
            {"cistern plan hard.csv --effort 10000", "search for longer"}};
  }
  void declare(Arguments* arguments) override {
    arguments->positional("TRACE", &paths_, 1, "traces, or lifetimes (id,lower,upper,size); .gz and .zst are unpacked");
    arguments->text("--format", &format_, "FORMAT", "of the traces; auto looks at each file");
    arguments->bytes("--align", &options_.alignment,
                     "every offset is a multiple of it, and sizes are rounded up to it");
    arguments->number("--effort", &millions_, 0, kMostMillions,
                      "millions of steps of work allowed; 0: the first order only");
    arguments->number("--seed", &options_.seed, 0, ~std::uint64_t{0}, "of the search");
    arguments->text("--output", &output_, "PLAN.csv", "write the plan, id,lower,upper,size,offset; of one trace");
    arguments->flag("--json", &json_, "as JSON");
  }
  base::Result<ExitCode> run(const base::OptionSet&) override {
    if (!output_.empty() && paths_.size() != 1) {
      return base::invalid_argument("--output takes the plan of one trace; there are " + std::to_string(paths_.size()));
    }
    options_.effort_steps = millions_ * kStepsAMillion;
    ProgressBar progress("plan", paths_.size());
    std::vector<PlannedTrace> traces;
    for (const std::string& path : paths_) {
      auto planned = plan_file(path);
      if (!planned.is_ok()) return planned.take_status();
      traces.push_back(planned.take());
      progress.advance();
    }
    if (!output_.empty()) {
      if (base::Status failed = write_plan(traces.front(), output_); !failed.is_ok()) return failed;
    }
    print(json_ ? plan_json(traces) : plan_text(traces));
    return ExitCode::ok;
  }

 private:
  base::Result<PlannedTrace> plan_file(const std::string& path) {
    auto read = replay::read_trace(path, format_ == "auto" ? std::string_view{} : format_);
    if (!read.is_ok()) return read.take_status();
    replay::TraceData trace = read.take();
    for (const std::string& missing : trace.missing) {
      std::fputs(std::string(path).append(": the trace ").append(missing).append("\n").c_str(), stderr);
    }
    PlannedTrace planned{.path = path,
                         .name = trace.name,
                         .format = trace.format,
                         .lifetimes = lifetimes_of(trace),
                         .block_names = std::move(trace.block_names),
                         .plan = {},
                         .planning_ns = 0};
    const base::SteadyClock clock;
    const std::uint64_t begin = clock.now_ns();
    auto plan = plan::plan_offsets(planned.lifetimes, options_);
    planned.planning_ns = clock.now_ns() - begin;
    if (!plan.is_ok()) return plan.status().with_context(path);
    if (base::Status wrong = plan::check_plan(planned.lifetimes, plan.value()); !wrong.is_ok()) {
      return wrong.with_context(path);
    }
    planned.plan = plan.take();
    return planned;
  }

  std::vector<std::string> paths_;
  std::string format_ = "auto";
  plan::PlannerOptions options_;
  std::uint64_t millions_ = plan::PlannerOptions{}.effort_steps / kStepsAMillion;
  std::string output_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_plan_verb() { return std::make_unique<PlanVerb>(); }

}  // namespace cistern::cli
