// Any bytes as a trace: nothing crashes, and what is read can be analysed. The fuzzer can't guess check sums, so it
// also gets to write the records of a chunk whose sums are right.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "trace/leaks.hpp"
#include "trace/reader.hpp"
#include "trace/trace_bytes.hpp"

namespace {

using namespace cistern::trace;

void analyse(const cistern::base::Result<Trace>& trace) {
  if (!trace.is_ok()) {
    if (trace.status().text().empty()) std::abort();
    return;
  }
  for (const TraceEvent& event : trace.value().events) {
    if (event.stack > trace.value().tables.stacks.size()) std::abort();
  }
  // Modules of a damaged file could name any file of this machine; without them addresses stay addresses.
  Trace copy = trace.value();
  copy.tables.modules.clear();
  CallSites sites;
  const LeakReport report = find_leaks(copy, &sites);
  if ((report.blocks == 0) != report.groups.empty()) std::abort();
  static_cast<void>(find_growth(copy, &sites));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(data, data + size);
  analyse(parse_trace(bytes));
  analyse(parse_trace(with_check_sums(bytes)));
  analyse(parse_text_trace("# cistern trace 1 text process=1\n" + bytes));
  return 0;
}
