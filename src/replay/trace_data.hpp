// TraceData: a trace as replay uses it, whatever file it came from.
//
// Every allocation has a slot, its number in the order of allocation, so that an event needs no lookup: allocate(slot)
// and free(slot) index one array. What a file had that is no event of ours (frees of what nobody allocated, and so on)
// was counted on the way in, never dropped silently.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cistern::replay {

enum class TraceOp : std::uint8_t { allocate, free };

struct TraceEvent {
  std::uint64_t time_ns = 0;  // from the trace's start, not decreasing
  std::uint64_t bytes = 0;    // of the allocation, on frees too; > 0
  std::uint32_t slot = 0;
  std::uint32_t stream = 0;  // model, thread, stream or device of the operation, numbered from 0
  TraceOp op = TraceOp::allocate;
};

// What was found in a file that is no event, by kind. All zero for a clean trace.
struct TraceRemarks {
  std::uint64_t frees_without_allocation = 0;  // left out: the block was never allocated here, or freed twice
  std::uint64_t repeated_ids = 0;              // an id allocated while live: taken as free and allocation
  std::uint64_t zero_sizes = 0;                // blocks of no bytes, or that live for no time: left out
  std::uint64_t times_going_back = 0;          // taken at the latest time so far
  std::uint64_t foreign_events = 0;            // of kinds that are not allocations or frees, or belong to another level
  std::uint64_t live_before_start = 0;         // blocks that the file says were live at its beginning: allocated at 0
  std::uint64_t freed_with_pool = 0;           // blocks whose pool ended while they were live: freed then
  std::uint64_t dropped_events = 0;            // that the recorder had no room for; the file has their number only
};

struct TraceData {
  std::string name;    // the file's name without directory and endings
  std::string format;  // as --format spells it: "csv", "pytorch", ...
  std::vector<TraceEvent> events;
  std::uint64_t slots = 0;               // allocations in all
  std::uint64_t streams = 0;             // distinct ones
  std::vector<std::string> block_names;  // by slot, where the file's own names say more than the slot: lifetimes
  TraceRemarks remarks;
  std::vector<std::string> missing;  // what the file lacks, as ends of a sentence: "has no end: ..."
};

// The most bytes live at once, exactly: a bound that no allocator can beat.
std::uint64_t peak_live_bytes(const TraceData& trace) noexcept;

}  // namespace cistern::replay
