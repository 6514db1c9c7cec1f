// A PyTorch or torch_npu memory snapshot: the trace of each device, and the segments as they were at the end.
//
// A block's life begins with `alloc` and ends with `free_completed`, when the allocator may use it again. The recorder
// keeps only the latest entries, so blocks may be freed that it never saw allocated, and blocks in the segments may
// have no `alloc`: both kinds were live before the start, and the snapshot tells their sizes. Where entries have no
// time (torch_npu), their places in the trace stand for microseconds. Events of several devices are merged by their
// times.
#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "replay/sources/formats.hpp"
#include "replay/sources/pickle.hpp"
#include "replay/sources/trace_builder.hpp"

namespace cistern::replay {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;
using Value = Pickle::Value;

struct BlockEvent {
  std::uint64_t time_us = 0;
  BlockKey key;
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;
  TraceOp op = TraceOp::allocate;
};

struct EarlierBlock {
  BlockKey key;
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;
};

struct KeyHash {
  std::size_t operator()(const BlockKey& key) const noexcept {
    return static_cast<std::size_t>((key.id ^ (key.space << 56)) * 0x9e3779b97f4a7c15U >> 8);
  }
};
using KeySet = std::unordered_set<BlockKey, KeyHash>;

Status malformed(const std::string& what) {
  return {StatusCode::corrupted, "the pickle holds no memory snapshot: " + what};
}

class Snapshot {
 public:
  Snapshot(const Pickle& pickle, const ReadLimits& limits) : pickle_(pickle), limits_(limits), builder_(limits) {}

  Result<TraceData> read();

 private:
  Status read_traces(const Value& traces);
  Status read_entry(const Value& entry, std::uint64_t device, std::uint64_t place);
  Status read_segments(const Value& segments);
  Status read_segment(const Value& segment);
  Status count_visit();
  Result<std::uint64_t> size_of(const Value& value, Word key, const std::string& where) const;
  std::uint64_t stream_number(std::uint64_t device, std::int64_t stream);
  void find_blocks_freed_only();
  Result<TraceData> build();

  const Pickle& pickle_;
  ReadLimits limits_;
  TraceBuilder builder_;
  std::vector<BlockEvent> events_;
  std::vector<EarlierBlock> earlier_;
  KeySet allocated_last_;  // live at the end by the trace
  KeySet seen_;            // have any event
  std::map<std::pair<std::uint64_t, std::int64_t>, std::uint64_t> streams_;
  std::uint64_t visits_ = 0;
};

Result<TraceData> Snapshot::read() {
  const Value* traces = pickle_.entry(pickle_.top(), Word::device_traces);
  const Value* segments = pickle_.entry(pickle_.top(), Word::segments);
  if (traces == nullptr && segments == nullptr) {
    return malformed("it is no dictionary with device_traces and segments");
  }
  if (traces != nullptr) {
    if (Status failed = read_traces(*traces); !failed.is_ok()) return failed;
  }
  std::stable_sort(events_.begin(), events_.end(),
                   [](const BlockEvent& a, const BlockEvent& b) { return a.time_us < b.time_us; });
  find_blocks_freed_only();
  if (segments != nullptr) {
    if (Status failed = read_segments(*segments); !failed.is_ok()) return failed;
  }
  return build();
}

Status Snapshot::read_traces(const Value& traces) {
  const Pickle::List* devices = pickle_.list(traces);
  if (devices == nullptr) return malformed("device_traces is no list");
  for (std::uint64_t device = 0; device < devices->size(); ++device) {
    if (Status failed = count_visit(); !failed.is_ok()) return failed;
    const Pickle::List* entries = pickle_.list((*devices)[device]);
    if (entries == nullptr) return malformed("the trace of device " + std::to_string(device) + " is no list");
    for (std::uint64_t place = 0; place < entries->size(); ++place) {
      if (Status failed = count_visit(); !failed.is_ok()) return failed;
      if (Status failed = read_entry((*entries)[place], device, place); !failed.is_ok()) return failed;
    }
  }
  return {};
}

Status Snapshot::read_entry(const Value& entry, std::uint64_t device, std::uint64_t place) {
  const Value* action = pickle_.entry(entry, Word::action);
  const Word word = action != nullptr ? action->word : Word::other;
  if (word == Word::free_requested) return {};  // what counts is its completion
  if (word != Word::alloc && word != Word::free_completed) {
    ++builder_.remarks().foreign_events;
    return {};
  }
  const std::string where = "entry " + std::to_string(place) + " of device " + std::to_string(device);
  const auto address = pickle_.integer(entry, Word::addr);
  if (!address) return malformed(where + " has no addr");
  auto bytes = size_of(entry, Word::size, where);
  if (!bytes.is_ok()) return bytes.take_status();
  const std::int64_t time = pickle_.integer(entry, Word::time_us).value_or(static_cast<std::int64_t>(place));
  constexpr std::int64_t kLatest = std::int64_t{1} << 53;  // microseconds; 285 years
  if (time < 0 || time > kLatest) return malformed(where + " has a time_us out of range");
  const std::uint64_t stream = stream_number(device, pickle_.integer(entry, Word::stream).value_or(0));
  events_.push_back({static_cast<std::uint64_t>(time),
                     {static_cast<std::uint64_t>(*address), device},
                     bytes.value(),
                     stream,
                     word == Word::alloc ? TraceOp::allocate : TraceOp::free});
  return {};
}

// What the first event of an address frees was there before.
void Snapshot::find_blocks_freed_only() {
  for (const BlockEvent& event : events_) {
    const bool is_first = seen_.insert(event.key).second;
    if (event.op == TraceOp::allocate) {
      allocated_last_.insert(event.key);
      continue;
    }
    if (is_first) earlier_.push_back({event.key, event.bytes, event.stream});
    allocated_last_.erase(event.key);
  }
}

Status Snapshot::read_segments(const Value& segments) {
  const Pickle::List* list = pickle_.list(segments);
  if (list == nullptr) return malformed("segments is no list");
  for (const Value& segment : *list) {
    if (Status failed = count_visit(); !failed.is_ok()) return failed;
    if (Status failed = read_segment(segment); !failed.is_ok()) return failed;
  }
  return {};
}

Status Snapshot::read_segment(const Value& segment) {
  const Value* blocks = pickle_.entry(segment, Word::blocks);
  const Pickle::List* list = blocks != nullptr ? pickle_.list(*blocks) : nullptr;
  const auto base = pickle_.integer(segment, Word::address);
  if (list == nullptr || !base) return malformed("a segment has no address or no list of blocks");
  const auto device = static_cast<std::uint64_t>(pickle_.integer(segment, Word::device).value_or(0));
  const std::uint64_t stream = stream_number(device, pickle_.integer(segment, Word::stream).value_or(0));
  auto next = static_cast<std::uint64_t>(*base);  // blocks tile their segment; old versions give no addresses
  for (const Value& block : *list) {
    if (Status failed = count_visit(); !failed.is_ok()) return failed;
    auto size = size_of(block, Word::size, "a block of a segment");
    if (!size.is_ok()) return size.take_status();
    const auto own_address = pickle_.integer(block, Word::address);
    const std::uint64_t address = own_address ? static_cast<std::uint64_t>(*own_address) : next;
    next = address + size.value();
    const Value* state = pickle_.entry(block, Word::state);
    const Word word = state != nullptr ? state->word : Word::other;
    const bool is_live =
        word == Word::active_allocated || word == Word::active_pending_free || word == Word::active_awaiting_free;
    const BlockKey key{address, device};
    if (!is_live || allocated_last_.count(key) != 0) continue;
    // A block that the trace saw freed and the segments show live was allocated when nothing was recorded; it can't be
    // placed in time.
    if (!seen_.insert(key).second) {
      ++builder_.remarks().foreign_events;
      continue;
    }
    std::uint64_t bytes = size.value();
    if (pickle_.entry(block, Word::requested_size) != nullptr) {
      auto requested = size_of(block, Word::requested_size, "a block of a segment");
      if (!requested.is_ok()) return requested.take_status();
      if (requested.value() != 0) bytes = requested.value();
    }
    earlier_.push_back({key, bytes, stream});
  }
  return {};
}

// A list may hold another one many times over, so what is walked is counted, not what is stored.
Status Snapshot::count_visit() {
  if (++visits_ <= limits_.events) return {};
  return {StatusCode::limit_exceeded, "the snapshot has more than " + std::to_string(limits_.events) +
                                          " entries, the most that is read; record with a smaller max_entries"};
}

Result<std::uint64_t> Snapshot::size_of(const Value& value, Word key, const std::string& where) const {
  const auto size = pickle_.integer(value, key);
  if (size && *size >= 0 && static_cast<std::uint64_t>(*size) <= kLargestBlock) {
    return static_cast<std::uint64_t>(*size);
  }
  return malformed(where + (size ? " has the size " + std::to_string(*size) : " has no size"));
}

// Devices one after another, and the streams of each in the order of their handles, once all are known.
std::uint64_t Snapshot::stream_number(std::uint64_t device, std::int64_t stream) {
  return streams_.try_emplace({device, stream}, streams_.size()).first->second;
}

Result<TraceData> Snapshot::build() {
  std::vector<std::uint64_t> number_of(streams_.size());
  std::uint64_t number = 0;
  for (const auto& [stream, index] : streams_) number_of[index] = number++;
  std::sort(earlier_.begin(), earlier_.end(), [](const EarlierBlock& a, const EarlierBlock& b) {
    return std::make_pair(a.key.space, a.key.id) < std::make_pair(b.key.space, b.key.id);
  });
  for (const EarlierBlock& block : earlier_) {
    Status failed = builder_.live_before_start(block.key, block.bytes, number_of[block.stream]);
    if (!failed.is_ok()) return failed;
  }
  constexpr std::uint64_t kMicrosecond = 1000;
  const std::uint64_t start = events_.empty() ? 0 : events_.front().time_us;
  for (const BlockEvent& event : events_) {
    const std::uint64_t now = (event.time_us - start) * kMicrosecond;
    Status failed = event.op == TraceOp::free ? builder_.free(event.key, now, number_of[event.stream])
                                              : builder_.allocate(event.key, event.bytes, now, number_of[event.stream]);
    if (!failed.is_ok()) return failed;
  }
  return std::move(builder_).finish("pytorch");
}

}  // namespace

Result<TraceData> read_pytorch_snapshot(Input* input) noexcept {
  auto pickle = Pickle::read(input);
  if (!pickle.is_ok()) return pickle.take_status();
  return Snapshot(pickle.value(), input->limits()).read();
}

}  // namespace cistern::replay
