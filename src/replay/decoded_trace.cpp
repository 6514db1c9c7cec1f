#include "replay/decoded_trace.hpp"

#include <algorithm>

namespace cistern::replay {

DecodedTrace decode(const TraceData& trace) {
  DecodedTrace decoded;
  decoded.steps.reserve(trace.events.size());
  std::vector<std::uint32_t> slot_of(trace.slots);
  std::vector<std::uint32_t> unused;
  for (const TraceEvent& event : trace.events) {
    std::uint32_t& slot = slot_of[event.slot];
    if (event.op == TraceOp::free) {
      unused.push_back(slot);
    } else if (unused.empty()) {
      slot = decoded.slots++;
    } else {
      slot = unused.back();
      unused.pop_back();
    }
    decoded.largest_bytes = std::max(decoded.largest_bytes, event.bytes);
    decoded.steps.push_back({event.bytes, slot, event.op});
  }
  return decoded;
}

}  // namespace cistern::replay
