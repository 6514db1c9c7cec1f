#include "cli/contexts_report.hpp"

#include "base/units.hpp"
#include "cli/replay_figures.hpp"
#include "cli/ui/numbers.hpp"
#include "cli/ui/wrap.hpp"
#include "report/table.hpp"

namespace cistern::cli {
namespace {

using report::Align;

Figures sums_of(const SharedTrace& trace) {
  const replay::ContextsReport& report = trace.report;
  Figures figures;
  figures.push_back({"trace", trace.name});
  figures.push_back({"format", trace.format});
  figures.push_back({"events", report.events});
  figures.push_back({"streams", std::uint64_t{report.contexts.size()}});
  figures.push_back({"page_bytes", report.page_bytes});
  figures.push_back({"joint_peak_live_bytes", report.joint_peak_live_bytes});
  figures.push_back({"joint_reserved_bytes", report.joint_reserved_bytes});
  figures.push_back({"joint_over_live", report.joint_overhead()});
  figures.push_back({"separate_reserved_bytes", report.separate_reserved_bytes()});
  figures.push_back({"separate_over_live", report.separate_overhead()});
  figures.push_back({"device_growths", report.times_grown});
  figures.push_back({"lent_bytes", report.lent_bytes});
  figures.push_back({"driver_calls", report.driver_calls});
  figures.push_back({"failed", report.failed});
  add_remarks(&figures, trace.remarks);
  return figures;
}

Figures figures_of(const replay::StreamContext& context) {
  return {{"stream", std::uint64_t{context.stream}},
          {"allocations", context.allocations},
          {"peak_live_bytes", context.peak_live_bytes},
          {"peak_reserved_bytes", context.peak_reserved_bytes},
          {"alone_bytes", context.alone_bytes}};
}

std::string table_of(const SharedTrace& trace) {
  const replay::ContextsReport& report = trace.report;
  report::Table table({{trace.name},
                       {"allocations", Align::right},
                       {"peak live", Align::right},
                       {"peak reserved", Align::right},
                       {"reserved alone", Align::right}});
  for (const replay::StreamContext& each : report.contexts) {
    table.add_row({"stream " + std::to_string(each.stream), std::to_string(each.allocations),
                   base::format_bytes(each.peak_live_bytes), base::format_bytes(each.peak_reserved_bytes),
                   base::format_bytes(each.alone_bytes)});
  }
  table.add_row({"together", "", base::format_bytes(report.joint_peak_live_bytes),
                 base::format_bytes(report.joint_reserved_bytes),
                 base::format_bytes(report.separate_reserved_bytes())});
  table.add_row({"over live", "", "", fixed(report.joint_overhead(), 3), fixed(report.separate_overhead(), 3)});
  return table.text();
}

std::string failure_line(const SharedTrace& trace) {
  if (!trace.report.first_failure) return "";
  const replay::FailedEvent& first = *trace.report.first_failure;
  return wrapped(std::to_string(trace.report.failed) + " requests failed and were left out. The first: event " +
                     std::to_string(first.index) + ", " + base::format_bytes(first.bytes) + " on stream " +
                     std::to_string(first.stream) + ", which has " + base::format_bytes(first.reserved_bytes) +
                     " reserved, " + base::format_bytes(first.free_bytes) + " of it free.",
                 0);
}

}  // namespace

std::string contexts_text(const std::vector<SharedTrace>& traces) {
  std::string out;
  for (const SharedTrace& trace : traces) {
    out += table_of(trace) + failure_line(trace);
    out += "lent " + base::format_bytes(trace.report.lent_bytes) + " between contexts, " +
           std::to_string(trace.report.driver_calls) + " driver calls\n\n";
  }
  return out +
         wrapped(
             "Each stream is a context: a pool of its own on one device, whose pages they share. Together: the most "
             "that the device has given at once; it grows only when no context can spare anything. Alone: each "
             "stream on a device of its own, and their sum.",
             0);
}

std::string contexts_json(const std::vector<SharedTrace>& traces) {
  std::string out;
  base::JsonWriter json(&out, base::JsonWriter::Style::pretty);
  json.begin_array();
  for (const SharedTrace& trace : traces) {
    json.begin_object();
    write_figures(&json, sums_of(trace));
    json.key("contexts").begin_array();
    for (const replay::StreamContext& each : trace.report.contexts) {
      json.begin_object();
      write_figures(&json, figures_of(each));
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  return out + "\n";
}

std::string contexts_csv(const std::vector<SharedTrace>& traces) {
  std::string out;
  for (const SharedTrace& trace : traces) {
    std::string names;
    std::string row;
    for (const Figure& figure : sums_of(trace)) {
      std::string name = figure.name;
      for (char& each : name) each = each == '.' ? '_' : each;
      names += (names.empty() ? "" : ",") + name;
      row += (row.empty() ? "" : ",") + csv_cell(figure);
    }
    if (out.empty()) out = names + "\n";
    out += row + "\n";
  }
  return out;
}

}  // namespace cistern::cli
