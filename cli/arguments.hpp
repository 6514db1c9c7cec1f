// Arguments: what one verb takes on the command line: each argument is bound to a variable that holds its default.
//
// Values are read and refused as in the option table (base/options.hpp), so that `--limit-bytes 1.5g` and
// CISTERN_LIMIT_BYTES=1.5g have one meaning and one error text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "base/status.hpp"

namespace cistern::cli {

struct Example {
  std::string_view command;
  std::string_view purpose;
};

class Arguments {
 public:
  Arguments();
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // --- For verbs. Names are written as users type them ("--json"); targets must outlive parse().
  // ----------------------
  void flag(std::string_view name, bool* target, std::string_view doc);
  void number(std::string_view name, std::uint64_t* target, std::uint64_t least, std::uint64_t most,
              std::string_view doc);
  void real(std::string_view name, double* target, double least, double most, std::string_view doc);
  void bytes(std::string_view name, std::uint64_t* target, std::string_view doc);
  // `choices` separated by '|'; any case is taken, *target is spelled as in `choices`.
  void choice(std::string_view name, std::string* target, std::string_view choices, std::string_view doc);
  // `value_name` stands for the value in the help text: "FILE".
  void text(std::string_view name, std::string* target, std::string_view value_name, std::string_view doc);
  // May be given several times; every value is kept, in order.
  void texts(std::string_view name, std::vector<std::string>* target, std::string_view value_name,
             std::string_view doc);
  // What has no name in front of it: all of it, at least `least`.
  void positional(std::string_view value_name, std::vector<std::string>* target, std::size_t least,
                  std::string_view doc);
  // Every option of the option table as --name: CISTERN_LIMIT_BYTES is --limit-bytes. For verbs that make pools.
  // Call it last: a name that the verb has declared itself stays the verb's own.
  void settings();

  // --- For main
  // ------------------------------------------------------------------------------------------------------- Reads what
  // follows the verb. After a failure, targets may have changed.
  base::Status parse(const std::vector<std::string>& words);
  bool help_wanted() const noexcept;
  // Writes the settings of the command line over those that `set` has.
  base::Status apply_settings(base::OptionSet* set) const;
  std::string help(std::string_view verb, std::string_view summary, const std::vector<Example>& examples) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cistern::cli
