#include "replay/trace_data.hpp"

#include <algorithm>

namespace cistern::replay {

std::uint64_t peak_live_bytes(const TraceData& trace) noexcept {
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  for (const TraceEvent& event : trace.events) {
    live += event.op == TraceOp::allocate ? event.bytes : std::uint64_t{0} - event.bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace cistern::replay
