// Umpire's replay log: one JSON object a line, `#` begins a comment.
//
// An allocation is written twice: when it is asked for, and with its result when it was made; the second one counts.
// A stream is an allocator here, and blocks are named by process and address.
#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "replay/sources/formats.hpp"
#include "replay/sources/json_line.hpp"
#include "replay/sources/numbers.hpp"
#include "replay/sources/trace_builder.hpp"

namespace cistern::replay {
namespace {

using base::Result;
using base::Status;

class UmpireReplay {
 public:
  explicit UmpireReplay(Input* input) : input_(input), builder_(input->limits()) {}

  Status read_line(std::string_view line);
  TraceData finish() && { return std::move(builder_).finish("umpire"); }

 private:
  Status read_block(bool is_allocation);
  Result<std::uint64_t> number(std::string_view path, bool is_pointer) const;

  Input* input_;
  TraceBuilder builder_;
  JsonLine json_;
  bool has_start_ = false;
  std::uint64_t start_ns_ = 0;
};

Result<std::uint64_t> UmpireReplay::number(std::string_view path, bool is_pointer) const {
  const auto text = json_.find(path);
  if (!text) return input_->bad_line("the event has no " + std::string(path));
  const auto value = is_pointer ? parse_pointer(*text) : parse_decimal(*text);
  if (value) return *value;
  return input_->bad_line(std::string(path) + ": " + base::in_quotes(*text) + " is no " +
                          (is_pointer ? "address" : "whole number below 2^64"));
}

Status UmpireReplay::read_line(std::string_view line) {
  line = base::trim(line);
  if (line.empty() || line.front() == '#') return {};
  if (!json_.parse(line)) return input_->bad_line("is no JSON object: " + base::in_quotes(line));
  const auto event = json_.find("event");
  const bool is_allocation = event == "allocate";
  if (is_allocation && !json_.find("result.memory_ptr")) return {};
  if (is_allocation || event == "deallocate") return read_block(is_allocation);
  ++builder_.remarks().foreign_events;
  return {};
}

Status UmpireReplay::read_block(bool is_allocation) {
  auto time = number("timestamp", false);
  if (!time.is_ok()) return time.take_status();
  auto allocator = number("payload.allocator_ref", true);
  if (!allocator.is_ok()) return allocator.take_status();
  auto address = number(is_allocation ? "result.memory_ptr" : "payload.memory_ptr", true);
  if (!address.is_ok()) return address.take_status();
  const auto process = json_.find("uid");
  const BlockKey key{address.value(), process ? parse_decimal(*process).value_or(0) : 0};
  if (!has_start_) start_ns_ = time.value();
  has_start_ = true;
  const std::uint64_t now = time.value() - std::min(time.value(), start_ns_);
  if (!is_allocation) return input_->at_line(builder_.free(key, now, allocator.value()));
  auto bytes = number("payload.size", false);
  if (!bytes.is_ok()) return bytes.take_status();
  return input_->at_line(builder_.allocate(key, bytes.value(), now, allocator.value()));
}

}  // namespace

Result<TraceData> read_umpire_replay(Input* input) noexcept {
  UmpireReplay replay(input);
  for (;;) {
    std::string_view line;
    auto more = input->next_line(line);
    if (!more.is_ok()) return more.take_status();
    if (!more.value()) return std::move(replay).finish();
    if (Status failed = replay.read_line(line); !failed.is_ok()) return failed;
  }
}

}  // namespace cistern::replay
