// Lifetimes, the form that offline planners read: `id,lower,upper,size`; a block lives from `lower` until just before
// `upper`, so at equal times frees come before allocations. The unit of time is the file's own.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "replay/sources/csv_table.hpp"
#include "replay/sources/formats.hpp"
#include "replay/sources/trace_builder.hpp"

namespace cistern::replay {
namespace {

using base::Status;

enum Column : std::size_t { id, lower, upper, size };

struct Boundary {
  std::uint64_t time = 0;
  std::uint64_t row = 0;
  std::uint64_t bytes = 0;
  TraceOp op = TraceOp::allocate;
};

Status read_row(const CsvTable& row, std::uint64_t number, TraceBuilder* builder, std::vector<Boundary>* all) {
  auto from = row.decimal(lower);
  if (!from.is_ok()) return from.take_status();
  auto until = row.decimal(upper);
  if (!until.is_ok()) return until.take_status();
  auto bytes = row.decimal(size);
  if (!bytes.is_ok()) return bytes.take_status();
  if (until.value() < from.value()) return row.bad_field(upper, "lies before lower");
  if (until.value() == from.value() || bytes.value() == 0) {
    ++builder->remarks().zero_sizes;
    return {};
  }
  if (bytes.value() > kLargestBlock) return row.bad_field(size, "is larger than any memory (2^56)");
  all->push_back({from.value(), number, bytes.value(), TraceOp::allocate});
  all->push_back({until.value(), number, 0, TraceOp::free});
  return {};
}

Status build(std::vector<Boundary>* all, TraceBuilder* builder) {
  std::sort(all->begin(), all->end(), [](const Boundary& a, const Boundary& b) {
    return std::make_tuple(a.time, a.op == TraceOp::allocate, a.row) <
           std::make_tuple(b.time, b.op == TraceOp::allocate, b.row);
  });
  for (const Boundary& boundary : *all) {
    const BlockKey key{boundary.row};
    Status failed = boundary.op == TraceOp::free ? builder->free(key, boundary.time)
                                                 : builder->allocate(key, boundary.bytes, boundary.time, 0);
    if (!failed.is_ok()) return failed;
  }
  return {};
}

}  // namespace

base::Result<TraceData> read_lifetimes(Input* input) noexcept {
  auto table = CsvTable::open(input, {"id", "lower", "upper", "size"});
  if (!table.is_ok()) return table.take_status();
  TraceBuilder builder(input->limits());
  std::vector<Boundary> all;
  std::vector<std::string> names;  // by row
  for (std::uint64_t number = 0;; ++number) {
    auto more = table.value().next();
    if (!more.is_ok()) return more.take_status();
    if (!more.value()) break;
    if (all.size() >= input->limits().events) {
      return table.value().at_row({base::StatusCode::limit_exceeded, "more lifetimes than are read (" +
                                                                         std::to_string(input->limits().events / 2) +
                                                                         "); cut the file into parts"});
    }
    if (Status failed = read_row(table.value(), number, &builder, &all); !failed.is_ok()) return failed;
    names.emplace_back(table.value()[id]);
  }
  if (Status failed = build(&all, &builder); !failed.is_ok()) return failed;
  TraceData trace = std::move(builder).finish("lifetimes");
  for (const Boundary& boundary : all) {
    if (boundary.op == TraceOp::allocate) trace.block_names.push_back(std::move(names[boundary.row]));
  }
  return trace;
}

}  // namespace cistern::replay
