// Arguments over CLI11. CLI11 splits the command line into names and values; what values mean, what errors say and how
// help looks is decided here, because each must agree with the option table. The only file that includes CLI11.
#include "cli/arguments.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/ui/wrap.hpp"

namespace cistern::cli {

namespace {

using base::OptionSpec;
using base::OptionType;
using base::Status;

// CISTERN_LIMIT_BYTES -> --limit-bytes
std::string flag_name(std::string_view option_name) {
  std::string name = "--";
  for (const char letter : option_name.substr(std::string_view("CISTERN_").size())) {
    const bool is_upper = letter >= 'A' && letter <= 'Z';
    name += letter == '_' ? '-' : static_cast<char>(is_upper ? letter - 'A' + 'a' : letter);
  }
  return name;
}

std::string value_name_of(const OptionSpec& spec) {
  if (spec.type == OptionType::choice) return std::string(spec.range);
  return base::to_upper(base::option_type_name(spec.type));
}

std::string plain_number(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

struct Arguments::Impl {
  struct Line {  // of the help text
    std::string left;
    std::string doc;
  };

  CLI::App app;
  bool wants_help = false;
  std::string usage;  // the positional's part
  std::vector<Line> positional_lines;
  std::vector<Line> lines;
  std::vector<Line> setting_lines;
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>> settings;  // option name and value, in order
  Status failure;                                             // the first value that was refused

  Impl() : app("", "") {
    app.set_help_flag();
    app.allow_extras();
    add_flag("-h,--help", &wants_help, "this text");
  }

  // "-o,--output" -> "--output"
  static std::string long_name(const std::string& name) { return name.substr(name.find("--")); }

  void add_flag(const std::string& name, bool* target, std::string_view doc) {
    app.add_flag(name, *target);
    names.push_back(long_name(name));
    lines.push_back({name, std::string(doc)});
  }

  // Every named value comes through here: read by `spec`, then given to `take` as canonical text.
  void add_value(const std::string& name, const OptionSpec& spec, std::function<void(const std::string&)> take) {
    names.push_back(long_name(name));
    app.add_option_function<std::string>(name, [this, name, spec, take = std::move(take)](const std::string& value) {
      auto read = base::read_option_value(spec, long_name(name), value);
      if (read.is_ok()) {
        take(read.value());
      } else if (failure.is_ok()) {
        failure = read.take_status();
      }
    });
  }

  void add_line(std::string_view name, const std::string& value_name, std::string_view doc, const std::string& given) {
    lines.push_back(
        {std::string(name) + " " + value_name, std::string(doc) + (given.empty() ? "" : " (default " + given + ")")});
  }

  // What nobody asked for, or an ok status.
  Status surplus() const {
    const std::vector<std::string> extras = app.remaining();
    if (extras.empty()) return {};
    const std::string word = extras.front().substr(0, extras.front().find('='));
    if (word.empty() || word[0] != '-') return base::invalid_argument("nothing is done with " + base::in_quotes(word));
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string_view meant = base::closest(word, candidates);
    return base::invalid_argument("there is no option " + base::in_quotes(word) +
                                  (meant.empty() ? "" : "; did you mean " + std::string(meant) + "?"));
  }
};

Arguments::Arguments() : impl_(std::make_unique<Impl>()) {}
Arguments::~Arguments() = default;

void Arguments::flag(std::string_view name, bool* target, std::string_view doc) {
  impl_->add_flag(std::string(name), target, doc);
}

void Arguments::number(std::string_view name, std::uint64_t* target, std::uint64_t least, std::uint64_t most,
                       std::string_view doc) {
  // The range lives as long as the argument: a spec only looks at it.
  auto range = std::make_shared<std::string>(std::to_string(least) + ".." + std::to_string(most));
  OptionSpec spec{.name = {},
                  .type = OptionType::integer,
                  .range = *range,
                  .default_value = {},
                  .doc = {},
                  .aliases = {},
                  .min_value = static_cast<double>(least),
                  .max_value = static_cast<double>(most)};
  impl_->add_value(std::string(name), spec,
                   [target, range](const std::string& value) { *target = std::strtoull(value.c_str(), nullptr, 10); });
  impl_->add_line(name, "N", doc, std::to_string(*target));
}

void Arguments::real(std::string_view name, double* target, double least, double most, std::string_view doc) {
  auto range = std::make_shared<std::string>(plain_number(least) + ".." + plain_number(most));
  OptionSpec spec{.name = {},
                  .type = OptionType::real,
                  .range = *range,
                  .default_value = {},
                  .doc = {},
                  .aliases = {},
                  .min_value = least,
                  .max_value = most};
  impl_->add_value(std::string(name), spec,
                   [target, range](const std::string& value) { *target = std::strtod(value.c_str(), nullptr); });
  impl_->add_line(name, "X", doc, plain_number(*target));
}

void Arguments::bytes(std::string_view name, std::uint64_t* target, std::string_view doc) {
  OptionSpec spec{.name = {},
                  .type = OptionType::bytes,
                  .range = "0..16EiB",
                  .default_value = {},
                  .doc = {},
                  .aliases = {},
                  .max_value = std::ldexp(1.0, 64)};
  impl_->add_value(std::string(name), spec,
                   [target](const std::string& value) { *target = std::strtoull(value.c_str(), nullptr, 10); });
  impl_->add_line(name, "BYTES", doc, base::format_bytes_exactly(*target));
}

void Arguments::choice(std::string_view name, std::string* target, std::string_view choices, std::string_view doc) {
  auto range = std::make_shared<std::string>(choices);
  OptionSpec spec{
      .name = {}, .type = OptionType::choice, .range = *range, .default_value = {}, .doc = {}, .aliases = {}};
  impl_->add_value(std::string(name), spec, [target, range](const std::string& value) { *target = value; });
  impl_->add_line(name, std::string(choices), doc, *target);
}

void Arguments::text(std::string_view name, std::string* target, std::string_view value_name, std::string_view doc) {
  OptionSpec spec{.name = {}, .type = OptionType::text, .range = "text", .default_value = {}, .doc = {}, .aliases = {}};
  impl_->add_value(std::string(name), spec, [target](const std::string& value) { *target = value; });
  impl_->add_line(name, std::string(value_name), doc, *target);
}

void Arguments::texts(std::string_view name, std::vector<std::string>* target, std::string_view value_name,
                      std::string_view doc) {
  impl_->names.push_back(std::string(name));
  CLI::Option* option = impl_->app.add_option(std::string(name), *target);
  option->take_all()->allow_extra_args(false);  // one value each time, not all that follow
  impl_->add_line(name, std::string(value_name), doc, "");
}

void Arguments::positional(std::string_view value_name, std::vector<std::string>* target, std::size_t least,
                           std::string_view doc) {
  CLI::Option* option = impl_->app.add_option(std::string(value_name), *target);
  if (least > 0) option->required()->expected(static_cast<int>(least), CLI::detail::expected_max_vector_size);
  impl_->usage = least > 0 ? std::string(value_name) + "..." : "[" + std::string(value_name) + "...]";
  impl_->positional_lines.push_back({std::string(value_name), std::string(doc)});
}

void Arguments::settings() {
  for (const OptionSpec& spec : base::OptionSet::table()) {
    const std::string name = flag_name(spec.name);
    if (std::find(impl_->names.begin(), impl_->names.end(), name) != impl_->names.end()) continue;
    impl_->add_value(name, spec,
                     [this, &spec](const std::string& value) { impl_->settings.emplace_back(spec.name, value); });
    impl_->setting_lines.push_back({name + " " + value_name_of(spec), std::string(spec.doc)});
  }
}

Status Arguments::parse(const std::vector<std::string>& words) {
  std::string why;
  try {
    impl_->app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them last to first
  } catch (const CLI::ParseError& error) {
    why = error.what();
  }
  if (impl_->wants_help) return {};
  if (Status surplus = impl_->surplus(); !surplus.is_ok()) return surplus;  // often why the rest did not fit
  if (!impl_->failure.is_ok()) return impl_->failure;
  return why.empty() ? Status() : base::invalid_argument(why);
}

bool Arguments::help_wanted() const noexcept { return impl_->wants_help; }

Status Arguments::apply_settings(base::OptionSet* set) const {
  for (const auto& [name, value] : impl_->settings) {
    if (Status status = set->set(name, value, flag_name(name)); !status.is_ok()) return status;
  }
  return {};
}

std::string Arguments::help(std::string_view verb, std::string_view summary,
                            const std::vector<Example>& examples) const {
  std::string out = "usage: cistern " + std::string(verb) + " [OPTION...]";
  if (!impl_->usage.empty()) out += " " + impl_->usage;
  out += "\n\n" + std::string(summary) + ".\n";
  const auto add_lines = [&](std::string_view title, const std::vector<Impl::Line>& lines) {
    if (lines.empty()) return;
    out += "\n" + std::string(title) + ":\n";
    for (const Impl::Line& line : lines) out += hanging_lines(line.left, line.doc);
  };
  add_lines("arguments", impl_->positional_lines);
  add_lines("options", impl_->lines);
  add_lines("settings (each is an environment variable, too; `cistern options` lists them)", impl_->setting_lines);
  if (!examples.empty()) out += "\nexamples:\n";
  for (const Example& example : examples) out += hanging_lines(example.command, example.purpose);
  return out;
}

}  // namespace cistern::cli
