#include "trace/reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.hpp"
#include "trace/binary_format.hpp"
#include "trace/text_log.hpp"

namespace cistern::trace {
namespace {

base::Result<std::string> read_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto failure = [&] {
    return base::Status(base::StatusCode::io_error,
                        "the trace " + base::in_quotes(path) + " can't be read: " + std::strerror(errno));
  };
  if (descriptor < 0) return failure();
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      base::Status status = failure();
      ::close(descriptor);
      return status;
    }
    if (count == 0) break;
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(descriptor);
  return bytes;
}

}  // namespace

bool is_trace(std::string_view head) noexcept { return head.starts_with(kFileMagic) || head.starts_with(kTextHeader); }

std::vector<std::string> what_is_missing(const Trace& trace) {
  std::vector<std::string> missing;
  if (!trace.damage.empty()) {
    missing.push_back("is read up to its damage only: " + trace.damage + "; " + std::to_string(trace.unread_bytes) +
                      " bytes are not read");
  } else if (!trace.ended) {
    missing.push_back("has no end: the program was killed or still runs");
  }
  const std::uint64_t last = trace.events.empty() ? 0 : trace.events.back().sequence;
  if (!missing.empty() && trace.newest > last) {
    missing.push_back("lacks up to " + std::to_string(trace.newest - last) +
                      " events that had happened when it was last written, and what came after");
  } else if (!missing.empty()) {
    missing.push_back("has every event that had happened when it was last written; what came after is missing");
  }
  if (trace.dropped != 0) {
    missing.push_back("lacks " + std::to_string(trace.dropped) +
                      " events that found no room; blocks may look live that are not");
  }
  return missing;
}

base::Result<Trace> parse_trace(std::string_view bytes) {
  auto parsed = [&]() -> base::Result<Trace> {
    if (bytes.starts_with(kFileMagic)) return parse_binary_trace(bytes);
    if (bytes.starts_with(kTextHeader)) return parse_text_trace(bytes);
    return base::Status(base::StatusCode::unsupported, "no trace of Cistern's: it begins with neither '" +
                                                           std::string(kFileMagic) + "' nor '" +
                                                           std::string(kTextHeader) + "'");
  }();
  if (parsed.is_ok()) {
    std::stable_sort(parsed.value().events.begin(), parsed.value().events.end(),
                     [](const TraceEvent& left, const TraceEvent& right) { return left.sequence < right.sequence; });
  }
  return parsed;
}

base::Result<Trace> read_trace(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes.is_ok()) return bytes.take_status();
  auto parsed = parse_trace(bytes.value());
  return parsed.is_ok() ? std::move(parsed) : parsed.take_status().with_context(base::in_quotes(path));
}

}  // namespace cistern::trace
