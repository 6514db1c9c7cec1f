// Cistern's own traces, binary or text, as its recorder writes them: a recorded run of any program becomes a trace that
// replays.
//
// A block is named by pool and address; a stream is a pool's stream. Refused requests are no events here and counted as
// foreign; page movements and marks are left out. A pool that ends takes its live blocks with it, so they are freed
// then. A file that is cut off, damaged or still being written gives what is readable, and the trace says what is
// missing.
#include <algorithm>
#include <string>

#include "replay/sources/formats.hpp"
#include "replay/sources/trace_builder.hpp"
#include "trace/reader.hpp"

namespace cistern::replay {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
// A thread takes an event's number before it reads the clock, and may lose its core between the two. What goes back by
// more than this is no such slip.
constexpr std::uint64_t kMostSlipNs = 1'000'000'000;

Result<std::string> read_whole(Input* input) {
  std::string bytes;
  for (;;) {
    auto piece = input->peek(kPieceBytes);
    if (!piece.is_ok()) return piece.take_status();
    if (piece.value().empty()) return bytes;
    if (bytes.size() + piece.value().size() > input->limits().own_trace_bytes) {
      return Status(StatusCode::limit_exceeded, "the trace has more than " +
                                                    std::to_string(input->limits().own_trace_bytes) +
                                                    " bytes, the most that is read; cut the run into several traces");
    }
    bytes.append(piece.value());
    if (Status failed = input->skip(piece.value().size()); !failed.is_ok()) return failed;
  }
}

class OwnTrace {
 public:
  OwnTrace(const trace::Trace& trace, const ReadLimits& limits) : trace_(trace), builder_(limits) {}

  Status convert() {
    for (const trace::TraceEvent& event : trace_.events) {
      if (Status failed = add(event); !failed.is_ok()) {
        return failed.with_context("event " + std::to_string(event.sequence));
      }
    }
    builder_.remarks().dropped_events = trace_.dropped;
    return {};
  }
  TraceData finish() && {
    TraceData data = std::move(builder_).finish("cistern");
    data.missing = trace::what_is_missing(trace_);
    return data;
  }

 private:
  Status add(const trace::TraceEvent& event) {
    const BlockKey key{event.address, event.pool};
    const std::uint64_t stream = std::uint64_t{event.pool} << 32 | event.stream;
    switch (event.op) {
      case trace::EventOp::allocate:
        return builder_.allocate(key, event.requested_bytes, time_of(event), stream);
      case trace::EventOp::free:
        return builder_.free(key, time_of(event), stream);
      case trace::EventOp::resize: {  // the player's blocks have one size: the buffer is freed and asked for again
        Status freed = builder_.free(key, time_of(event), stream);
        return freed.is_ok() ? builder_.allocate(key, event.requested_bytes, time_of(event), stream) : freed;
      }
      case trace::EventOp::pool_end:
        return builder_.free_space(event.pool, time_of(event));
      case trace::EventOp::move:
        builder_.rename({event.requested_bytes, event.pool}, key);
        return {};
      case trace::EventOp::out_of_memory:
        ++builder_.remarks().foreign_events;
        return {};
      default:
        return {};  // how that pool got its memory is for this one to decide anew
    }
  }

  // From the trace's beginning.
  std::uint64_t time_of(const trace::TraceEvent& event) noexcept {
    const std::uint64_t first = trace_.events.front().time;
    const std::uint64_t time = event.time - std::min(event.time, first);
    if (time >= now_ns_ || now_ns_ - time > kMostSlipNs) {
      now_ns_ = std::max(now_ns_, time);
      return time;
    }
    return now_ns_;
  }

  const trace::Trace& trace_;
  TraceBuilder builder_;
  std::uint64_t now_ns_ = 0;
};

}  // namespace

Result<TraceData> read_own_trace(Input* input) noexcept {
  auto bytes = read_whole(input);
  if (!bytes.is_ok()) return bytes.take_status();
  auto parsed = trace::parse_trace(bytes.value());
  if (!parsed.is_ok()) return parsed.take_status();
  OwnTrace own(parsed.value(), input->limits());
  if (Status failed = own.convert(); !failed.is_ok()) return failed;
  return std::move(own).finish();
}

}  // namespace cistern::replay
