// The one option table: every option that a user can set, with its type, range, default, text and aliases.
//
// Parsing of the environment, `cistern options`, the reference page and the man page all read this table, so none of
// them can disagree. Names are the environment's (CISTERN_POLICY); aliases are the names that the articles use
// (ASCEND_MEMPOOL_POLICY) and have the same meaning. Other ASCEND_* names belong to CANN and are not read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cistern::base {

enum class OptionType : std::uint8_t { flag, bytes, integer, real, choice, text };

// "flag", "bytes", ... as reference and JSON spell it.
std::string_view option_type_name(OptionType type) noexcept;

struct OptionSpec {
  std::string_view name;  // "CISTERN_POLICY"
  OptionType type = OptionType::text;
  std::string_view range;          // for people and, for choice, the values separated by '|': "BEST_FIT|FIRST_FIT"
  std::string_view default_value;  // as a user would write it; empty: none
  std::string_view doc;            // one or two sentences
  std::vector<std::string_view> aliases;
  double min_value = 0;  // bytes, integer and real: inclusive bounds
  double max_value = 0;
  bool zero_is_allowed = false;    // 0 has its own meaning, outside the bounds
  bool only_power_of_two = false;  // bytes
};

// The canonical text of `value` as an option like `spec`: ON or OFF for a flag, plain digits for bytes and integer,
// upper case for choice. Errors name `name` (what the user called the option), the value and the valid range.
Result<std::string> read_option_value(const OptionSpec& spec, std::string_view name, std::string_view value);

class OptionSet {
 public:
  static const std::vector<OptionSpec>& table();
  // By name or alias; null where the table has no such option.
  static const OptionSpec* find(std::string_view name_or_alias);

  // Defaults only.
  OptionSet() = default;
  // Reads CISTERN_* and the aliases of `environment` ("NAME=value" strings, null-terminated array, as environ; of a
  // name that is there twice, the first, as getenv does). An unknown CISTERN_* name, a malformed value, or a name and
  // its alias with different values is an error that names variable, value and valid range.
  static Result<OptionSet> from_environment(const char* const* environment);
  // Sets one option by name or alias, replacing what was set before; `origin` appears in error texts and origin(), e.g.
  // "environment" or "--policy".
  Status set(std::string_view name, std::string_view value, std::string_view origin);

  bool is_set(std::string_view name) const;
  // Where the value in force came from: "default", "environment: ASCEND_MEMPOOL_POLICY", "--policy".
  std::string origin(std::string_view name) const;
  // The value in force, set or default, as canonical text; empty: none.
  std::string value_text(std::string_view name) const;
  // The value in force, set or default. The name must be in the table and of that type.
  bool flag(std::string_view name) const;
  std::uint64_t bytes(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  std::string text(std::string_view name) const;  // choice (as the range spells it) and text

 private:
  struct Setting {
    std::string value;  // canonical
    std::string origin;
  };
  std::string typed_value(std::string_view name, OptionType type) const;

  std::map<std::string, Setting, std::less<>> settings_;  // by name, never by alias
};

}  // namespace cistern::base
