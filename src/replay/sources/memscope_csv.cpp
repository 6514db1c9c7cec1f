// The CSV of msMemScope, Ascend's memory profiler: events of several levels in one file.
//
// Each level tells its own story of the same bytes, so a trace is of one level: the framework's pool (event types PTA
// and MINDSPORE) or the requests to the driver (HAL). Processes write into one file and late, so events are put in the
// order of their timestamps. A stream is a device here; host memory is one, too.
#include <algorithm>
#include <vector>

#include "replay/sources/csv_table.hpp"
#include "replay/sources/formats.hpp"
#include "replay/sources/numbers.hpp"
#include "replay/sources/trace_builder.hpp"

namespace cistern::replay {
namespace {

using base::Result;
using base::Status;

enum Column : std::size_t { event, type, timestamp, process, device, pointer, attributes };
enum class Level : std::uint8_t { pool, driver };

struct MemoryEvent {
  std::uint64_t time_ns = 0;
  BlockKey key;
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;
  TraceOp op = TraceOp::allocate;
};

bool is_of(Level level, std::string_view event_type) noexcept {
  if (level == Level::driver) return event_type == "HAL";
  return event_type == "PTA" || event_type == "MINDSPORE";
}

// The digits behind "size:" in "{addr:20616935636992,size:7168,owner:,...}".
std::string_view size_of(std::string_view attributes_text) noexcept {
  constexpr std::string_view kName = "size:";
  std::size_t at = 0;
  do {
    at = attributes_text.find(kName, at == 0 ? 0 : at + 1);
    if (at == std::string_view::npos) return {};
  } while (at != 0 && attributes_text[at - 1] != '{' && attributes_text[at - 1] != ',' &&
           attributes_text[at - 1] != ' ');
  attributes_text.remove_prefix(at + kName.size());
  return attributes_text.substr(0, attributes_text.find_first_of(",}"));
}

// Host memory is 0, device d is d + 1.
std::optional<std::uint64_t> stream_of(std::string_view device_id) noexcept {
  if (device_id == "host") return 0;
  const auto number = parse_decimal(device_id);
  return number ? std::optional<std::uint64_t>(*number + 1) : std::nullopt;
}

Status read_event(const CsvTable& row, std::vector<MemoryEvent>* events) {
  MemoryEvent found;
  found.op = row[event] == "FREE" ? TraceOp::free : TraceOp::allocate;
  auto time = row.decimal(timestamp);
  if (!time.is_ok()) return time.take_status();
  found.time_ns = time.value();
  auto id = row.decimal(process);
  if (!id.is_ok()) return id.take_status();
  auto address = row[pointer].starts_with("0x") ? row.pointer(pointer) : row.decimal(pointer);
  if (!address.is_ok()) return address.take_status();
  found.key = {address.value(), id.value()};
  if (found.op == TraceOp::allocate) {
    const auto bytes = parse_decimal(size_of(row[attributes]));
    if (!bytes) return row.bad_field(attributes, "has no size in bytes, as in {addr:1,size:512}");
    const auto stream = stream_of(row[device]);
    if (!stream) return row.bad_field(device, "is neither a device's number nor host");
    found.bytes = *bytes;
    found.stream = *stream;
  }
  events->push_back(found);
  return {};
}

Result<TraceData> build(std::vector<MemoryEvent>* events, TraceBuilder* builder, Level level) {
  std::stable_sort(events->begin(), events->end(),
                   [](const MemoryEvent& a, const MemoryEvent& b) { return a.time_ns < b.time_ns; });
  const std::uint64_t start = events->empty() ? 0 : events->front().time_ns;
  for (const MemoryEvent& one : *events) {
    const std::uint64_t now = one.time_ns - start;
    Status failed =
        one.op == TraceOp::free ? builder->free(one.key, now) : builder->allocate(one.key, one.bytes, now, one.stream);
    if (!failed.is_ok()) return failed;
  }
  return std::move(*builder).finish(level == Level::pool ? "memscope" : "memscope-hal");
}

Result<TraceData> read_level(Input* input, Level level) {
  auto table =
      CsvTable::open(input, {"Event", "Event Type", "Timestamp(ns)", "Process Id", "Device Id", "Ptr", "Attr"});
  if (!table.is_ok()) return table.take_status();
  TraceBuilder builder(input->limits());
  std::vector<MemoryEvent> events;
  for (;;) {
    auto more = table.value().next();
    if (!more.is_ok()) return more.take_status();
    if (!more.value()) return build(&events, &builder, level);
    const CsvTable& row = table.value();
    if ((row[event] != "MALLOC" && row[event] != "FREE") || !is_of(level, row[type])) {
      ++builder.remarks().foreign_events;
      continue;
    }
    if (events.size() >= input->limits().events) {
      return row.at_row(
          {base::StatusCode::limit_exceeded,
           "more events than are read (" + std::to_string(input->limits().events) + "); cut the file into parts"});
    }
    if (Status failed = read_event(row, &events); !failed.is_ok()) return failed;
  }
}

}  // namespace

Result<TraceData> read_memscope_pool(Input* input) noexcept { return read_level(input, Level::pool); }
Result<TraceData> read_memscope_driver(Input* input) noexcept { return read_level(input, Level::driver); }

}  // namespace cistern::replay
