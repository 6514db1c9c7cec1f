// A trace as one line a human can check: "a0 1000 @0 s0 | f0 @25 s0", an allocation being slot, bytes, time and stream.
#pragma once

#include <string>

#include "replay/trace_data.hpp"

namespace cistern::replay {

inline std::string text_of(const TraceData& trace) {
  std::string text;
  for (const TraceEvent& event : trace.events) {
    const bool allocates = event.op == TraceOp::allocate;
    text += (text.empty() ? "" : " | ") + std::string(allocates ? "a" : "f") + std::to_string(event.slot);
    if (allocates) text += " " + std::to_string(event.bytes);
    text += " @" + std::to_string(event.time_ns) + " s" + std::to_string(event.stream);
  }
  return text;
}

// Remarks that are not zero, as "foreign 1, before 2".
inline std::string text_of(const TraceRemarks& remarks) {
  std::string text;
  const auto add = [&text](const char* name, std::uint64_t count) {
    if (count != 0) text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(count);
  };
  add("unknown frees", remarks.frees_without_allocation);
  add("repeated", remarks.repeated_ids);
  add("zero", remarks.zero_sizes);
  add("back", remarks.times_going_back);
  add("foreign", remarks.foreign_events);
  add("before", remarks.live_before_start);
  add("with pool", remarks.freed_with_pool);
  add("dropped", remarks.dropped_events);
  return text;
}

}  // namespace cistern::replay
