#include "replay/sources/read_trace.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "replay/sources/byte_source.hpp"
#include "replay/sources/csv_table.hpp"
#include "replay/sources/formats.hpp"
#include "replay/sources/input.hpp"
#include "trace/reader.hpp"

namespace cistern::replay {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

struct Format {
  std::string_view name;
  TraceReader read;
  std::string_view header;  // of text formats: columns that tell it from the others, as they are spelled in the file
};

constexpr std::array<Format, 9> kFormats = {{
    {"csv", read_plain_csv, "op,id,size,time_ns"},
    {"lifetimes", read_lifetimes, "lower,upper,size"},
    {"pytorch", read_pytorch_snapshot, {}},
    {"rmm", read_rmm_csv, "Thread,Time,Action,Pointer"},
    {"operator-memory", read_operator_memory, "Size(KB),Allocation Time(us)"},
    {"memscope", read_memscope_pool, "Event,Event Type,Timestamp(ns),Ptr"},
    {"memscope-hal", read_memscope_driver, {}},
    {"umpire", read_umpire_replay, {}},
    {"cistern", read_own_trace, {}},
}};

std::string list_of_names() {
  std::string list;
  for (const Format& format : kFormats) list.append(list.empty() ? "" : ", ").append(format.name);
  return list;
}

const Format* format_named(std::string_view name) noexcept {
  const auto* found =
      std::find_if(kFormats.begin(), kFormats.end(), [name](const Format& f) { return f.name == name; });
  return found == kFormats.end() ? nullptr : found;
}

Status unknown_format(std::string_view name) {
  std::vector<std::string_view> names = trace_format_names();
  const std::string_view near = base::closest(name, names);
  return base::invalid_argument("there is no trace format " + base::in_quotes(name) +
                                (near.empty() ? "" : "; did you mean " + std::string(near) + "?") +
                                " (formats: " + list_of_names() + ")");
}

// The first line that says something: no comment, not empty.
std::string_view first_line(std::string_view head) noexcept {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    std::string_view line = base::trim(head.substr(0, end));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && line.front() != '#') return line;
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return {};
}

bool has_columns(std::string_view line, std::string_view wanted) {
  std::vector<std::string_view> columns;
  std::vector<std::string_view> needed;
  split_csv(line, columns);
  split_csv(wanted, needed);
  return std::all_of(needed.begin(), needed.end(), [&columns](std::string_view name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  });
}

// Files that are near to a trace, with what to give instead.
std::string_view advice_for(std::string_view head, std::string_view line) {
  if (head.empty()) return "the file is empty";
  if (head.starts_with("PK\x03\x04")) return "this is a zip archive; unpack it and give the file inside";
  if (line.starts_with("Component,Timestamp")) {
    return "this is memory_record.csv, a curve of totals; give operator_memory.csv beside it";
  }
  return "its content is of no known format";
}

Result<const Format*> detect(Input* input) {
  constexpr std::size_t kHead = std::size_t{64} << 10;
  auto head = input->peek(kHead);
  if (!head.is_ok()) return head.take_status();
  const std::string_view bytes = head.value();
  if (bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5) return format_named("pytorch");
  if (trace::is_trace(bytes)) return format_named("cistern");
  const std::string_view line = first_line(bytes);
  if (line.starts_with('{') && line.find("\"event\"") != std::string_view::npos) return format_named("umpire");
  for (const Format& format : kFormats) {
    if (!format.header.empty() && has_columns(line, format.header)) return &format;
  }
  return Status(StatusCode::unsupported, std::string(advice_for(bytes, line)) + "; it begins with " +
                                             base::in_quotes(line.substr(0, 60)) + " (formats: " + list_of_names() +
                                             ")");
}

Result<TraceData> read_from(std::unique_ptr<ByteSource> source, std::string_view name, const ReadLimits& limits) {
  const Format* format = format_named(name);
  Input input(std::move(source), limits);
  if (format == nullptr) {
    auto detected = detect(&input);
    if (!detected.is_ok()) return detected.take_status();
    format = detected.value();
  }
  auto trace = format->read(&input);
  if (!trace.is_ok()) return trace.take_status().with_context(format->name);
  if (trace.value().slots == 0) {
    const bool may_have_others = format->read == read_memscope_pool;
    return Status(StatusCode::corrupted, std::string("the file has no allocation") +
                                             (may_have_others ? " of the framework's pool; for the requests to the "
                                                                "driver give the format memscope-hal"
                                                              : ""));
  }
  return trace;
}

std::string name_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  for (const std::string_view ending :
       {".gz", ".zst", ".csv", ".pickle", ".pkl", ".json", ".jsonl", ".log", ".txt", ".trace"}) {
    if (path.size() > ending.size() && path.ends_with(ending)) path.remove_suffix(ending.size());
  }
  return std::string(path);
}

}  // namespace

std::vector<std::string_view> trace_format_names() {
  std::vector<std::string_view> names;
  names.reserve(std::size(kFormats));
  for (const Format& format : kFormats) names.push_back(format.name);
  return names;
}

Result<TraceData> read_trace(const std::string& path, std::string_view format, const ReadLimits& limits) noexcept {
  if (!format.empty() && format_named(format) == nullptr) return unknown_format(format);
  auto source = open_file(path);
  if (!source.is_ok()) return source.status().with_context(path);
  auto trace = read_from(source.take(), format, limits);
  if (!trace.is_ok()) return trace.status().with_context(path);
  trace.value().name = name_of(path);
  return trace;
}

Result<TraceData> read_trace_bytes(std::string bytes, std::string_view format, const ReadLimits& limits) noexcept {
  if (!format.empty() && format_named(format) == nullptr) return unknown_format(format);
  auto source = open_bytes(std::move(bytes));
  if (!source.is_ok()) return source.take_status();
  return read_from(source.take(), format, limits);
}

}  // namespace cistern::replay
