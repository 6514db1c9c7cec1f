// The report of a tuning: a table, best first, and the winner in words that can be pasted.
#include "cli/tune_report.hpp"

#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/ui/numbers.hpp"
#include "cli/ui/wrap.hpp"
#include "report/table.hpp"

namespace cistern::cli {
namespace {

using replay::Candidate;
using replay::Difference;
using replay::Tried;
using report::Align;

constexpr std::size_t kShown = 10;

std::string upper(std::string_view name) { return base::to_upper(name); }

std::string page_words(const Candidate& candidate) {
  if (candidate.growth == pool::Growth::arenas) return "-";
  return candidate.page_bytes == 0 ? "by size" : base::format_bytes(candidate.page_bytes);
}

std::string thread_words(const Candidate& candidate) {
  if (candidate.active_interval_ms == 0) return "-";
  return std::to_string(candidate.active_interval_ms) + " ms, " + fixed(candidate.active_threshold, 2);
}

std::string ranked_table(const std::vector<Tried>& tried, bool all) {
  report::Table table({{"rank", Align::right},
                       {"policy"},
                       {"growth"},
                       {"on miss"},
                       {"pages", Align::right},
                       {"magazines", Align::right},
                       {"movable"},
                       {"thread"},
                       {"failed", Align::right},
                       {"overhead", Align::right},
                       {"worst", Align::right},
                       {"ns/pair", Align::right},
                       {"driver", Align::right},
                       {"background", Align::right},
                       {"profile"}});
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const Candidate& candidate = tried[i].candidate;
    if (!all && i >= kShown && candidate.profile.empty()) continue;
    table.add_row({std::to_string(i + 1), std::string(pool::policy_name(candidate.policy)),
                   std::string(pool::growth_name(candidate.growth)),
                   candidate.growth == pool::Growth::arenas ? "-" : std::string(pool::on_miss_name(candidate.on_miss)),
                   page_words(candidate),
                   candidate.magazine_bytes == 0 ? "-" : base::format_bytes(candidate.magazine_bytes),
                   candidate.movable ? "yes" : "-", thread_words(candidate), std::to_string(tried[i].failed),
                   fixed(tried[i].overhead, 4), fixed(tried[i].worst_overhead, 4),
                   tried[i].bookkeeping_ns == 0 ? "-" : fixed(tried[i].bookkeeping_ns, 1), fixed(tried[i].driver_ns, 1),
                   fixed(tried[i].background_ns, 1), candidate.profile});
  }
  return table.text();
}

// The winner's setting lines: NAME and value.
std::vector<std::pair<std::string, std::string>> settings_of(const Candidate& candidate) {
  std::vector<std::pair<std::string, std::string>> lines = {
      {"CISTERN_POLICY", upper(pool::policy_name(candidate.policy))},
      {"CISTERN_GROWTH", upper(pool::growth_name(candidate.growth))}};
  if (candidate.growth == pool::Growth::expandable) {
    lines.emplace_back("CISTERN_ON_MISS", upper(pool::on_miss_name(candidate.on_miss)));
    if (candidate.page_bytes != 0) lines.emplace_back("CISTERN_PAGE_BYTES", std::to_string(candidate.page_bytes));
  }
  if (candidate.magazine_bytes != 0) {
    lines.emplace_back("CISTERN_MAGAZINE_BYTES", std::to_string(candidate.magazine_bytes));
  }
  if (candidate.active_interval_ms != 0) {
    lines.emplace_back("CISTERN_COMPACT", "ON");
    lines.emplace_back("CISTERN_COMPACT_INTERVAL_MS", std::to_string(candidate.active_interval_ms));
    lines.emplace_back("CISTERN_COMPACT_THRESHOLD", fixed(candidate.active_threshold, 2));
  }
  return lines;
}

std::string environment_lines(const Candidate& candidate) {
  std::string text;
  for (const auto& [name, value] : settings_of(candidate)) {
    text.append("  export ").append(name).append("=").append(value).append("\n");
  }
  return text;
}

std::string c_snippet(const Candidate& candidate) {
  std::string text = "  cistern_pool_options_t options = {.struct_size = sizeof options};\n";
  text += "  options.policy = CISTERN_POLICY_" + upper(pool::policy_name(candidate.policy)) + ";\n";
  text += "  options.growth = CISTERN_GROWTH_" + upper(pool::growth_name(candidate.growth)) + ";\n";
  if (candidate.growth == pool::Growth::expandable) {
    text += "  options.on_miss = CISTERN_ON_MISS_" + upper(pool::on_miss_name(candidate.on_miss)) + ";\n";
    if (candidate.page_bytes != 0) text += "  options.page_bytes = " + std::to_string(candidate.page_bytes) + ";\n";
  }
  if (candidate.magazine_bytes != 0) {
    text += "  options.magazine_bytes = " + std::to_string(candidate.magazine_bytes) + ";\n";
  }
  if (candidate.active_interval_ms != 0) {
    text += "  options.compaction = CISTERN_COMPACTION_ACTIVE;\n";
    text += "  options.compact_interval_ms = " + std::to_string(candidate.active_interval_ms) + ";\n";
    text += "  options.compact_threshold = " + fixed(candidate.active_threshold, 2) + ";\n";
  }
  return text;
}

// "3.1 % less memory", "2.5 times the time".
std::string compared_figure(double one, double other, const std::string& what) {
  if (one < other) return fixed(100.0 * (other - one) / other, 1) + " % less " + what;
  if (one >= 2 * other) return fixed(one / other, 1) + " times the " + what;
  return fixed(100.0 * (one / other - 1), 1) + " % more " + what;
}

// "0.3 % less memory, 12 % more time": `one` against `other`, in figures that really differ.
std::string compared(const Tried& one, const Tried& other) {
  if (one.failed != other.failed) {
    return std::to_string(one.failed) + " failed requests against " + std::to_string(other.failed);
  }
  const Difference difference = replay::difference(one, other);
  std::string words;
  if (difference == Difference::memory || difference == Difference::both) {
    words = compared_figure(one.overhead, other.overhead, "memory");
  }
  if (difference == Difference::time || difference == Difference::both) {
    words += (words.empty() ? "" : ", ") + compared_figure(one.pair_ns(), other.pair_ns(), "time");
  }
  return words.empty() ? "no difference" : words;
}

// Who has nothing to gain is told so.
std::string defaults_line(const std::vector<Tried>& tried) {
  for (const Tried& each : tried) {
    Candidate candidate = each.candidate;
    candidate.profile.clear();
    if (!(candidate == Candidate{})) continue;
    const std::string words = compared(each, tried.front());
    if (words == "no difference") return "The defaults are no different from the winner: keep them.\n";
    return "The defaults: " + words + " against the winner.\n";
  }
  return "";
}

std::string margin_lines(const std::vector<Tried>& tried) {
  std::string text;
  if (tried.size() > 1) text += "Against the runner-up: " + compared(tried[0], tried[1]) + ".\n";
  std::size_t same = 0;
  while (same + 1 < tried.size() && replay::difference(tried[0], tried[same + 1]) == Difference::none) ++same;
  if (same > 1) text += "The next " + std::to_string(same) + " are no different from the first.\n";
  text += defaults_line(tried);
  for (const pool::Profile& profile : pool::profiles()) {
    for (std::size_t i = 0; i < tried.size(); ++i) {
      if (tried[i].candidate.profile != profile.name) continue;
      const std::string words = i == 0 ? "is the winner" : compared(tried[i], tried[0]) + " against the winner";
      text += wrapped("Profile " + std::string(profile.name) + " (" + std::string(profile.rule) + "), rank " +
                          std::to_string(i + 1) + ": " + words + ".",
                      0);
    }
  }
  return text;
}

void write_candidate(base::JsonWriter* json, const Tried& tried) {
  const Candidate& candidate = tried.candidate;
  json->begin_object();
  json->member("policy", pool::policy_name(candidate.policy)).member("growth", pool::growth_name(candidate.growth));
  json->member("on_miss", pool::on_miss_name(candidate.on_miss)).member("page_bytes", candidate.page_bytes);
  json->member("magazine_bytes", candidate.magazine_bytes).member("movable", candidate.movable);
  json->member("active_interval_ms", candidate.active_interval_ms);
  json->member("active_threshold", candidate.active_threshold);
  json->member("profile", std::string_view(candidate.profile)).member("failed", tried.failed);
  json->member("overhead", tried.overhead).member("worst_overhead", tried.worst_overhead);
  json->member("bookkeeping_ns_per_pair", tried.bookkeeping_ns).member("driver_ns_per_pair", tried.driver_ns);
  json->member("background_ns_per_pair", tried.background_ns);
  json->end_object();
}

}  // namespace

std::string tune_text(const std::vector<replay::TraceData>& traces, const replay::TuneOptions& options,
                      const std::vector<Tried>& tried, bool all) {
  const Tried& winner = tried.front();
  std::string out = std::to_string(tried.size()) + " candidates over " + std::to_string(traces.size()) +
                    (traces.size() == 1 ? " trace" : " traces") + ", for " +
                    (options.goal == replay::Goal::memory ? "memory" : "time") + " first\n\n";
  out += ranked_table(tried, all) + "\n" + margin_lines(tried) + "\nThe winner:\n\n" +
         environment_lines(winner.candidate) + "\n" + c_snippet(winner.candidate) + "\n";
  if (winner.candidate.movable) out += "Its blocks are movable: allocate them with cistern_movable_allocate().\n";
  out += wrapped(
      "overhead is peak reserved / peak live, the geometric mean of the traces; ns/pair is measured here, an "
      "allocation "
      "and its free once the pool is warm; driver is modelled time of driver calls per pair, growth included, that "
      "requests wait for; background the same of the "
      "compacting thread. Less than " +
          fixed(100 * replay::kSameMemory, 1) + " % of memory and " + fixed(100 * replay::kSameTime, 0) +
          " % of time are no difference.",
      0);
  return out;
}

std::string tune_json(const std::vector<replay::TraceData>& traces, const replay::TuneOptions& options,
                      const std::vector<Tried>& tried) {
  std::string out;
  base::JsonWriter json(&out, base::JsonWriter::Style::pretty);
  json.begin_object();
  json.member("goal", options.goal == replay::Goal::memory ? "memory" : "time");
  json.member("traces", static_cast<std::uint64_t>(traces.size()));
  json.key("environment").begin_object();
  for (const auto& [name, value] : settings_of(tried.front().candidate)) json.member(name, std::string_view(value));
  json.end_object();
  json.member("against_runner_up", tried.size() > 1 ? compared(tried[0], tried[1]) : std::string("no difference"));
  json.key("candidates").begin_array();
  for (const Tried& each : tried) write_candidate(&json, each);
  json.end_array().end_object();
  return out + "\n";
}

}  // namespace cistern::cli
