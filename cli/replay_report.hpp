// What `cistern replay` prints: one trace in full, several as a table, and the same figures for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replay/replay_engine.hpp"
#include "replay/smallest.hpp"
#include "replay/trace_data.hpp"

namespace cistern::cli {

struct ReplayedTrace {
  std::string path;
  std::string name;
  std::string format;
  replay::TraceRemarks remarks;
  std::vector<std::string> missing;
  replay::ReplayReport report;
  bool smallest_wanted = false;
  std::optional<replay::SmallestPool> smallest;  // wanted and none: there is none
};

std::string replay_text(const replay::ReplayOptions& options, const std::vector<ReplayedTrace>& traces);
std::string replay_json(const replay::ReplayOptions& options, const std::vector<ReplayedTrace>& traces);
// A line of names, then a line a trace: the members of the JSON's objects, in the same order; those of an object within
// have its name before theirs.
std::string replay_csv(const replay::ReplayOptions& options, const std::vector<ReplayedTrace>& traces);

}  // namespace cistern::cli
