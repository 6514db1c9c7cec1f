// The report of a replay. JSON and CSV are written from one list of figures, so that they cannot disagree.
#include "cli/replay_report.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>
#include <variant>

#include "base/json_writer.hpp"
#include "base/units.hpp"
#include "cli/ui/wrap.hpp"
#include "replay/memory_way.hpp"
#include "report/table.hpp"

namespace cistern::cli {
namespace {

using replay::PlaySpread;
using replay::ReplayOptions;
using replay::ReplayReport;
using replay::ReplayTimes;
using replay::Spread;
using report::Align;
using report::Table;

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string hexadecimal(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

std::string growth_of(const ReplayOptions& options) {
  return options.segments ? "segments" : std::string(pool::growth_name(options.pool.growth));
}

std::uint64_t maps_of(const ReplayReport& report) { return report.calls.maps + report.calls.pages_moved; }

// --- For programs ---------------------------------------------------------------------------------------------------

struct Figure {
  std::string name;
  std::variant<std::monostate, std::uint64_t, double, std::string> value;  // monostate: not measured
};
using Figures = std::vector<Figure>;

void add_remarks(Figures* figures, const replay::TraceRemarks& remarks) {
  figures->push_back({"frees_without_allocation", remarks.frees_without_allocation});
  figures->push_back({"repeated_ids", remarks.repeated_ids});
  figures->push_back({"zero_sizes", remarks.zero_sizes});
  figures->push_back({"times_going_back", remarks.times_going_back});
  figures->push_back({"foreign_events", remarks.foreign_events});
  figures->push_back({"live_before_start", remarks.live_before_start});
  figures->push_back({"freed_with_pool", remarks.freed_with_pool});
  figures->push_back({"dropped_events", remarks.dropped_events});
}

void add_memory(Figures* figures, const ReplayReport& report) {
  figures->push_back({"peak_live_bytes", report.peak_live_bytes});
  figures->push_back({"peak_reserved_bytes", report.ledger.peak_reserved_bytes});
  figures->push_back({"reserved_over_live", report.overhead()});
  figures->push_back({"page_bytes", report.page_bytes});
  figures->push_back({"magazine_hit_rate", report.magazine_hit_rate()});
  figures->push_back({"misses", report.ledger.misses});
  figures->push_back({"growths", report.ledger.growths});
  figures->push_back({"stitches", report.ledger.stitches});
  figures->push_back({"stitched_pages", report.ledger.stitched_pages});
  figures->push_back({"moves", report.ledger.moves});
  figures->push_back({"moved_bytes", report.ledger.moved_bytes});
  figures->push_back({"compaction_steps", report.compaction.steps});
  figures->push_back({"served_by_compaction", report.compaction.served});
  figures->push_back({"longest_step_ns", report.compaction.longest_ns});
  figures->push_back({"longest_step_modelled_ns", report.compaction.longest_modelled_ns});
  figures->push_back({"longest_step_bytes", report.compaction.most_bytes});
  figures->push_back({"driver_calls", replay::driver_calls(report.calls)});
  figures->push_back({"driver_allocations", report.calls.driver_allocations()});
  figures->push_back({"maps", maps_of(report)});
  figures->push_back({"modelled_driver_ns", report.calls.modelled_ns});
  figures->push_back({"sampled_every_events", report.fragmentation.every_events});
  figures->push_back({"fragmentation_rate_mean", report.fragmentation.mean_rate});
  figures->push_back({"fragmentation_rate_max", report.fragmentation.max_rate});
  figures->push_back({"exposure_mean", report.fragmentation.mean_exposure});
  figures->push_back({"exposure_max", report.fragmentation.max_exposure});
}

// Figures whose names begin so are one object of the JSON: null where the first of them is.
constexpr std::string_view kObjects[] = {"first_failure.", "first_damage."};

void add_failures(Figures* figures, const ReplayReport& report) {
  figures->push_back({"failed_events", report.failed});
  const auto add = [&](const char* name, auto field) {
    figures->push_back({name, {}});
    if (report.first_failure) figures->back().value = std::uint64_t{(*report.first_failure).*field};
  };
  add("first_failure.event", &replay::FailedEvent::index);
  add("first_failure.time_ns", &replay::FailedEvent::time_ns);
  add("first_failure.bytes", &replay::FailedEvent::bytes);
  add("first_failure.stream", &replay::FailedEvent::stream);
  add("first_failure.largest_free_bytes", &replay::FailedEvent::largest_free_bytes);
  add("first_failure.free_bytes", &replay::FailedEvent::free_bytes);
  add("first_failure.reserved_bytes", &replay::FailedEvent::reserved_bytes);
  for (const bool damaged : {false, true}) {
    figures->push_back({damaged ? "damaged_blocks" : "checked_blocks", {}});
    if (report.check) figures->back().value = damaged ? report.check->damaged : report.check->blocks;
  }
  for (const char* name : {"event", "bytes", "offset", "expected", "found"}) {
    figures->push_back({"first_damage." + std::string(name), {}});
  }
  if (!report.check || !report.check->first) return;
  const replay::DamagedBlock& first = *report.check->first;
  Figure* const damage = &*(figures->end() - 5);
  damage[0].value = first.index;
  damage[1].value = first.bytes;
  damage[2].value = first.offset;
  damage[3].value = hexadecimal(first.expected);
  damage[4].value = hexadecimal(first.found);
}

void add_spread(Figures* figures, const std::string& name, const Spread* spread) {
  const auto add = [&](const char* what, auto field) {
    figures->push_back({name + what, {}});
    if (spread != nullptr) figures->back().value = spread->*field;
  };
  add("_operations", &Spread::operations);
  add("_ns_mean", &Spread::mean_ns);
  add("_ns_p50", &Spread::p50_ns);
  add("_ns_p99", &Spread::p99_ns);
  add("_ns_p999", &Spread::p999_ns);
  add("_ns_max", &Spread::max_ns);
}

void add_play(Figures* figures, const std::string& name, const PlaySpread* play) {
  figures->push_back({name + "_hit_pair_ns", {}});
  if (play != nullptr) figures->back().value = play->hit_pair_ns();
  add_spread(figures, name + "_allocate", play != nullptr ? &play->allocations : nullptr);
  add_spread(figures, name + "_free", play != nullptr ? &play->frees : nullptr);
  add_spread(figures, name + "_driver", play != nullptr ? &play->driver : nullptr);
}

void add_times(Figures* figures, const std::optional<ReplayTimes>& times) {
  const auto add = [&](const char* name, double value) {
    figures->push_back({name, {}});
    if (times) figures->back().value = value;
  };
  const ReplayTimes known = times.value_or(ReplayTimes{});
  add("ns_per_pair", known.net_ns());
  add("ns_per_pair_gross", known.first_ns);
  add("steady_ns_per_pair", known.net_steady_ns());
  add("steady_ns_per_pair_gross", known.steady_ns);
  figures->push_back({"p999_ns", {}});
  if (times) figures->back().value = times->first.p999_ns;
  add("loop_ns_per_pair", known.loop_ns);
  add("events_per_second", known.events_per_second());
  add_play(figures, "growing", times ? &times->first : nullptr);
  add_play(figures, "steady", times ? &times->steady : nullptr);
}

Figures figures_of(const ReplayOptions& options, const ReplayedTrace& trace) {
  Figures figures = {{"trace", trace.name},
                     {"path", trace.path},
                     {"format", trace.format},
                     {"events", trace.report.events},
                     {"allocations", trace.report.allocations},
                     {"streams", trace.report.streams},
                     {"growth", growth_of(options)},
                     {"policy", std::string(pool::policy_name(options.pool.policy))},
                     {"on_miss", std::string(pool::on_miss_name(options.pool.on_miss))},
                     {"compaction", std::string(replay::compaction_name(options.compaction))},
                     {"capacity_over_peak", options.capacity_over_peak},
                     {"filled", std::uint64_t{options.filled ? 1U : 0U}},
                     {"device", std::string(replay::replay_device_name(options.device))},
                     {"capacity_bytes", {}}};
  if (options.capacity_bytes != 0) figures.back().value = options.capacity_bytes;
  add_memory(&figures, trace.report);
  add_failures(&figures, trace.report);
  figures.push_back({"smallest_capacity_bytes", {}});
  if (trace.smallest) figures.back().value = trace.smallest->capacity_bytes;
  figures.push_back({"smallest_over_live", {}});
  if (trace.smallest) figures.back().value = trace.smallest->over_peak();
  add_times(&figures, trace.report.times);
  add_remarks(&figures, trace.remarks);
  figures.push_back({"missing", {}});
  if (!trace.missing.empty()) figures.back().value = joined(trace.missing);
  return figures;
}

std::string csv_cell(const Figure& figure) {
  std::string text;
  if (const auto* number = std::get_if<std::uint64_t>(&figure.value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&figure.value)) return fixed(*real, 6);
  if (const auto* words = std::get_if<std::string>(&figure.value)) text = *words;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

void write_value(base::JsonWriter* json, const Figure& figure) {
  if (const auto* number = std::get_if<std::uint64_t>(&figure.value)) {
    json->value(*number);
  } else if (const auto* real = std::get_if<double>(&figure.value)) {
    json->value(*real);
  } else if (const auto* words = std::get_if<std::string>(&figure.value)) {
    json->value(*words);
  } else {
    json->null();
  }
}

// The object that the figure is a part of, by the beginning of its name; empty: none.
std::string_view object_of(const Figure& figure) {
  for (const std::string_view object : kObjects) {
    if (figure.name.starts_with(object)) return object;
  }
  return {};
}

void write_figures(base::JsonWriter* json, const Figures& figures) {
  for (std::size_t i = 0; i < figures.size();) {
    const std::string_view object = object_of(figures[i]);
    if (object.empty()) {
      json->key(figures[i].name);
      write_value(json, figures[i++]);
      continue;
    }
    json->key(object.substr(0, object.size() - 1));
    const bool is_there = !std::holds_alternative<std::monostate>(figures[i].value);
    is_there ? json->begin_object() : json->null();
    for (; i < figures.size() && object_of(figures[i]) == object; ++i) {
      if (!is_there) continue;
      json->key(figures[i].name.substr(object.size()));
      write_value(json, figures[i]);
    }
    if (is_there) json->end_object();
  }
}

// --- For people -----------------------------------------------------------------------------------------------------

std::string ns(std::uint64_t nanoseconds) { return base::format_nanoseconds(static_cast<double>(nanoseconds)); }

std::string smallest_text(const ReplayedTrace& trace) {
  if (!trace.smallest_wanted) return "";
  return trace.smallest ? fixed(trace.smallest->over_peak(), 4) : "none";
}

std::string capacity_words(const ReplayOptions& options) {
  const std::string filled = options.filled ? ", filled" : "";
  if (options.capacity_over_peak > 0) {
    return ", capacity " + fixed(options.capacity_over_peak, 3) + " of the peak" + filled;
  }
  if (options.capacity_bytes == 0) return ", no capacity given";
  return ", capacity " + base::format_bytes_exactly(options.capacity_bytes) + filled;
}

std::string settings_line(const ReplayOptions& options) {
  std::string line = options.segments
                         ? "growth segments (the caching-allocator baseline)"
                         : std::string(pool::policy_name(options.pool.policy)) + ", growth " + growth_of(options) +
                               ", " + std::string(pool::on_miss_name(options.pool.on_miss));
  if (!options.segments) line += ", compaction " + std::string(replay::compaction_name(options.compaction));
  line += "; device " + std::string(replay::replay_device_name(options.device));
  line += capacity_words(options);
  return line + "\n\n";
}

std::string failure_line(const ReplayedTrace& trace) {
  const ReplayReport& report = trace.report;
  if (!report.first_failure) return "";
  const replay::FailedEvent& first = *report.first_failure;
  return wrapped(trace.name + ": " + std::to_string(report.failed) + " of " + std::to_string(report.allocations) +
                     " requests failed and were left out. The first: event " + std::to_string(first.index) + " at " +
                     ns(first.time_ns) + ", " + base::format_bytes(first.bytes) + " on stream " +
                     std::to_string(first.stream) + "; largest hole " + base::format_bytes(first.largest_free_bytes) +
                     ", " + base::format_bytes(first.free_bytes) + " free in all, " +
                     base::format_bytes(first.reserved_bytes) + " reserved.",
                 0);
}

std::string damage_line(const ReplayedTrace& trace) {
  const auto& check = trace.report.check;
  if (!check) return "";
  if (!check->first) {
    const std::string looks = check->looks == 0 ? ""
                                                : ", all live ones looked at after each of " +
                                                      std::to_string(check->looks) + " steps of compaction";
    return wrapped(trace.name + ": contents of " + std::to_string(check->blocks) + " blocks intact" + looks + ".", 0);
  }
  const replay::DamagedBlock& first = *check->first;
  const bool at_end = first.index == trace.report.events;
  return wrapped(trace.name + ": contents of " + std::to_string(check->damaged) + " of " +
                     std::to_string(check->blocks) + " blocks DAMAGED. The first: a block of " +
                     base::format_bytes(first.bytes) + " at its byte " + std::to_string(first.offset) + " (" +
                     hexadecimal(first.found) + " instead of " + hexadecimal(first.expected) + ")" +
                     (at_end ? ", live at the end." : ", seen at event " + std::to_string(first.index) + "."),
                 0);
}

std::string remarks_line(const ReplayedTrace& trace) {
  Figures remarks;
  add_remarks(&remarks, trace.remarks);
  std::string line;
  for (const Figure& remark : remarks) {
    const std::uint64_t count = std::get<std::uint64_t>(remark.value);
    if (count == 0 || remark.name == "dropped_events") continue;  // those are told as missing
    std::string words = remark.name;
    for (char& letter : words) letter = letter == '_' ? ' ' : letter;
    line += (line.empty() ? "" : ", ") + words + " " + std::to_string(count);
  }
  if (!line.empty()) line = wrapped(trace.name + ": the file has " + line + ".", 0);
  for (const std::string& missing : trace.missing) line += wrapped(trace.name + ": the file " + missing + ".", 0);
  return line;
}

void add_time_rows(Table* table, const ReplayTimes& times) {
  const std::string loop = " without the loop's " + fixed(times.loop_ns, 1);
  table->add_row({"events a second", fixed(times.events_per_second() / 1e6, 1) + " million", "decoded, growing"});
  table->add_row({"ns per pair, growing", fixed(times.first_ns, 1), fixed(times.net_ns(), 1) + loop});
  table->add_row({"ns per pair, steady", fixed(times.steady_ns, 1), fixed(times.net_steady_ns(), 1) + loop});
  const auto spread = [table](const char* name, const Spread& of) {
    table->add_row({name, ns(of.p50_ns) + " / " + ns(of.p99_ns) + " / " + ns(of.p999_ns) + " / " + ns(of.max_ns),
                    std::to_string(of.operations) + " operations"});
  };
  table->add_row({"hit: steady, without driver calls", fixed(times.steady.hit_pair_ns(), 1), "ns per pair, mean"});
  spread("  allocate, p50 / p99 / p99.9 / max", times.steady.allocations);
  spread("  free, p50 / p99 / p99.9 / max", times.steady.frees);
  spread("with driver calls, growing", times.first.driver);
  spread("with driver calls, steady", times.steady.driver);
}

std::string one_trace(const ReplayedTrace& trace) {
  const ReplayReport& report = trace.report;
  Table table({{trace.name}, {"", Align::right}, {""}});
  const auto number = [&table](const char* name, std::uint64_t value, std::string remark = {}) {
    table.add_row({name, std::to_string(value), std::move(remark)});
  };
  number("events", report.events, std::to_string(report.allocations) + " allocations, format " + trace.format);
  number("streams", report.streams);
  number("peak live", report.peak_live_bytes, base::format_bytes(report.peak_live_bytes));
  number("peak reserved", report.ledger.peak_reserved_bytes, base::format_bytes(report.ledger.peak_reserved_bytes));
  table.add_row({"overhead", fixed(report.overhead(), 4), "peak reserved / peak live"});
  if (trace.smallest_wanted) {
    table.add_row({"smallest pool that never fails", smallest_text(trace),
                   trace.smallest ? base::format_bytes_exactly(trace.smallest->capacity_bytes) : ""});
  }
  number("misses", report.ledger.misses, "requests that no hole could hold");
  number("growths", report.ledger.growths,
         report.page_bytes == 0 ? "" : "pages of " + base::format_bytes_exactly(report.page_bytes));
  number("stitches", report.ledger.stitches, std::to_string(report.ledger.stitched_pages) + " pages moved");
  if (report.ledger.moves > 0) {
    number("relocations", report.ledger.moves, base::format_bytes(report.ledger.moved_bytes) + " copied");
  }
  if (report.compaction.steps > 0) {
    const replay::CompactionSteps& steps = report.compaction;
    number("compaction steps", steps.steps, std::to_string(steps.served) + " requests served by them");
    table.add_row({"  the longest", ns(steps.longest_ns),
                   (steps.longest_modelled_ns > 0 ? "and " + ns(steps.longest_modelled_ns) + " modelled; " : "") +
                       base::format_bytes(steps.most_bytes) + " copied at most"});
  }
  number("driver calls", replay::driver_calls(report.calls),
         std::to_string(report.calls.driver_allocations()) + " mallocs and page creations, " +
             std::to_string(maps_of(report)) + " maps");
  if (report.calls.modelled_ns > 0) table.add_row({"driver time, modelled", ns(report.calls.modelled_ns), ""});
  const replay::FragmentationSamples& samples = report.fragmentation;
  const std::string every = "of " + std::to_string(samples.samples) + " samples";
  table.add_row(
      {"fragmentation rate, mean / max", fixed(samples.mean_rate, 3) + " / " + fixed(samples.max_rate, 3), every});
  table.add_row(
      {"exposure, mean / max", fixed(samples.mean_exposure, 3) + " / " + fixed(samples.max_exposure, 3), every});
  if (report.times) add_time_rows(&table, *report.times);
  number("failed requests", report.failed);
  return table.text();
}

std::string many_traces(const std::vector<ReplayedTrace>& traces) {
  const bool with_smallest = traces.front().smallest_wanted;
  const bool with_times = traces.front().report.times.has_value();
  std::vector<report::Column> columns = {
      {"trace"}, {"events", Align::right}, {"peak live", Align::right}, {"overhead", Align::right}};
  if (with_smallest) columns.push_back({"smallest", Align::right});
  for (const char* title : {"exposure", "misses", "growths", "stitches", "calls", "maps"}) {
    columns.push_back({title, Align::right});
  }
  if (with_times) {
    for (const char* title : {"ns/pair", "steady", "hit"}) {
      columns.push_back({title, Align::right});
    }
  }
  columns.push_back({"failed", Align::right});
  Table table(std::move(columns));
  for (const ReplayedTrace& trace : traces) {
    const ReplayReport& report = trace.report;
    std::vector<std::string> row = {trace.name, std::to_string(report.events),
                                    base::format_bytes(report.peak_live_bytes), fixed(report.overhead(), 4)};
    if (with_smallest) row.push_back(smallest_text(trace));
    row.push_back(fixed(report.fragmentation.max_exposure, 3));
    for (const std::uint64_t count : {report.ledger.misses, report.ledger.growths, report.ledger.stitches,
                                      replay::driver_calls(report.calls), maps_of(report)}) {
      row.push_back(std::to_string(count));
    }
    if (with_times) {
      const ReplayTimes& times = *report.times;
      row.push_back(fixed(times.net_ns(), 1));
      row.push_back(fixed(times.net_steady_ns(), 1));
      row.push_back(fixed(times.steady.hit_pair_ns(), 1));
    }
    row.push_back(std::to_string(report.failed));
    table.add_row(std::move(row));
  }
  return table.text();
}

}  // namespace

std::string replay_text(const ReplayOptions& options, const std::vector<ReplayedTrace>& traces) {
  std::string out = settings_line(options);
  out += (traces.size() == 1 ? one_trace(traces.front()) : many_traces(traces)) + "\n";
  for (const ReplayedTrace& trace : traces) out += failure_line(trace) + damage_line(trace) + remarks_line(trace);
  if (traces.front().report.times) {
    out += wrapped(
        "Times are of the bookkeeping, on a device that only counts: CPU time per allocation and free, median of the "
        "passes, the loop's own time subtracted; growing is a fresh pool, steady the same trace again in it, hit what "
        "of that made no driver call.",
        0);
  }
  return out;
}

std::string replay_json(const ReplayOptions& options, const std::vector<ReplayedTrace>& traces) {
  std::string out;
  base::JsonWriter json(&out, base::JsonWriter::Style::pretty);
  json.begin_array();
  for (const ReplayedTrace& trace : traces) {
    json.begin_object();
    write_figures(&json, figures_of(options, trace));
    json.end_object();
  }
  json.end_array();
  return out + "\n";
}

std::string replay_csv(const ReplayOptions& options, const std::vector<ReplayedTrace>& traces) {
  std::string out;
  for (const ReplayedTrace& trace : traces) {
    const Figures figures = figures_of(options, trace);
    std::string names;
    std::string row;
    for (const Figure& figure : figures) {
      std::string name = figure.name;
      std::replace(name.begin(), name.end(), '.', '_');
      names += (names.empty() ? "" : ",") + name;
      row += (&figure == &figures.front() ? "" : ",") + csv_cell(figure);
    }
    if (out.empty()) out = names + "\n";
    out += row + "\n";
  }
  return out;
}

}  // namespace cistern::cli
