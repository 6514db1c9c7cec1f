// Verb: one word of the command line (`cistern options`), one class in one file.
//
// How to add one: derive from Verb in cli/<verb>.cpp, keep what the command line sets as members, bind them in
// declare(), do the work in run(), and list its make function in verbs.hpp and verbs.cpp. Only arguments.cpp knows
// CLI11.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "cli/arguments.hpp"

namespace cistern::cli {

// What a script can tell apart. Documented in the help text; do not renumber.
enum class ExitCode : int {
  ok = 0,
  finding = 1,  // the verb did its work and found something: leaks, outputs that differ
  usage = 2,    // the command line or the environment is wrong
  input = 3,    // a file, model or device could not be used
};

class Verb {
 public:
  virtual ~Verb() = default;
  Verb() = default;
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;

  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;  // one line, no full stop
  // Command lines with what they are for, as {"cistern options --json", "the table for programs"}.
  virtual std::vector<Example> examples() const = 0;
  // Binds members to arguments; the members hold the defaults.
  virtual void declare(Arguments* arguments) = 0;
  // `settings`: environment, then command line. Results go to stdout, remarks to stderr. A failure is printed as one
  // line by main; invalid_argument exits with `usage`, all others with `input`.
  virtual base::Result<ExitCode> run(const base::OptionSet& settings) = 0;
};

}  // namespace cistern::cli
