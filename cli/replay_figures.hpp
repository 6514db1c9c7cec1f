// The figures of a replayed trace for programs: one list of names and values, which JSON and CSV write alike, so that
// they cannot disagree.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/json_writer.hpp"
#include "cli/replay_report.hpp"

namespace cistern::cli {

struct Figure {
  std::string name;
  std::variant<std::monostate, std::uint64_t, double, std::string> value;  // monostate: not measured
};
using Figures = std::vector<Figure>;

Figures figures_of(const replay::ReplayOptions& options, const ReplayedTrace& trace);
void add_remarks(Figures* figures, const replay::TraceRemarks& remarks);
void write_figures(base::JsonWriter* json, const Figures& figures);
std::string csv_cell(const Figure& figure);

// Words that both forms of the report use.
std::string growth_of(const replay::ReplayOptions& options);
std::uint64_t maps_of(const replay::ReplayReport& report);

}  // namespace cistern::cli
