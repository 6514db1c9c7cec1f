#include "trace/live_table.hpp"

#include <algorithm>

namespace cistern::trace {
namespace {

constexpr std::size_t kLeastEntries = 1024;

}  // namespace

LiveTable::LiveTable() : entries_(kLeastEntries) {}

void LiveTable::apply(TraceEvent* event) {
  if (event->op == EventOp::allocate || event->op == EventOp::resize) return add(*event);
  if (event->op == EventOp::free) return end(event);
  if (event->op == EventOp::move) return move(*event);
}

void LiveTable::add(const TraceEvent& block) {
  if (!early_frees_.empty()) {
    const auto early = early_frees_.find({block.address, block.pool});
    if (early != early_frees_.end()) {
      const bool is_over = early->second > block.sequence;
      early_frees_.erase(early);
      if (is_over) return;
    }
  }
  put(block);
}

void LiveTable::end(TraceEvent* free) {
  const Key key{free->address, free->pool};
  const std::size_t at = find(key);
  if (entries_[at].place == kNone) {
    early_frees_[key] = free->sequence;
    return;
  }
  const TraceEvent& block = events_[entries_[at].place];
  if (block.sequence > free->sequence) return;
  free->requested_bytes = block.requested_bytes;
  free->granted_bytes = block.granted_bytes;
  free->tag = block.tag;
  erase(at);
}

// The block stays that of its allocation, but for the place.
void LiveTable::move(const TraceEvent& move) {
  const std::size_t at = find({move.requested_bytes, move.pool});
  if (entries_[at].place == kNone || events_[entries_[at].place].sequence > move.sequence) return;
  TraceEvent block = events_[entries_[at].place];
  erase(at);
  block.address = move.address;
  const auto early = early_frees_.find({block.address, block.pool});
  if (early != early_frees_.end() && early->second > move.sequence) {
    early_frees_.erase(early);
    return;
  }
  put(block);
}

std::vector<TraceEvent> LiveTable::live() const {
  std::vector<TraceEvent> events;
  events.reserve(events_.size() - unused_.size());
  for (const Entry& entry : entries_) {
    if (entry.place != kNone) events.push_back(events_[entry.place]);
  }
  std::sort(events.begin(), events.end(),
            [](const TraceEvent& left, const TraceEvent& right) { return left.sequence < right.sequence; });
  return events;
}

std::size_t LiveTable::find(const Key& key) const noexcept {
  std::size_t at = home_of(key);
  while (entries_[at].place != kNone && !(entries_[at].key == key)) at = next(at);
  return at;
}

// Of two blocks at one address the newer one stays.
void LiveTable::put(const TraceEvent& block) {
  const Key key{block.address, block.pool};
  std::size_t at = find(key);
  if (entries_[at].place != kNone) {
    TraceEvent& known = events_[entries_[at].place];
    if (known.sequence < block.sequence) known = block;
    return;
  }
  if (2 * (events_.size() - unused_.size() + 1) > entries_.size()) {
    grow();
    at = find(key);
  }
  std::uint32_t place = static_cast<std::uint32_t>(events_.size());
  if (unused_.empty()) {
    events_.push_back(block);
  } else {
    place = unused_.back();
    unused_.pop_back();
    events_[place] = block;
  }
  entries_[at] = {key, place};
}

// Those behind it move up where their way from home leads over the gap.
void LiveTable::erase(std::size_t at) noexcept {
  unused_.push_back(entries_[at].place);
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t from = next(at); entries_[from].place != kNone; from = next(from)) {
    const std::size_t steps_from_home = (from - home_of(entries_[from].key)) & mask;
    if (steps_from_home < ((from - at) & mask)) continue;
    entries_[at] = entries_[from];
    at = from;
  }
  entries_[at].place = kNone;
}

void LiveTable::grow() {
  std::vector<Entry> before(2 * entries_.size());
  before.swap(entries_);
  for (const Entry& entry : before) {
    if (entry.place != kNone) entries_[find(entry.key)] = entry;
  }
}

}  // namespace cistern::trace
