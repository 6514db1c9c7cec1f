// Any bytes as a trace file, in every format: nothing crashes or fills the memory, a refusal has a text, and a trace
// that is accepted keeps its promises. The first byte chooses the format, or that it be found out, or that the rest be
// the records or the lines of a trace of Cistern's own.
#include <cstdlib>
#include <string>
#include <vector>

#include "replay/sources/read_trace.hpp"
#include "trace/trace_bytes.hpp"

namespace {

using cistern::replay::TraceData;
using cistern::replay::TraceEvent;
using cistern::replay::TraceOp;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const TraceData& trace) {
  std::vector<std::uint64_t> live;  // bytes by slot, 0 when freed
  std::uint64_t now = 0;
  for (const TraceEvent& event : trace.events) {
    require(event.time_ns >= now && event.bytes > 0 && event.stream < trace.streams);
    now = event.time_ns;
    if (event.op == TraceOp::allocate) {
      require(event.slot == live.size());
      live.push_back(event.bytes);
    } else {
      require(event.slot < live.size() && live[event.slot] == event.bytes);
      live[event.slot] = 0;
    }
  }
  require(live.size() == trace.slots && trace.slots > 0);
  require(cistern::replay::peak_live_bytes(trace) < (1ULL << 63) + 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  cistern::replay::ReadLimits limits;
  limits.events = 4096;
  limits.pickle_values = 16384;
  limits.line_bytes = 4096;
  const auto names = cistern::replay::trace_format_names();
  std::size_t choice = data[0] % (names.size() + 3);
  std::string bytes(data + 1, data + size);
  if (choice == names.size() + 1) bytes = cistern::trace::with_check_sums(bytes);
  if (choice == names.size() + 2) bytes = "# cistern trace 1 text process=1\n" + bytes;
  if (choice > names.size()) choice = 0;
  const auto read = cistern::replay::read_trace_bytes(bytes, choice == 0 ? "" : names[choice - 1], limits);
  if (read.is_ok()) {
    check(read.value());
  } else {
    require(!read.status().text().empty());
  }
  return 0;
}
