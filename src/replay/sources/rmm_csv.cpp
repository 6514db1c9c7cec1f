// The log of RMM's logging adaptor: `Thread,Time,Action,Pointer,Size,Stream`.
//
// Times are of the day and carry no date: one that falls by more than half a day has passed midnight, one that falls by
// less is of a thread that wrote late. Blocks are named by their addresses; streams by their handles.
#include "replay/sources/csv_table.hpp"
#include "replay/sources/formats.hpp"
#include "replay/sources/numbers.hpp"
#include "replay/sources/trace_builder.hpp"

namespace cistern::replay {
namespace {

using base::Status;

enum Column : std::size_t { time, action, pointer, size, stream };

constexpr std::uint64_t kDay = 24ULL * 3600 * 1'000'000'000;

// The log's clock without its jumps at midnight, from 0.
class DayClock {
 public:
  std::uint64_t at(std::uint64_t time_of_day) noexcept {
    if (!has_start_) start_ = latest_ = time_of_day;
    has_start_ = true;
    if (time_of_day + kDay / 2 < latest_) days_ += kDay;
    latest_ = time_of_day;
    const std::uint64_t now = days_ + time_of_day;
    return now < start_ ? 0 : now - start_;
  }

 private:
  std::uint64_t start_ = 0;
  std::uint64_t latest_ = 0;
  std::uint64_t days_ = 0;
  bool has_start_ = false;
};

Status read_row(const CsvTable& row, DayClock* clock, TraceBuilder* builder) {
  const bool is_allocation = row[action] == "allocate";
  if (!is_allocation && row[action] != "free") {
    ++builder->remarks().foreign_events;  // "allocate failure", and what later versions add
    return {};
  }
  const auto time_of_day = parse_time_of_day(row[time]);
  if (!time_of_day) return row.bad_field(time, "is no time of day (HH:MM:SS.microseconds)");
  auto address = row.pointer(pointer);
  if (!address.is_ok()) return address.take_status();
  auto on_stream = row.pointer(stream);
  if (!on_stream.is_ok()) return on_stream.take_status();
  const std::uint64_t now = clock->at(*time_of_day);
  if (!is_allocation) return row.at_row(builder->free({address.value()}, now, on_stream.value()));
  auto bytes = row.decimal(size);
  if (!bytes.is_ok()) return bytes.take_status();
  return row.at_row(builder->allocate({address.value()}, bytes.value(), now, on_stream.value()));
}

}  // namespace

base::Result<TraceData> read_rmm_csv(Input* input) noexcept {
  auto table = CsvTable::open(input, {"Time", "Action", "Pointer", "Size", "Stream"});
  if (!table.is_ok()) return table.take_status();
  TraceBuilder builder(input->limits());
  DayClock clock;
  for (;;) {
    auto more = table.value().next();
    if (!more.is_ok()) return more.take_status();
    if (!more.value()) return std::move(builder).finish("rmm");
    if (Status failed = read_row(table.value(), &clock, &builder); !failed.is_ok()) return failed;
  }
}

}  // namespace cistern::replay
