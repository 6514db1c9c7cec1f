#include "trace/text_log.hpp"

#include <unistd.h>

#include <cstdio>

#include "trace/escape.hpp"

namespace cistern::trace {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} * 1024;

void append_field(std::string* line, std::string_view name, std::uint64_t value) {
  line->append(" ").append(name).append("=").append(std::to_string(value));
}

}  // namespace

TextLog::TextLog(const std::string& path) : file_(path), start_(read_clocks()), now_(start_) { write_header(); }

void TextLog::write_header() { lines_ += std::string(kTextHeader) + " process=" + std::to_string(::getpid()) + "\n"; }

void TextLog::explain(const Tables& tables) {
  for (; pools_ < tables.pools.size(); ++pools_) {
    const PoolName& pool = tables.pools[pools_];
    lines_ += "# pool " + std::to_string(pool.pool) + " " + escaped_without_alloc(pool.name) + " " +
              escaped_without_alloc(pool.device) + "\n";
  }
  if (modules_ == tables.modules.size()) return;
  modules_ = tables.modules.size();
  for (const Module& module : tables.modules) {
    lines_ += "# module " + hexadecimal(module.begin) + " " + hexadecimal(module.end) + " " + hexadecimal(module.bias) +
              " " + escaped_without_alloc(module.path) + "\n";
  }
}

void TextLog::append_stack(std::uint32_t stack, const Tables& tables) {
  if (stack == 0) return;
  char separator = '=';
  lines_ += " stack";
  for (const std::uint64_t address : tables.stacks[stack - 1]) {
    lines_.push_back(separator);
    lines_ += hexadecimal(address);
    separator = ';';
  }
}

void TextLog::write(const TraceEvent& event, const Tables& tables) {
  explain(tables);
  if (static_cast<std::int64_t>(event.time - now_.ticks) > 0) now_ = read_clocks();
  const std::uint64_t ns = ticks_to_ns(event.time, start_, now_);
  char head[64];
  std::snprintf(head, sizeof head, "%llu.%09llu %llu ", static_cast<unsigned long long>(ns / 1'000'000'000U),
                static_cast<unsigned long long>(ns % 1'000'000'000U), static_cast<unsigned long long>(event.sequence));
  lines_ += head;
  lines_ += op_name(event.op);
  const bool is_allocation = event.op == EventOp::allocate;
  if (is_allocation) lines_ += " " + sites_.site(event.stack, tables) + " " + std::to_string(event.requested_bytes);
  lines_ += " " + hexadecimal(event.address);
  if (!is_allocation) lines_ += " " + std::to_string(event.requested_bytes);
  append_field(&lines_, "granted", event.granted_bytes);
  append_field(&lines_, "pool", event.pool);
  append_field(&lines_, "thread", event.thread);
  if (is_allocation && event.tag != 0) lines_ += " tag=" + escaped(tables.tag_text(event.pool, event.tag));
  const bool is_named = event.op == EventOp::mark || (event.op == EventOp::resize && event.tag != 0);
  if (is_named) lines_ += " tag=" + escaped_without_alloc(tables.tag_text(event.pool, event.tag));
  append_field(&lines_, "stream", event.stream);
  append_stack(event.stack, tables);
  lines_ += "\n";
  if (lines_.size() >= kBufferBytes) write_lines();
}

void TextLog::write_dropped(std::uint32_t thread, std::uint64_t count) {
  lines_ += "# dropped " + std::to_string(thread) + " " + std::to_string(count) + "\n";
}

void TextLog::flush(std::uint64_t newest) {
  if (lines_.empty()) return;
  lines_ += "# newest " + std::to_string(newest) + "\n";
  write_lines();
}

void TextLog::write_lines() {
  file_.write(lines_);
  lines_.clear();
}

void TextLog::end() {
  lines_ += "# end\n";
  write_lines();
}

void TextLog::rotate() {
  end();
  file_.rotate();
  pools_ = modules_ = 0;
  write_header();
}

}  // namespace cistern::trace
