// JsonLine: one line of JSON as a flat list of its scalars, named by their paths: {"a": {"b": 7}} has "a.b" = 7.
//
// Enough for logs of one object a line. Elements of arrays are checked and left out. Nesting and the number of values
// are bounded; the scanner does not recurse.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cistern::replay {

class JsonLine {
 public:
  // False if the line is no object, or nested or long beyond reason. The line must outlive the values.
  bool parse(std::string_view line);
  // The text of a number, or what stands between a string's quotes (escapes as written); the first one of its path.
  std::optional<std::string_view> find(std::string_view path) const noexcept;

 private:
  bool parse_members();
  bool parse_value(const std::string& name);
  bool take_string(std::string_view* text) noexcept;
  bool take_scalar(std::string_view* text) noexcept;
  void skip_spaces() noexcept;
  bool take(char expected) noexcept;

  struct Container {
    bool is_array;
    std::size_t path_length;  // of the path outside it
  };

  std::string_view rest_;
  std::string path_;
  std::vector<Container> open_;
  std::vector<std::pair<std::string, std::string_view>> values_;
};

}  // namespace cistern::replay
