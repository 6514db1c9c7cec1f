// cistern: the command line tool. Finds the verb, reads environment and arguments, runs the verb, and turns every
// failure into one line on stderr and an exit code that scripts can rely on.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/text.hpp"
#include "cli/ui/output.hpp"
#include "cli/ui/wrap.hpp"
#include "cli/verbs.hpp"

namespace cistern::cli {

namespace {

using Verbs = std::vector<std::unique_ptr<Verb>>;

std::string general_help(const Verbs& verbs) {
  std::string out = "usage: cistern VERB [OPTION...]\n\nA device-memory pool for inference runtimes.\n\nverbs:\n";
  for (const auto& verb : verbs) out += hanging_lines(verb->name(), verb->summary());
  out += hanging_lines("help [VERB]", "This text, or that of a verb (also VERB --help)");
  out += "\noptions:\n" + hanging_lines("--version", "The version") + hanging_lines("-h, --help", "This text");
  out +=
      "\nexit codes: 0 ok; 1 something was found (leaks, outputs that differ); 2 the command line or environment\n"
      "is wrong; 3 a file, model or device could not be used.\n\nexamples:\n";
  for (const auto& verb : verbs) {
    for (const Example& example : verb->examples()) out += hanging_lines(example.command, example.purpose);
  }
  return out;
}

ExitCode complain(std::string_view who, const base::Status& status) {
  std::string line = "cistern" + std::string(who.empty() ? "" : " ") + std::string(who) + ": ";
  line += std::string(status.text()) + "\n";
  std::fputs(line.c_str(), stderr);
  return status.code() == base::StatusCode::invalid_argument ? ExitCode::usage : ExitCode::input;
}

ExitCode unknown_verb(const Verbs& verbs, const std::string& word) {
  const bool is_option = word[0] == '-';
  std::vector<std::string_view> names = {"help", "--help", "--version"};
  for (const auto& verb : verbs) names.push_back(verb->name());
  const std::string_view meant = base::closest(word, names);
  std::string text = (is_option ? "there is no option " : "there is no verb ") + base::in_quotes(word);
  text += meant.empty() ? "; " : "; did you mean " + std::string(meant) + "? ";
  return complain("", base::invalid_argument(text + "`cistern help` lists all"));
}

ExitCode run_verb(Verb* verb, const std::vector<std::string>& words) {
  Arguments arguments;
  verb->declare(&arguments);
  if (base::Status status = arguments.parse(words); !status.is_ok()) return complain(verb->name(), status);
  if (arguments.help_wanted()) {
    print(arguments.help(verb->name(), verb->summary(), verb->examples()));
    return ExitCode::ok;
  }
  auto settings = base::OptionSet::from_environment(environ);
  if (!settings.is_ok()) return complain(verb->name(), settings.status());
  if (base::Status status = arguments.apply_settings(&settings.value()); !status.is_ok()) {
    return complain(verb->name(), status);
  }
  base::set_log_level(static_cast<base::LogLevel>(settings.value().integer("CISTERN_LOG_LEVEL")));
  const auto done = verb->run(settings.value());
  return done.is_ok() ? done.value() : complain(verb->name(), done.status());
}

ExitCode run_command(std::vector<std::string> words) {
  const Verbs verbs = all_verbs();
  if (words.empty() || words[0] == "-h" || words[0] == "--help") words = {"help"};
  if (words[0] == "--version") {
    print("cistern " CISTERN_VERSION "\n");
    return ExitCode::ok;
  }
  if (words[0] == "help") {
    if (words.size() == 1) {
      print(general_help(verbs));
      return ExitCode::ok;
    }
    words = {words[1], "--help"};
  }
  for (const auto& verb : verbs) {
    if (verb->name() == words[0]) return run_verb(verb.get(), {words.begin() + 1, words.end()});
  }
  return unknown_verb(verbs, words[0]);
}

}  // namespace

}  // namespace cistern::cli

int main(int argc, char** argv) {
  using namespace cistern;
  try {
    const cli::ExitCode code = cli::run_command({argv + 1, argv + argc});
    const base::Status output = cli::finish_output();
    return static_cast<int>(output.is_ok() ? code : cli::complain("", output));
  } catch (const std::exception& error) {  // out of host memory, at most
    return static_cast<int>(cli::complain("", base::internal_error(error.what())));
  }
}
