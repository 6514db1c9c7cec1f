#include "replay/sources/trace_builder.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace cistern::replay {

using base::Status;
using base::StatusCode;

namespace {
constexpr std::uint64_t kMostLiveBytes = 1ULL << 63;
}

Status TraceBuilder::allocate(BlockKey key, std::uint64_t bytes, std::uint64_t time_ns, std::uint64_t stream) {
  if (bytes > kLargestBlock) {
    return {StatusCode::corrupted, "a block of " + std::to_string(bytes) + " bytes is larger than any memory (2^56)"};
  }
  advance_to(time_ns);
  if (const auto old = live_.find(key); old != live_.end()) {
    if (old->second.bytes != 0) {
      ++trace_.remarks.repeated_ids;
      if (Status failed = append_free(old->second, old->second.stream); !failed.is_ok()) return failed;
    }
    live_.erase(old);
  }
  if (bytes == 0) {
    ++trace_.remarks.zero_sizes;
    // Kept by name, so that its free is not taken for one of an unknown block; bounded like the events.
    if (live_.size() < limits_.events) live_.emplace(key, Live{});
    return {};
  }
  if (bytes > kMostLiveBytes - live_bytes_) {
    return {StatusCode::corrupted, "more than 2^63 bytes are live at once; the sizes are wrong"};
  }
  const Live block{bytes, static_cast<std::uint32_t>(trace_.slots), stream_index(stream)};
  if (Status failed = append({now_ns_, bytes, block.slot, block.stream, TraceOp::allocate}); !failed.is_ok()) {
    return failed;
  }
  ++trace_.slots;
  live_bytes_ += bytes;
  live_.emplace(key, block);
  return {};
}

Status TraceBuilder::free(BlockKey key, std::uint64_t time_ns, std::optional<std::uint64_t> stream) {
  advance_to(time_ns);
  const auto found = live_.find(key);
  if (found == live_.end()) {
    ++trace_.remarks.frees_without_allocation;
    return {};
  }
  const Live block = found->second;
  live_.erase(found);
  if (block.bytes == 0) return {};
  return append_free(block, stream ? stream_index(*stream) : block.stream);
}

Status TraceBuilder::free_space(std::uint64_t space, std::uint64_t time_ns) {
  advance_to(time_ns);
  std::vector<Live> ended;
  for (auto each = live_.begin(); each != live_.end();) {
    const bool is_inside = each->first.space == space;
    if (is_inside && each->second.bytes != 0) ended.push_back(each->second);
    each = is_inside ? live_.erase(each) : std::next(each);
  }
  std::sort(ended.begin(), ended.end(), [](const Live& left, const Live& right) { return left.slot < right.slot; });
  for (const Live& block : ended) {
    ++trace_.remarks.freed_with_pool;
    if (Status failed = append_free(block, block.stream); !failed.is_ok()) return failed;
  }
  return {};
}

void TraceBuilder::rename(BlockKey from, BlockKey to) {
  auto block = live_.extract(from);
  if (block.empty() || live_.count(to) != 0) return;
  block.key() = to;
  live_.insert(std::move(block));
}

Status TraceBuilder::live_before_start(BlockKey key, std::uint64_t bytes, std::uint64_t stream) {
  const std::uint64_t before = trace_.slots;
  Status failed = allocate(key, bytes, 0, stream);
  trace_.remarks.live_before_start += trace_.slots - before;
  return failed;
}

Status TraceBuilder::append(const TraceEvent& event) {
  if (trace_.events.size() >= std::min<std::uint64_t>(limits_.events, std::numeric_limits<std::uint32_t>::max())) {
    return {StatusCode::limit_exceeded, "the trace has more than " + std::to_string(limits_.events) +
                                            " events, the most that is read; cut it into parts"};
  }
  trace_.events.push_back(event);
  return {};
}

Status TraceBuilder::append_free(const Live& block, std::uint32_t stream) {
  live_bytes_ -= block.bytes;
  return append({now_ns_, block.bytes, block.slot, stream, TraceOp::free});
}

void TraceBuilder::advance_to(std::uint64_t time_ns) noexcept {
  if (time_ns < now_ns_) {
    ++trace_.remarks.times_going_back;
  } else {
    now_ns_ = time_ns;
  }
}

std::uint32_t TraceBuilder::stream_index(std::uint64_t stream) {
  return streams_.try_emplace(stream, static_cast<std::uint32_t>(streams_.size())).first->second;
}

// Streams by the file's own numbers: stream 0 of a file with streams 0, 1 and 2 stays 0, in whatever order they appear.
void TraceBuilder::number_streams() {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ordered(streams_.begin(), streams_.end());
  std::sort(ordered.begin(), ordered.end());
  std::vector<std::uint32_t> number_of(ordered.size());
  for (std::uint32_t number = 0; number < ordered.size(); ++number) number_of[ordered[number].second] = number;
  for (TraceEvent& event : trace_.events) event.stream = number_of[event.stream];
  trace_.streams = ordered.size();
}

TraceData TraceBuilder::finish(std::string_view format) && {
  number_streams();
  trace_.format = format;
  return std::move(trace_);
}

}  // namespace cistern::replay
