// Reads text traces (text_log.hpp). A line that is none of ours ends the reading, as a damaged chunk does.
#include <charconv>
#include <map>

#include "trace/escape.hpp"
#include "trace/reader.hpp"
#include "trace/ring.hpp"
#include "trace/text_log.hpp"

namespace cistern::trace {
namespace {

// The words of a line, one after another.
class Words {
 public:
  explicit Words(std::string_view line) noexcept : rest_(line) {}
  std::string_view next() noexcept {
    const std::size_t space = rest_.find(' ');
    const std::string_view word = rest_.substr(0, space);
    rest_ = space == std::string_view::npos ? std::string_view() : rest_.substr(space + 1);
    return word;
  }
  bool at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

template <typename Number>
bool read_number(std::string_view word, Number* out) noexcept {
  int base = 10;
  if (word.substr(0, 2) == "0x") {
    word.remove_prefix(2);
    base = 16;
  }
  const auto result = std::from_chars(word.data(), word.data() + word.size(), *out, base);
  return result.ec == std::errc() && result.ptr == word.data() + word.size() && !word.empty();
}

bool read_time(std::string_view word, std::uint64_t* ns) noexcept {
  const std::size_t point = word.find('.');
  std::uint64_t seconds = 0;
  std::uint64_t rest = 0;
  if (point == std::string_view::npos || word.size() - point - 1 != 9) return false;
  if (!read_number(word.substr(0, point), &seconds) || !read_number(word.substr(point + 1), &rest)) return false;
  if (seconds > 18'000'000'000U) return false;  // more nanoseconds than a number holds
  *ns = seconds * 1'000'000'000U + rest;
  return true;
}

bool read_op(std::string_view word, EventOp* op) noexcept {
  for (auto each = static_cast<std::uint8_t>(EventOp::allocate); each <= static_cast<std::uint8_t>(pool::kLastEventOp);
       ++each) {
    *op = static_cast<EventOp>(each);
    if (op_name(*op) == word) return true;
  }
  return false;
}

class TextReader {
 public:
  explicit TextReader(Trace* trace) noexcept : trace_(trace) {}

  bool read_line(std::string_view line) {
    if (trace_->ended) return false;
    return line.substr(0, 1) == "#" ? read_remark(line) : read_event(line);
  }

 private:
  bool read_remark(std::string_view line) {
    Words words(line);
    static_cast<void>(words.next());
    const std::string_view kind = words.next();
    if (kind == "end") {
      trace_->ended = true;
      return words.at_end();
    }
    if (kind == "pool") {
      PoolName pool;
      if (!read_number(words.next(), &pool.pool)) return false;
      pool.name = unescaped(words.next());
      pool.device = unescaped(words.next());
      trace_->tables.pools.push_back(std::move(pool));
      return words.at_end();
    }
    if (kind == "module") return read_module(&words);
    if (kind == "newest") return read_number(words.next(), &trace_->newest) && words.at_end();
    std::uint32_t thread = 0;
    std::uint64_t count = 0;
    if (kind != "dropped" || !read_number(words.next(), &thread) || !read_number(words.next(), &count)) return false;
    trace_->dropped += count;
    return words.at_end();
  }

  bool read_module(Words* words) {
    Module module;
    if (!read_number(words->next(), &module.begin) || !read_number(words->next(), &module.end) ||
        !read_number(words->next(), &module.bias) || module.end <= module.begin) {
      return false;
    }
    module.path = unescaped(words->next());
    auto& modules = trace_->tables.modules;
    auto place = modules.begin();
    while (place != modules.end() && place->begin < module.begin) ++place;
    if (place == modules.end() || place->begin != module.begin) modules.insert(place, std::move(module));
    return words->at_end();
  }

  bool read_event(std::string_view line) {
    Words words(line);
    TraceEvent event;
    if (!read_time(words.next(), &event.time) || !read_number(words.next(), &event.sequence) ||
        !read_op(words.next(), &event.op)) {
      return false;
    }
    if (event.op == EventOp::allocate) {
      // The site is made from the stack again; the bytes come before the address.
      if (words.next().empty() || !read_number(words.next(), &event.requested_bytes) ||
          !read_number(words.next(), &event.address)) {
        return false;
      }
    } else if (!read_number(words.next(), &event.address) || !read_number(words.next(), &event.requested_bytes)) {
      return false;
    }
    std::string_view tag;
    while (!words.at_end()) {
      if (!read_field(words.next(), &event, &tag)) return false;
    }
    if (!tag.empty()) event.tag = number_of_tag(event.pool, unescaped(tag));
    trace_->events.push_back(event);
    return true;
  }

  bool read_field(std::string_view field, TraceEvent* event, std::string_view* tag) {
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = field.substr(0, equals);
    const std::string_view value = field.substr(equals + 1);
    if (name == "granted") return read_number(value, &event->granted_bytes);
    if (name == "pool") return read_number(value, &event->pool);
    if (name == "thread") return read_number(value, &event->thread);
    if (name == "stream") return read_number(value, &event->stream);
    if (name == "stack") return read_stack(value, &event->stack);
    if (name != "tag") return false;
    *tag = value;
    return true;
  }

  bool read_stack(std::string_view value, std::uint32_t* number) {
    std::vector<std::uint64_t> addresses;
    while (!value.empty()) {
      const std::size_t end = value.find(';');
      std::uint64_t address = 0;
      if (addresses.size() == kMaxStackDepth || !read_number(value.substr(0, end), &address)) return false;
      addresses.push_back(address);
      value = end == std::string_view::npos ? std::string_view() : value.substr(end + 1);
    }
    if (addresses.empty()) return false;
    const auto [place, is_new] = stacks_.try_emplace(addresses, trace_->tables.stacks.size() + 1);
    if (is_new) trace_->tables.stacks.push_back(std::move(addresses));
    *number = place->second;
    return true;
  }

  std::uint32_t number_of_tag(std::uint32_t pool, std::string text) {
    const auto [place, is_new] = tags_.try_emplace({pool, text}, tags_.size() + 1);
    if (is_new) trace_->tables.tags.push_back({pool, place->second, std::move(text)});
    return place->second;
  }

  Trace* trace_;
  std::map<std::vector<std::uint64_t>, std::uint32_t> stacks_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> tags_;
};

}  // namespace

base::Result<Trace> parse_text_trace(std::string_view bytes) {
  Trace trace;
  TextReader reader(&trace);
  std::size_t end = bytes.find('\n');
  const std::string_view first = bytes.substr(0, end);
  const std::string_view process = first.substr(first.rfind('=') + 1);
  if (end == std::string_view::npos || !read_number(process, &trace.process)) {
    return base::Status(base::StatusCode::corrupted, "the trace ends inside its first line, or that is damaged");
  }
  for (std::uint64_t number = 2; end + 1 < bytes.size(); ++number) {
    const std::size_t begin = end + 1;
    end = bytes.find('\n', begin);
    if (end == std::string_view::npos) {
      trace.damage = "line " + std::to_string(number) + " is cut off";
      trace.unread_bytes = bytes.size() - begin;
      break;
    }
    if (!reader.read_line(bytes.substr(begin, end - begin))) {
      trace.damage = "line " + std::to_string(number) + " is no line of a trace";
      trace.unread_bytes = bytes.size() - begin;
      break;
    }
  }
  return trace;
}

}  // namespace cistern::trace
