// SmallTrace: writes a trace by hand, one call an event.
#pragma once

#include <cstdint>

#include "replay/trace_data.hpp"

namespace cistern::replay {

class SmallTrace {
 public:
  SmallTrace() {
    data_.name = "small";
    data_.streams = 1;
  }
  // Its slot, for free().
  std::uint32_t allocate(std::uint64_t bytes, std::uint32_t stream = 0) {
    const auto slot = static_cast<std::uint32_t>(data_.slots++);
    add({.bytes = bytes, .slot = slot, .stream = stream, .op = TraceOp::allocate});
    return slot;
  }
  void free(std::uint32_t slot) {
    for (const TraceEvent& event : data_.events) {
      if (event.slot != slot) continue;
      add({.bytes = event.bytes, .slot = slot, .stream = event.stream, .op = TraceOp::free});
      return;
    }
  }
  // Nothing happens for so long.
  void wait(std::uint64_t ns) { waited_ns_ += ns; }
  const TraceData& data() const noexcept { return data_; }

 private:
  void add(TraceEvent event) {
    event.time_ns = 1000 * data_.events.size() + waited_ns_;
    data_.events.push_back(event);
  }

  TraceData data_;
  std::uint64_t waited_ns_ = 0;
};

}  // namespace cistern::replay
