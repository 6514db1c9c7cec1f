// Leaks: what is live at the end of a trace, by the place in the program that asked for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "trace/call_site.hpp"
#include "trace/trace.hpp"

namespace cistern::trace {

// Blocks of one call site, tag and pool.
struct LeakGroup {
  std::string site;  // as CallSites names it
  std::string tag;
  std::string pool;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;      // as requested
  std::uint64_t oldest_ns = 0;  // when the first of them was allocated, from the trace's first event on
  std::uint64_t newest_ns = 0;
  std::uint64_t of_ended_pools = 0;     // blocks whose pool was destroyed while they were live
  std::vector<std::string> call_stack;  // of the oldest block, innermost first
};

struct LeakReport {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t unmatched_frees = 0;  // of blocks whose allocation is not in the trace
  std::vector<LeakGroup> groups;      // oldest first
};

// A part of a trace, by the numbers of events: between two marks.
struct Window {
  std::uint64_t first = 0;
  std::uint64_t last = ~std::uint64_t{0};
};
// From the first mark with the text `from` to the next one with the text `to`; not_found names the mark that is not
// there, and those that are.
base::Result<Window> window_between(const Trace& trace, std::string_view from, std::string_view to);

// What was allocated in the window and is live at its end.
LeakReport find_leaks(const Trace& trace, CallSites* sites, const Window& window = {});

// A call site whose live bytes climb: of 16 equal parts of the trace (by events), the least that is live in a part
// never falls after the first quarter, and rises in at least half of the steps.
struct GrowthGroup {
  std::string site;
  std::string tag;
  std::string pool;
  std::vector<std::uint64_t> floors;  // least live bytes in each part
  double bytes_per_second = 0;        // from the end of the first quarter to the end
};

// Steepest first.
std::vector<GrowthGroup> find_growth(const Trace& trace, CallSites* sites);

// For the log, at the end of a process: a line for all, one for each of the largest groups.
std::string leak_summary(const LeakReport& report, std::size_t most_groups);

}  // namespace cistern::trace
