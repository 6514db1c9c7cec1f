// Trace: what happened in pools, as readers see it and writers write it, whatever the file's form.
//
// Events carry small numbers; what the numbers mean is in tables beside them. Tables only grow, so a number once given
// keeps its meaning for the whole trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pool/observer.hpp"

namespace cistern::trace {

using pool::EventOp;

// "alloc", "free", "fill", ... as logs spell it. Only that of allocate contains "alloc": people grep for it.
std::string_view op_name(EventOp op) noexcept;

struct TraceEvent {
  std::uint64_t sequence = 0;  // the order of events; numbers may be missing
  std::uint64_t time = 0;      // from a reader: nanoseconds of CLOCK_MONOTONIC; on the way to a writer: ticks
  std::uint64_t address = 0;
  // On frees: those of the allocation, 0 where it is not known. On moves: the address that the block had before.
  std::uint64_t requested_bytes = 0;
  std::uint64_t granted_bytes = 0;
  std::uint32_t pool = 0;
  std::uint32_t thread = 0;
  std::uint32_t tag = 0;  // of its pool; 0: none
  std::uint32_t stream = 0;
  std::uint32_t stack = 0;  // 0: not recorded; else stacks[stack - 1]
  EventOp op = EventOp::allocate;

  bool operator==(const TraceEvent&) const = default;
};

struct PoolName {
  std::uint32_t pool = 0;  // from 1
  std::string name;
  std::string device;
  bool operator==(const PoolName&) const = default;
};

struct TagName {
  std::uint32_t pool = 0;
  std::uint32_t tag = 0;
  std::string text;
  bool operator==(const TagName&) const = default;
};

// A file of code in the process: [begin, end) are its addresses there; address - bias is the one inside the file.
struct Module {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t bias = 0;
  std::string path;
  bool operator==(const Module&) const = default;
};

struct Tables {
  std::vector<PoolName> pools;
  std::vector<TagName> tags;
  std::vector<std::vector<std::uint64_t>> stacks;  // return addresses, the caller of the pool first
  std::vector<Module> modules;                     // ascending, apart

  const PoolName* pool(std::uint32_t id) const noexcept;
  std::string tag_text(std::uint32_t pool, std::uint32_t tag) const;
  const Module* module_of(std::uint64_t address) const noexcept;
};

struct Trace {
  Tables tables;
  std::vector<TraceEvent> events;  // by sequence
  std::uint64_t process = 0;
  std::uint64_t dropped = 0;       // events that the recorder had no room for
  bool ended = false;              // the recorder closed the file; else the process was killed, or still runs
  std::string damage;              // why reading stopped before the file's end; empty: it did not
  std::uint64_t newest = 0;        // number of the newest event when the file was last written; 0: not known
  std::uint64_t unread_bytes = 0;  // from there on
};

}  // namespace cistern::trace
