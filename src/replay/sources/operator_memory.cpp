// operator_memory.csv of the Ascend profiler: one row a block, with the times of its allocation and release.
//
// What lived before the recording has no row, but the totals beside each allocation count it: the first total of a
// device, less its own block and less rows that have only a release, is what else was live. It becomes one block that
// is never freed.
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "replay/sources/csv_table.hpp"
#include "replay/sources/formats.hpp"
#include "replay/sources/labels.hpp"
#include "replay/sources/trace_builder.hpp"

namespace cistern::replay {
namespace {

using base::Result;
using base::Status;

enum Column : std::size_t { size, allocation, release, total, stream, device };

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kRowSpace = 0;         // keys: a row's number
constexpr std::uint64_t kUnrecordedSpace = 1;  // keys: a device's number

struct Boundary {
  std::uint64_t time_ns = 0;
  std::uint64_t row = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;
  TraceOp op = TraceOp::allocate;
};

struct DeviceStart {
  bool has_total = false;
  std::uint64_t first_ns = 0;
  std::uint64_t before_first = 0;  // live just before the first allocation
  std::uint64_t recorded = 0;      // of it, in rows that have only a release
  std::uint64_t stream = 0;
};

class OperatorMemory {
 public:
  explicit OperatorMemory(Input* input) : builder_(input->limits()), most_(input->limits().events) {}

  Status read_row(const CsvTable& row);
  Result<TraceData> finish() &&;

 private:
  Status read_times(const CsvTable& row, std::uint64_t bytes, std::uint64_t on_stream, DeviceStart* start);
  Status place_unrecorded();

  TraceBuilder builder_;
  std::uint64_t most_;
  Labels streams_;
  Labels devices_;
  std::map<std::uint64_t, DeviceStart> starts_;
  std::vector<Boundary> boundaries_;
  std::vector<Boundary> live_before_;  // rows that have only a release
  std::uint64_t rows_ = 0;
};

Status OperatorMemory::read_row(const CsvTable& row) {
  if (boundaries_.size() + live_before_.size() >= most_) {
    return row.at_row({base::StatusCode::limit_exceeded,
                       "more rows than are read (" + std::to_string(most_ / 2) + "); cut the file into parts"});
  }
  auto bytes = row.scaled(size, kKiB);
  if (!bytes.is_ok()) return bytes.take_status();
  if (bytes.value() > kLargestBlock) return row.bad_field(size, "is larger than any memory (2^56 bytes)");
  auto on_device = devices_.number_of(row[device]);
  if (!on_device.is_ok()) return row.at_row(on_device.status());
  auto on_stream = streams_.number_of(std::string(row[device]).append("/").append(row[stream]));
  if (!on_stream.is_ok()) return row.at_row(on_stream.status());
  ++rows_;
  if (bytes.value() == 0) {
    ++builder_.remarks().zero_sizes;
    return {};
  }
  return read_times(row, bytes.value(), on_stream.value(), &starts_[on_device.value()]);
}

Status OperatorMemory::read_times(const CsvTable& row, std::uint64_t bytes, std::uint64_t on_stream,
                                  DeviceStart* start) {
  constexpr std::uint64_t kMicrosecond = 1000;
  std::uint64_t released = 0;
  if (!row[release].empty()) {
    auto at = row.scaled(release, kMicrosecond);
    if (!at.is_ok()) return at.take_status();
    released = at.value();
    boundaries_.push_back({released, rows_, 0, on_stream, TraceOp::free});
  }
  if (row[allocation].empty()) {
    if (row[release].empty()) {
      ++builder_.remarks().foreign_events;
      return {};
    }
    live_before_.push_back({0, rows_, bytes, on_stream, TraceOp::allocate});
    start->recorded += bytes;
    return {};
  }
  auto at = row.scaled(allocation, kMicrosecond);
  if (!at.is_ok()) return at.take_status();
  if (!row[release].empty() && released < at.value()) return row.bad_field(release, "lies before the allocation");
  boundaries_.push_back({at.value(), rows_, bytes, on_stream, TraceOp::allocate});
  if (row[total].empty() || (start->has_total && at.value() >= start->first_ns)) return {};
  auto allocated = row.scaled(total, kMiB);
  if (!allocated.is_ok()) return allocated.take_status();
  start->has_total = true;
  start->first_ns = at.value();
  start->before_first = allocated.value() - std::min(allocated.value(), bytes);
  start->stream = on_stream;
  return {};
}

Status OperatorMemory::place_unrecorded() {
  for (const auto& [number, start] : starts_) {
    if (start.before_first <= start.recorded) continue;
    const std::uint64_t bytes = start.before_first - start.recorded;
    Status failed = builder_.live_before_start({number, kUnrecordedSpace}, bytes, start.stream);
    if (!failed.is_ok()) return failed;
  }
  for (const Boundary& block : live_before_) {
    Status failed = builder_.live_before_start({block.row, kRowSpace}, block.bytes, block.stream);
    if (!failed.is_ok()) return failed;
  }
  return {};
}

Result<TraceData> OperatorMemory::finish() && {
  std::sort(boundaries_.begin(), boundaries_.end(), [](const Boundary& a, const Boundary& b) {
    return std::make_tuple(a.time_ns, a.op == TraceOp::allocate, a.row) <
           std::make_tuple(b.time_ns, b.op == TraceOp::allocate, b.row);
  });
  if (Status failed = place_unrecorded(); !failed.is_ok()) return failed;
  const std::uint64_t start = boundaries_.empty() ? 0 : boundaries_.front().time_ns;
  for (const Boundary& event : boundaries_) {
    const BlockKey key{event.row, kRowSpace};
    const std::uint64_t now = event.time_ns - start;
    Status failed =
        event.op == TraceOp::free ? builder_.free(key, now) : builder_.allocate(key, event.bytes, now, event.stream);
    if (!failed.is_ok()) return failed;
  }
  return std::move(builder_).finish("operator-memory");
}

}  // namespace

Result<TraceData> read_operator_memory(Input* input) noexcept {
  auto table = CsvTable::open(input, {"Size(KB)", "Allocation Time(us)", "Release Time(us)",
                                      "Allocation Total Allocated(MB)", "Stream Ptr", "Device Type"});
  if (!table.is_ok()) return table.take_status();
  OperatorMemory memory(input);
  for (;;) {
    auto more = table.value().next();
    if (!more.is_ok()) return more.take_status();
    if (!more.value()) return std::move(memory).finish();
    if (Status failed = memory.read_row(table.value()); !failed.is_ok()) return failed;
  }
}

}  // namespace cistern::replay
