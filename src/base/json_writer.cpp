// Writing JSON from front to back: a stack remembers, for every open object or array, whether a comma is due and
// whether a key waits for its value. That is all the state there is.
#include "base/json_writer.hpp"

#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/utf8.hpp"

namespace cistern::base {

namespace {

// What stands for `byte` inside a JSON string; empty: the byte itself.
std::string_view escape_of(char byte) noexcept {
  switch (byte) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return {};
  }
}

template <typename Number>
void append_number(std::string* out, Number number) {
  std::array<char, 32> buffer{};  // the longest double, -1.7976931348623157e+308, has 24 characters
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  assert(end.ec == std::errc());
  out->append(buffer.data(), end.ptr);
}

}  // namespace

JsonWriter::JsonWriter(std::string* out, Style style) : out_(out), style_(style) {}

JsonWriter& JsonWriter::begin_object() {
  begin(true, '{');
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  end(true, '}');
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  begin(false, '[');
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  end(false, ']');
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  assert(!open_.empty() && open_.back().is_object && "a key belongs into an object");
  assert(!open_.back().has_key && "the key before this one has no value yet");
  separate(&open_.back());
  append_string(name);
  *out_ += style_ == Style::pretty ? ": " : ":";
  open_.back().has_key = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_string(text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  before_value();
  append_number(out_, number);
  return *this;
}

JsonWriter& JsonWriter::null() {
  before_value();
  *out_ += "null";
  return *this;
}

JsonWriter& JsonWriter::write_bool(bool flag) {
  before_value();
  *out_ += flag ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::write_signed(std::int64_t number) {
  before_value();
  append_number(out_, number);
  return *this;
}

JsonWriter& JsonWriter::write_unsigned(std::uint64_t number) {
  before_value();
  append_number(out_, number);
  return *this;
}

void JsonWriter::before_value() {
  if (open_.empty()) {
    assert(!has_root_ && "a document has one root");
    has_root_ = true;
    return;
  }
  Level& level = open_.back();
  assert(level.is_object == level.has_key && "a value in an object needs a key");
  if (!level.is_object) separate(&level);
  level.has_key = false;
}

void JsonWriter::begin(bool is_object, char bracket) {
  before_value();
  *out_ += bracket;
  open_.push_back(Level{.is_object = is_object});
}

void JsonWriter::end([[maybe_unused]] bool is_object, char bracket) {
  assert(!open_.empty() && open_.back().is_object == is_object && "closed what is not open");
  assert(!open_.back().has_key && "the last key has no value");
  const bool had_entries = open_.back().has_entries;
  open_.pop_back();
  if (had_entries) break_line();
  *out_ += bracket;
}

void JsonWriter::separate(Level* level) {
  if (level->has_entries) *out_ += ',';
  level->has_entries = true;
  break_line();
}

void JsonWriter::break_line() {
  if (style_ != Style::pretty) return;
  *out_ += '\n';
  out_->append(2 * open_.size(), ' ');
}

void JsonWriter::append_string(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  *out_ += '"';
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const std::string_view escape = escape_of(text[0]);
    if (!character.is_valid) {
      *out_ += "\xef\xbf\xbd";
    } else if (!escape.empty()) {
      *out_ += escape;
    } else if (character.code < 0x20) {
      *out_ += "\\u00";
      *out_ += {kHex[character.code >> 4], kHex[character.code & 15]};
    } else {
      *out_ += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  *out_ += '"';
}

}  // namespace cistern::base
