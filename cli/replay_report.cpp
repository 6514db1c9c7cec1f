// The report of a replay for people; for programs it is written from replay_figures.hpp.
#include "cli/replay_report.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "base/json_writer.hpp"
#include "base/units.hpp"
#include "cli/replay_figures.hpp"
#include "cli/ui/numbers.hpp"
#include "cli/ui/wrap.hpp"
#include "replay/memory_way.hpp"
#include "report/table.hpp"

namespace cistern::cli {
namespace {

using replay::ReplayOptions;
using replay::ReplayReport;
using replay::ReplayTimes;
using replay::Spread;
using report::Align;
using report::Table;

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

// How well the two signs of trouble tell it.
std::string trigger_words(const ReplayReport& report) {
  const replay::TriggerCounts& counts = report.triggers;
  const auto share = [&](std::uint64_t count) {
    return fixed(
               100.0 * static_cast<double>(count) / static_cast<double>(std::max<std::uint64_t>(1, report.allocations)),
               1) +
           " %";
  };
  return "the rate is above its threshold before " + share(counts.above_threshold) +
         " of all, exposure above 0 before " + share(counts.exposed);
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
    table.add_row({"  p50 / p99 / longest",
                   "below " + ns(steps.pauses.quantile_ns(0.5)) + " / " + ns(steps.pauses.quantile_ns(0.99)) + " / " +
                       ns(steps.pauses.longest_ns),
                   (steps.longest_modelled_ns > 0 ? "and " + ns(steps.longest_modelled_ns) + " modelled; " : "") +
                       base::format_bytes(steps.most_bytes) + " copied at most"});
  }
  if (report.active) {
    number("passes of the compacting thread", report.active->passes,
           base::format_bytes(report.active->compacted_bytes) + " put elsewhere in quiet moments, " +
               std::to_string(report.active->postponed) + " busy ones skipped");
  }
  number("requests blocked by fragmentation", report.triggers.blocked, trigger_words(report));
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
  if (report.ledger.free_bytes > 0 || samples.mean_stitchable_share > 0) {
    table.add_row(
        {"free bytes in whole pages, mean", fixed(samples.mean_stitchable_share, 3), "what stitching can use"});
  }
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
