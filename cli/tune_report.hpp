// The report of a tuning: candidates as a table, best first, the margins between them in words, and the winner as lines
// that can be pasted; or all of it as JSON.
#pragma once

#include <string>
#include <vector>

#include "replay/tuner.hpp"

namespace cistern::cli {

// `tried`: best first, at least one.
std::string tune_text(const std::vector<replay::TraceData>& traces, const replay::TuneOptions& options,
                      const std::vector<replay::Tried>& tried, bool all);
std::string tune_json(const std::vector<replay::TraceData>& traces, const replay::TuneOptions& options,
                      const std::vector<replay::Tried>& tried);

}  // namespace cistern::cli
