// What `cistern replay --contexts streams` prints: what streams need on one device that they share, and apart.
#pragma once

#include <string>
#include <vector>

#include "replay/contexts.hpp"
#include "replay/trace_data.hpp"

namespace cistern::cli {

struct SharedTrace {
  std::string name;
  std::string format;
  replay::TraceRemarks remarks;
  replay::ContextsReport report;
};

std::string contexts_text(const std::vector<SharedTrace>& traces);
std::string contexts_json(const std::vector<SharedTrace>& traces);
// A line of names, then a line a trace.
std::string contexts_csv(const std::vector<SharedTrace>& traces);

}  // namespace cistern::cli
