// `cistern leaks`: what a trace's program allocated and never freed, by the place that asked for it.
#include "trace/leaks.hpp"

#include <cstdio>
#include <string>

#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/ui/output.hpp"
#include "cli/verbs.hpp"
#include "report/table.hpp"
#include "trace/reader.hpp"

namespace cistern::cli {

namespace {

using trace::GrowthGroup;
using trace::LeakGroup;

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(ns) / 1e9);
  return text;
}

std::string leaks_text(const trace::LeakReport& report, const std::vector<std::string>& marks, bool with_stacks) {
  const std::string which = marks.empty() ? "live at the end of the trace"
                                          : "live at mark " + base::in_quotes(marks[1]) + " and were allocated after " +
                                                base::in_quotes(marks[0]);
  if (report.blocks == 0) return marks.empty() ? "no block is " + which + "\n" : "no blocks are " + which + "\n";
  std::string out = std::to_string(report.blocks) + " blocks, " + base::format_bytes(report.bytes) + ", are " + which +
                    "; oldest first, times from the trace's beginning:\n\n";
  report::Table table({{"bytes", report::Align::right},
                       {"blocks", report::Align::right},
                       {"oldest", report::Align::right},
                       {"newest", report::Align::right},
                       {"pool"},
                       {"tag"},
                       {"call site"}});
  std::string stacks;
  for (const LeakGroup& group : report.groups) {
    const std::string site = trace::readable_site(group.site);
    table.add_row({base::format_bytes(group.bytes), std::to_string(group.blocks), seconds(group.oldest_ns),
                   seconds(group.newest_ns), group.pool, group.tag, site});
    stacks += "\n" + site + (group.tag.empty() ? "" : ", tag " + group.tag) + "\n";
    for (const std::string& frame : group.call_stack) stacks += "  " + trace::readable_site(frame) + "\n";
  }
  return out + table.text() + (with_stacks ? stacks : "");
}

void write_leak(const LeakGroup& group, base::JsonWriter* json) {
  json->begin_object().member("call_site", group.site).member("tag", group.tag).member("pool", group.pool);
  json->member("blocks", group.blocks).member("bytes", group.bytes);
  json->member("oldest_ns", group.oldest_ns).member("newest_ns", group.newest_ns);
  json->member("blocks_of_destroyed_pools", group.of_ended_pools).key("call_stack").begin_array();
  for (const std::string& frame : group.call_stack) json->value(frame);
  json->end_array().end_object();
}

void write_trace_facts(const trace::Trace& trace, base::JsonWriter* json) {
  json->member("process", trace.process).member("events", trace.events.size()).member("dropped", trace.dropped);
  json->member("ended", trace.ended).member("damage", trace.damage);
}

std::string leaks_json(const trace::Trace& trace, const trace::LeakReport& report) {
  std::string out;
  base::JsonWriter json(&out, base::JsonWriter::Style::pretty);
  json.begin_object();
  write_trace_facts(trace, &json);
  json.member("blocks", report.blocks).member("bytes", report.bytes);
  json.member("frees_without_allocation", report.unmatched_frees).key("leaks").begin_array();
  for (const LeakGroup& group : report.groups) write_leak(group, &json);
  json.end_array().end_object();
  return out + "\n";
}

std::string growth_text(const std::vector<GrowthGroup>& growth) {
  if (growth.empty()) return "no call site's live bytes climb steadily\n";
  std::string out = "live bytes climb steadily after the first quarter of the trace; steepest first:\n\n";
  report::Table table({{"bytes/s", report::Align::right},
                       {"after a quarter", report::Align::right},
                       {"at the end", report::Align::right},
                       {"pool"},
                       {"tag"},
                       {"call site"}});
  for (const GrowthGroup& group : growth) {
    table.add_row({number_text(group.bytes_per_second), base::format_bytes(group.floors[group.floors.size() / 4 - 1]),
                   base::format_bytes(group.floors.back()), group.pool, group.tag, trace::readable_site(group.site)});
  }
  return out + table.text();
}

std::string growth_json(const trace::Trace& trace, const std::vector<GrowthGroup>& growth) {
  std::string out;
  base::JsonWriter json(&out, base::JsonWriter::Style::pretty);
  json.begin_object();
  write_trace_facts(trace, &json);
  json.key("growth").begin_array();
  for (const GrowthGroup& group : growth) {
    json.begin_object().member("call_site", group.site).member("tag", group.tag).member("pool", group.pool);
    json.member("bytes_per_second", group.bytes_per_second).key("least_live_bytes").begin_array();
    for (const std::uint64_t floor : group.floors) json.value(floor);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return out + "\n";
}

class LeaksVerb final : public Verb {
 public:
  std::string_view name() const override { return "leaks"; }
  std::string_view summary() const override { return "Say what a trace's program never freed, by call site and tag"; }
  std::vector<Example> examples() const override {
    return {{"cistern leaks server.trace", "what was never freed; exit code 1 when there is any"},
            {"cistern leaks server.trace --stacks", "with whole call stacks"},
            {"cistern leaks server.trace --between warm --between done", "of what was allocated between two marks"},
            {"cistern leaks server.trace --growth", "the places whose live bytes climb steadily"}};
  }
  void declare(Arguments* arguments) override {
    arguments->positional("TRACE", &files_, 1,
                          "a trace, binary or text: the program ran with CISTERN_TRACE=ON and CISTERN_TRACE_FILE");
    arguments->flag("--growth", &growth_, "places whose live bytes climb, instead of what is live at the end");
    arguments->texts("--between", &marks_, "MARK",
                     "twice: what was allocated after the first mark and is live at the second (cistern_trace_mark)");
    arguments->flag("--stacks", &stacks_, "the call stack of each place's oldest block");
    arguments->flag("--json", &json_, "as JSON");
  }
  base::Result<ExitCode> run(const base::OptionSet&) override {
    if (files_.size() > 1) {
      return base::invalid_argument("one trace at a time; second is " + base::in_quotes(files_[1]));
    }
    if (!marks_.empty() && (marks_.size() != 2 || growth_)) {
      return base::invalid_argument("--between is given twice, for two marks, and not with --growth");
    }
    auto read = trace::read_trace(files_[0]);
    if (!read.is_ok()) return read.take_status();
    const trace::Trace& trace = read.value();
    remark(trace);
    trace::CallSites sites;
    if (growth_) {
      const auto growth = trace::find_growth(trace, &sites);
      print(json_ ? growth_json(trace, growth) : growth_text(growth));
      return growth.empty() ? ExitCode::ok : ExitCode::finding;
    }
    trace::Window window;
    if (!marks_.empty()) {
      auto between = trace::window_between(trace, marks_[0], marks_[1]);
      if (!between.is_ok()) return between.take_status();
      window = between.value();
    }
    const trace::LeakReport report = trace::find_leaks(trace, &sites, window);
    print(json_ ? leaks_json(trace, report) : leaks_text(report, marks_, stacks_));
    return report.blocks == 0 ? ExitCode::ok : ExitCode::finding;
  }

 private:
  // What may make the answer wrong.
  void remark(const trace::Trace& trace) const {
    std::string text;
    for (const std::string& missing : trace::what_is_missing(trace)) text += "the trace " + missing + "\n";
    std::fputs(text.c_str(), stderr);
  }

  std::vector<std::string> files_;
  std::vector<std::string> marks_;  // none or two
  bool growth_ = false;
  bool stacks_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_leaks_verb() { return std::make_unique<LeaksVerb>(); }

}  // namespace cistern::cli
