// DecodedTrace: a trace as the replay loop reads it: sixteen bytes an event, in order, nothing to look up.
//
// The slots of a trace number all its allocations; here a slot is used again once its block is free, so that the places
// of the live blocks stay in cache, as they would with a caller that holds them in its tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/trace_data.hpp"

namespace cistern::replay {

struct Step {
  std::uint64_t bytes = 0;
  std::uint32_t slot = 0;
  TraceOp op = TraceOp::allocate;
};

struct DecodedTrace {
  std::vector<Step> steps;  // as many as the trace has events
  std::uint32_t slots = 0;  // most blocks live at once
  std::uint64_t largest_bytes = 0;
};

DecodedTrace decode(const TraceData& trace);

}  // namespace cistern::replay
