// JsonWriter: writes JSON from front to back, without building a tree first.
//
// Text goes to the end of a string that the caller owns and may empty between calls, so documents of any length need
// little memory. The result is always valid JSON: strings are escaped, bytes that are no UTF-8 become U+FFFD, doubles
// are the shortest text that reads back as the same double, and NaN and infinities, which JSON lacks, become null.
// A wrong order of calls (a value without a key, an array closed as an object) is a bug of the caller and asserted.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cistern::base {

class JsonWriter {
 public:
  enum class Style : std::uint8_t {
    compact,  // no white space at all
    pretty,   // a line for every member and element, two spaces a level
  };

  explicit JsonWriter(std::string* out, Style style = Style::compact);

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  // Inside an object, before each value.
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);
  JsonWriter& null();
  template <std::same_as<bool> Flag>  // exactly bool: a pointer must not turn into `true`
  JsonWriter& value(Flag flag) {
    return write_bool(flag);
  }
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool> && !std::same_as<Integer, char>) JsonWriter& value(Integer number) {
    if constexpr (std::signed_integral<Integer>) {
      return write_signed(number);
    } else {
      return write_unsigned(number);
    }
  }

  template <typename Value>
  JsonWriter& member(std::string_view name, const Value& member_value) {
    key(name);
    return value(member_value);
  }

  // One whole document has been written and everything is closed.
  bool is_complete() const noexcept { return has_root_ && open_.empty(); }

 private:
  struct Level {
    bool is_object = false;
    bool has_entries = false;
    bool has_key = false;  // the key of the next value is written
  };

  void before_value();
  void begin(bool is_object, char bracket);
  void end(bool is_object, char bracket);
  void separate(Level* level);
  void break_line();
  void append_string(std::string_view text);
  JsonWriter& write_bool(bool flag);
  JsonWriter& write_signed(std::int64_t number);
  JsonWriter& write_unsigned(std::uint64_t number);

  std::string* out_;
  Style style_;
  bool has_root_ = false;
  std::vector<Level> open_;
};

}  // namespace cistern::base
