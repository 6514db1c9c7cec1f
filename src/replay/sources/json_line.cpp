#include "replay/sources/json_line.hpp"

#include <algorithm>

namespace cistern::replay {
namespace {
constexpr std::size_t kDeepest = 16;
constexpr std::size_t kMostValues = 256;
constexpr std::size_t kLongestPath = 256;
}  // namespace

bool JsonLine::parse(std::string_view line) {
  rest_ = line;
  path_.clear();
  open_.clear();
  values_.clear();
  skip_spaces();
  if (!rest_.starts_with('{') || !parse_value({}) || !parse_members()) return false;
  skip_spaces();
  return rest_.empty();
}

std::optional<std::string_view> JsonLine::find(std::string_view path) const noexcept {
  for (const auto& [name, value] : values_) {
    if (name == path) return value;
  }
  return std::nullopt;
}

// What follows an opened container, until all are closed.
bool JsonLine::parse_members() {
  bool is_first = true;
  while (!open_.empty()) {
    const bool is_array = open_.back().is_array;
    if (take(is_array ? ']' : '}')) {
      path_.resize(open_.back().path_length);
      open_.pop_back();
      is_first = false;
      continue;
    }
    if (!is_first && !take(',')) return false;
    std::string name;
    if (!is_array) {
      std::string_view text;
      if (!take_string(&text) || !take(':')) return false;
      name = text;
    }
    const std::size_t depth = open_.size();
    if (!parse_value(name)) return false;
    is_first = open_.size() > depth;
  }
  return true;
}

// A scalar, or the opening of a container.
bool JsonLine::parse_value(const std::string& name) {
  const bool is_in_array = std::any_of(open_.begin(), open_.end(), [](const Container& c) { return c.is_array; });
  const std::size_t outside = path_.size();
  if (outside + name.size() > kLongestPath) return false;
  const bool opens_array = take('[');
  if (opens_array || take('{')) {
    if (open_.size() == kDeepest) return false;
    if (!path_.empty()) path_ += '.';
    path_ += name;
    open_.push_back({opens_array, outside});
    return true;
  }
  std::string_view text;
  if (!(rest_.starts_with('"') ? take_string(&text) : take_scalar(&text))) return false;
  if (is_in_array) return true;
  if (values_.size() == kMostValues) return false;
  values_.emplace_back(path_.empty() ? name : path_ + '.' + name, text);
  return true;
}

bool JsonLine::take_string(std::string_view* text) noexcept {
  if (!take('"')) return false;
  for (std::size_t i = 0; i < rest_.size(); ++i) {
    if (rest_[i] == '\\') {
      ++i;
    } else if (rest_[i] == '"') {
      *text = rest_.substr(0, i);
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// A number, true, false or null; what exactly is for the reader to judge.
bool JsonLine::take_scalar(std::string_view* text) noexcept {
  const std::size_t length = std::min(rest_.find_first_of(" \t,]}"), rest_.size());
  if (length == 0 || rest_.find_first_of("\"{[:") < length) return false;
  *text = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return true;
}

void JsonLine::skip_spaces() noexcept { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size())); }

bool JsonLine::take(char expected) noexcept {
  skip_spaces();
  if (!rest_.starts_with(expected)) return false;
  rest_.remove_prefix(1);
  return true;
}

}  // namespace cistern::replay
