// TraceWriter: what the recorder's own thread does with events: bring those of different threads into order, find equal
// stacks, keep the table of live blocks, write, begin a new file when the limit is near.
//
// It works in rounds: add() takes what the rings had, write_round() writes what is ripe: what nobody is expected to
// have older events than. The rest waits for the next round.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/event_log.hpp"
#include "trace/live_table.hpp"
#include "trace/ring.hpp"
#include "trace/stack_table.hpp"
#include "trace/trace.hpp"

namespace cistern::trace {

class TraceWriter {
 public:
  // Text where the path ends in .log or .txt, else binary; empty: no file. `limit_bytes`: see RecorderOptions.
  TraceWriter(const std::string& path, std::uint64_t limit_bytes);

  void add(const RawEvent& raw, std::uint32_t thread);
  void add_dropped(std::uint32_t thread, std::uint64_t count);
  void add_names(std::vector<PoolName>* pools, std::vector<TagName>* tags);
  // Writes what was added up to number `ripe`, in order.
  void write_round(std::uint64_t ripe);
  // To the file, with the number of the newest event that has happened.
  void flush(std::uint64_t newest);
  void end();

  std::uint64_t added() const noexcept { return added_; }
  std::uint64_t failures() const noexcept { return log_ ? log_->failures() : 0; }
  // The allocations that are live, and what their numbers mean. Times are nanoseconds.
  Trace live() const;

 private:
  void sort_pending();
  void rotate_if_due(std::uint64_t newest);

  const std::uint64_t limit_bytes_;
  std::unique_ptr<EventLog> log_;
  Tables tables_;
  LiveTable live_;
  StackTable stacks_;
  std::vector<TraceEvent> pending_;
  std::uint64_t added_ = 0;
  std::uint64_t carried_bytes_ = 0;
  ClockPair first_clocks_;
  ClockPair last_clocks_;
};

}  // namespace cistern::trace
