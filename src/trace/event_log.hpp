// EventLog: a form in which events are written. The recorder's writer calls it from one thread, in the order of events.
#pragma once

#include <cstdint>

#include "trace/trace.hpp"

namespace cistern::trace {

// One moment, by both clocks.
struct ClockPair {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;  // CLOCK_MONOTONIC
};
ClockPair read_clocks() noexcept;

// Nanoseconds of `ticks` on the line through two moments; beyond them the line goes on.
std::uint64_t ticks_to_ns(std::uint64_t ticks, const ClockPair& first, const ClockPair& second) noexcept;

class EventLog {
 public:
  virtual ~EventLog() = default;
  EventLog() = default;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // `tables` has everything that the event refers to.
  virtual void write(const TraceEvent& event, const Tables& tables) = 0;
  // `count` events of a thread found no room.
  virtual void write_dropped(std::uint32_t thread, std::uint64_t count) = 0;
  // Everything so far goes to the file, with the number of the newest event that has happened, written or not.
  virtual void flush(std::uint64_t newest) = 0;
  // Flushes, and says that this is the end.
  virtual void end() = 0;
  // Goes on in a new file, which knows nothing of the one before: what it needs is written again.
  virtual void rotate() = 0;
  virtual std::uint64_t file_bytes() const noexcept = 0;
  virtual std::uint64_t failures() const noexcept = 0;
};

}  // namespace cistern::trace
