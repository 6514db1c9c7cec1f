// Reading options: a value is checked against its row of the table and kept as canonical text, so that two spellings of
// one value ("1GiB", "1073741824") are equal and every reader can trust what it finds.
#include "base/options.hpp"

#include <array>
#include <cassert>
#include <charconv>
#include <optional>

#include "base/bits.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace cistern::base {

namespace {

constexpr std::string_view kPrefix = "CISTERN_";
constexpr std::string_view kEnvironment = "environment";

Status bad_value(const OptionSpec& spec, std::string_view name, std::string_view value, std::string_view why) {
  std::string text = std::string(name) + " is " + in_quotes(value);
  if (!why.empty()) text += ", " + std::string(why);
  return invalid_argument(text + "; valid: " + std::string(spec.range));
}

bool is_in_bounds(const OptionSpec& spec, double value) noexcept {
  if (spec.zero_is_allowed && value == 0) return true;
  return value >= spec.min_value && value <= spec.max_value;  // false for NaN
}

template <typename Number>
std::optional<Number> number_from(std::string_view text) {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string shortest_text(double number) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), end.ptr};
}

Result<std::string> read_flag(const OptionSpec& spec, std::string_view name, std::string_view value) {
  const std::string upper = to_upper(trim(value));
  for (const std::string_view yes : {"ON", "1", "TRUE", "YES"}) {
    if (upper == yes) return std::string("ON");
  }
  for (const std::string_view no : {"OFF", "0", "FALSE", "NO"}) {
    if (upper == no) return std::string("OFF");
  }
  return bad_value(spec, name, value, "neither ON nor OFF");
}

Result<std::string> read_bytes(const OptionSpec& spec, std::string_view name, std::string_view value) {
  const auto bytes = parse_bytes(value);
  if (!bytes.is_ok()) {
    return invalid_argument(std::string(name) + ": " + std::string(bytes.status().text()) +
                            "; valid: " + std::string(spec.range));
  }
  if (!is_in_bounds(spec, static_cast<double>(bytes.value()))) return bad_value(spec, name, value, "out of range");
  if (spec.only_power_of_two && !is_power_of_two(bytes.value())) {
    return bad_value(spec, name, value, "no power of two");
  }
  return std::to_string(bytes.value());
}

Result<std::string> read_integer(const OptionSpec& spec, std::string_view name, std::string_view value) {
  const auto number = number_from<std::int64_t>(trim(value));
  if (!number) return bad_value(spec, name, value, "no whole number");
  if (!is_in_bounds(spec, static_cast<double>(*number))) return bad_value(spec, name, value, "out of range");
  return std::to_string(*number);
}

Result<std::string> read_real(const OptionSpec& spec, std::string_view name, std::string_view value) {
  const auto number = number_from<double>(trim(value));
  if (!number) return bad_value(spec, name, value, "no number");
  if (!is_in_bounds(spec, *number)) return bad_value(spec, name, value, "out of range");
  return shortest_text(*number);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<std::string> read_choice(const OptionSpec& spec, std::string_view name, std::string_view value) {
  const std::string upper = to_upper(trim(value));
  const std::vector<std::string_view> choices = split(spec.range, '|');
  for (const std::string_view choice : choices) {
    if (upper == to_upper(choice)) return std::string(choice);
  }
  const std::string_view meant = closest(upper, choices);
  return bad_value(spec, name, value, meant.empty() ? "" : "did you mean " + std::string(meant) + "?");
}

Status unknown_name(std::string_view name) {
  std::vector<std::string_view> names;
  for (const OptionSpec& spec : OptionSet::table()) names.push_back(spec.name);
  const std::string_view meant = closest(name, names);
  std::string text = "there is no option " + in_quotes(name);
  if (!meant.empty()) text += "; did you mean " + std::string(meant) + "?";
  return invalid_argument(text + (meant.empty() ? "; " : " ") + "`cistern options` lists all");
}

// The value of `name` in an environment, as getenv() would find it; null data: not there.
std::string_view find_variable(const char* const* environment, std::string_view name) {
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.size() > name.size() && text.substr(0, name.size()) == name && text[name.size()] == '=') {
      return text.substr(name.size() + 1);
    }
  }
  return {};
}

Status check_names(const char* const* environment) {
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.substr(0, kPrefix.size()) != kPrefix) continue;
    const std::string_view name = text.substr(0, text.find('='));
    const OptionSpec* spec = OptionSet::find(name);
    if (spec == nullptr) return unknown_name(name).with_context(kEnvironment);
  }
  return {};
}

}  // namespace

std::string_view option_type_name(OptionType type) noexcept {
  switch (type) {
    case OptionType::flag:
      return "flag";
    case OptionType::bytes:
      return "bytes";
    case OptionType::integer:
      return "integer";
    case OptionType::real:
      return "real";
    case OptionType::choice:
      return "choice";
    case OptionType::text:
      break;
  }
  return "text";
}

Result<std::string> read_option_value(const OptionSpec& spec, std::string_view name, std::string_view value) {
  if (trim(value).empty()) return bad_value(spec, name, value, "empty: unset it to have the default");
  switch (spec.type) {
    case OptionType::flag:
      return read_flag(spec, name, value);
    case OptionType::bytes:
      return read_bytes(spec, name, value);
    case OptionType::integer:
      return read_integer(spec, name, value);
    case OptionType::real:
      return read_real(spec, name, value);
    case OptionType::choice:
      return read_choice(spec, name, value);
    case OptionType::text:
      break;
  }
  return std::string(value);
}

const OptionSpec* OptionSet::find(std::string_view name_or_alias) {
  for (const OptionSpec& spec : table()) {
    if (spec.name == name_or_alias) return &spec;
    for (const std::string_view alias : spec.aliases) {
      if (alias == name_or_alias) return &spec;
    }
  }
  return nullptr;
}

Result<OptionSet> OptionSet::from_environment(const char* const* environment) {
  OptionSet set;
  if (environment == nullptr) return set;
  if (Status status = check_names(environment); !status.is_ok()) return status;
  for (const OptionSpec& spec : table()) {
    std::vector<std::string_view> names = {spec.name};
    names.insert(names.end(), spec.aliases.begin(), spec.aliases.end());
    std::string_view first_name;
    for (const std::string_view name : names) {
      const std::string_view value = find_variable(environment, name);
      if (value.data() == nullptr) continue;
      auto read = read_option_value(spec, name, value);
      if (!read.is_ok()) return read.status().with_context(kEnvironment);
      if (!first_name.empty() && set.value_text(spec.name) != read.value()) {
        return invalid_argument("environment: " + std::string(first_name) + " and " + std::string(name) +
                                " are one option but have different values, " +
                                in_quotes(find_variable(environment, first_name)) + " and " + in_quotes(value) +
                                "; unset one; valid: " + std::string(spec.range));
      }
      if (!first_name.empty()) continue;
      first_name = name;
      set.settings_[std::string(spec.name)] = {read.take(), std::string(kEnvironment) + ": " + std::string(name)};
    }
  }
  return set;
}

Status OptionSet::set(std::string_view name, std::string_view value, std::string_view origin) {
  const OptionSpec* spec = find(name);
  if (spec == nullptr) return unknown_name(name).with_context(origin);
  auto read = read_option_value(*spec, name, value);
  if (!read.is_ok()) return read.status().with_context(origin);
  settings_[std::string(spec->name)] = {read.take(), std::string(origin)};
  return {};
}

bool OptionSet::is_set(std::string_view name) const {
  const OptionSpec* spec = find(name);
  return spec != nullptr && settings_.find(spec->name) != settings_.end();
}

std::string OptionSet::origin(std::string_view name) const {
  const OptionSpec* spec = find(name);
  assert(spec != nullptr && "no such option");
  if (spec == nullptr) return {};
  const auto found = settings_.find(spec->name);
  return found == settings_.end() ? "default" : found->second.origin;
}

std::string OptionSet::value_text(std::string_view name) const {
  const OptionSpec* spec = find(name);
  assert(spec != nullptr && "no such option");
  if (spec == nullptr) return {};
  const auto found = settings_.find(spec->name);
  if (found != settings_.end()) return found->second.value;
  if (spec->default_value.empty()) return {};
  auto read = read_option_value(*spec, spec->name, spec->default_value);
  assert(read.is_ok() && "the table's default is not in its own range");
  return read.is_ok() ? read.take() : std::string();
}

std::string OptionSet::typed_value(std::string_view name, OptionType type) const {
  assert(find(name) != nullptr && find(name)->type == type && "an option is read as another type than its own");
  static_cast<void>(type);
  return value_text(name);
}

bool OptionSet::flag(std::string_view name) const { return typed_value(name, OptionType::flag) == "ON"; }

std::uint64_t OptionSet::bytes(std::string_view name) const {
  return number_from<std::uint64_t>(typed_value(name, OptionType::bytes)).value_or(0);
}

std::int64_t OptionSet::integer(std::string_view name) const {
  return number_from<std::int64_t>(typed_value(name, OptionType::integer)).value_or(0);
}

double OptionSet::real(std::string_view name) const {
  return number_from<double>(typed_value(name, OptionType::real)).value_or(0);
}

std::string OptionSet::text(std::string_view name) const {
  assert(find(name) != nullptr && (find(name)->type == OptionType::choice || find(name)->type == OptionType::text));
  return value_text(name);
}

}  // namespace cistern::base
