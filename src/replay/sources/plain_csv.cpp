// Plain CSV, the form that traces have here: `op,id,size,time_ns,stream`; op is a (allocate) or f (free), size is empty
// on frees. Ids name a block while it lives.
#include "replay/sources/csv_table.hpp"
#include "replay/sources/formats.hpp"
#include "replay/sources/trace_builder.hpp"

namespace cistern::replay {
namespace {

using base::Status;

enum Column : std::size_t { op, id, size, time_ns, stream };

Status read_row(const CsvTable& row, TraceBuilder* builder) {
  auto block = row.decimal(id);
  if (!block.is_ok()) return block.take_status();
  auto time = row.decimal(time_ns);
  if (!time.is_ok()) return time.take_status();
  auto on_stream = row.decimal(stream);
  if (!on_stream.is_ok()) return on_stream.take_status();
  const BlockKey key{block.value()};
  if (row[op] == "f") return row.at_row(builder->free(key, time.value(), on_stream.value()));
  if (row[op] != "a") return row.bad_field(op, "is neither a (allocate) nor f (free)");
  auto bytes = row.decimal(size);
  if (!bytes.is_ok()) return bytes.take_status();
  return row.at_row(builder->allocate(key, bytes.value(), time.value(), on_stream.value()));
}

}  // namespace

base::Result<TraceData> read_plain_csv(Input* input) noexcept {
  auto table = CsvTable::open(input, {"op", "id", "size", "time_ns", "stream"});
  if (!table.is_ok()) return table.take_status();
  TraceBuilder builder(input->limits());
  for (;;) {
    auto more = table.value().next();
    if (!more.is_ok()) return more.take_status();
    if (!more.value()) return std::move(builder).finish("csv");
    if (Status failed = read_row(table.value(), &builder); !failed.is_ok()) return failed;
  }
}

}  // namespace cistern::replay
