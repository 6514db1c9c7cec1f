#include "trace/trace_writer.hpp"

#include <algorithm>
#include <string_view>

#include "trace/binary_log.hpp"
#include "trace/text_log.hpp"

namespace cistern::trace {
namespace {

std::unique_ptr<EventLog> open_log(std::string_view path) {
  if (path.empty()) return nullptr;
  if (path.ends_with(".log") || path.ends_with(".txt")) return std::make_unique<TextLog>(std::string(path));
  return std::make_unique<BinaryLog>(std::string(path));
}

bool is_older(const TraceEvent& left, const TraceEvent& right) noexcept { return left.sequence < right.sequence; }

}  // namespace

TraceWriter::TraceWriter(const std::string& path, std::uint64_t limit_bytes)
    : limit_bytes_(limit_bytes), log_(open_log(path)), first_clocks_(read_clocks()), last_clocks_(first_clocks_) {}

void TraceWriter::add(const RawEvent& raw, std::uint32_t thread) {
  TraceEvent& event = pending_.emplace_back();
  event.sequence = raw.event.sequence;
  event.time = raw.ticks;
  event.address = raw.event.address;
  event.requested_bytes = raw.event.requested_bytes;
  event.granted_bytes = raw.event.granted_bytes;
  event.pool = raw.pool;
  event.thread = thread;
  event.tag = raw.event.tag;
  event.stream = raw.event.stream;
  event.op = raw.event.op;
  event.stack = stacks_.number_of(raw.stack.data(), raw.depth, &tables_);
  ++added_;
}

void TraceWriter::add_dropped(std::uint32_t thread, std::uint64_t count) {
  if (log_) log_->write_dropped(thread, count);
}

void TraceWriter::add_names(std::vector<PoolName>* pools, std::vector<TagName>* tags) {
  for (PoolName& pool : *pools) tables_.pools.push_back(std::move(pool));
  for (TagName& tag : *tags) tables_.tags.push_back(std::move(tag));
  pools->clear();
  tags->clear();
}

void TraceWriter::write_round(std::uint64_t ripe) {
  last_clocks_ = read_clocks();
  sort_pending();
  auto event = pending_.begin();
  for (; event != pending_.end() && event->sequence <= ripe; ++event) {
    live_.apply(&*event);
    if (log_) log_->write(*event, tables_);
  }
  pending_.erase(pending_.begin(), event);
}

void TraceWriter::flush(std::uint64_t newest) {
  if (log_) log_->flush(newest);
  rotate_if_due(newest);
}

// Nearly always in order already: one thread's events are.
void TraceWriter::sort_pending() {
  if (!std::is_sorted(pending_.begin(), pending_.end(), &is_older)) {
    std::stable_sort(pending_.begin(), pending_.end(), &is_older);
  }
}

void TraceWriter::rotate_if_due(std::uint64_t newest) {
  if (!log_ || limit_bytes_ == 0) return;
  if (log_->file_bytes() < carried_bytes_ + limit_bytes_ / 2) return;
  log_->rotate();
  for (const TraceEvent& event : live_.live()) log_->write(event, tables_);
  log_->flush(newest);
  carried_bytes_ = log_->file_bytes();
}

void TraceWriter::end() {
  if (log_) log_->end();
}

Trace TraceWriter::live() const {
  Trace trace;
  trace.tables = tables_;
  trace.ended = true;
  trace.events = live_.live();
  for (TraceEvent& event : trace.events) event.time = ticks_to_ns(event.time, first_clocks_, last_clocks_);
  return trace;
}

}  // namespace cistern::trace
