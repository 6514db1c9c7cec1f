#include "trace/live_table.hpp"

#include <algorithm>

namespace cistern::trace {

void LiveTable::apply(TraceEvent* event) {
  const Key key{event->address, event->pool};
  if (event->op == EventOp::allocate) {
    const auto early = early_frees_.find(key);
    if (early != early_frees_.end()) {
      const bool is_over = early->second > event->sequence;
      early_frees_.erase(early);
      if (is_over) return;
    }
    TraceEvent& block = blocks_[key];
    if (block.sequence < event->sequence) block = *event;
  } else if (event->op == EventOp::free) {
    const auto found = blocks_.find(key);
    if (found == blocks_.end()) {
      early_frees_[key] = event->sequence;
    } else if (found->second.sequence < event->sequence) {
      event->requested_bytes = found->second.requested_bytes;
      event->granted_bytes = found->second.granted_bytes;
      event->tag = found->second.tag;
      blocks_.erase(found);
    }
  }
}

std::vector<TraceEvent> LiveTable::live() const {
  std::vector<TraceEvent> events;
  events.reserve(blocks_.size());
  for (const auto& [key, event] : blocks_) events.push_back(event);
  std::sort(events.begin(), events.end(),
            [](const TraceEvent& left, const TraceEvent& right) { return left.sequence < right.sequence; });
  return events;
}

}  // namespace cistern::trace
