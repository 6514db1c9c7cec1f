// `cistern options`: the option table with the values in force here and now, for people, programs and the reference
// page.
#include "base/options.hpp"

#include <string>

#include "base/json_writer.hpp"
#include "base/units.hpp"
#include "cli/ui/output.hpp"
#include "cli/ui/wrap.hpp"
#include "cli/verbs.hpp"
#include "pool/profiles.hpp"
#include "report/table.hpp"

namespace cistern::cli {

namespace {

using base::OptionSet;
using base::OptionSpec;
using base::OptionType;
using report::Table;

constexpr std::string_view kPageBefore =
    "# Options\n\n"
    "<!-- Made by `cistern options --markdown`; a test compares the two. -->\n\n"
    "Each option is an environment variable and, for commands that make pools, an argument: `CISTERN_LIMIT_BYTES` is\n"
    "`--limit-bytes`. Arguments win over the environment. Choices are read in any case; bytes as `8589934592`, "
    "`8GiB`,\n"
    "`512M` or `1.5g`, in powers of 1024. An unknown `CISTERN_*` name, a malformed value, and an option and its alias "
    "with\ndifferent values are errors that name variable, value and range.\n\n"
    "Aliases have the same meaning as the option. Other `ASCEND_*` names belong to CANN and are not read.\n\n";

std::string aliases_of(const OptionSpec& spec) {
  std::string text;
  for (const std::string_view alias : spec.aliases) text += (text.empty() ? "" : ", ") + std::string(alias);
  return text;
}

std::string value_for_people(const OptionSet& settings, const OptionSpec& spec) {
  if (spec.type == OptionType::bytes) return base::format_bytes_exactly(settings.bytes(spec.name));
  return settings.value_text(spec.name);
}

std::string as_text(const OptionSet& settings) {
  Table table({{"name"}, {"type"}, {"range"}, {"default"}, {"in force"}, {"from"}});
  std::string docs;
  for (const OptionSpec& spec : OptionSet::table()) {
    table.add_row({std::string(spec.name), std::string(base::option_type_name(spec.type)), std::string(spec.range),
                   std::string(spec.default_value), value_for_people(settings, spec), settings.origin(spec.name)});
    docs += "\n" + std::string(spec.name) + "\n" + wrapped(spec.doc, 2);
    if (!spec.aliases.empty()) docs += wrapped("Alias: " + aliases_of(spec) + ".", 2);
  }
  return table.text() + docs;
}

std::string as_json(const OptionSet& settings) {
  std::string out;
  base::JsonWriter json(&out, base::JsonWriter::Style::pretty);
  json.begin_object().key("options").begin_array();
  for (const OptionSpec& spec : OptionSet::table()) {
    json.begin_object().member("name", spec.name).member("type", base::option_type_name(spec.type));
    json.member("range", spec.range).member("default", spec.default_value);
    json.member("value", settings.value_text(spec.name)).member("origin", settings.origin(spec.name));
    json.key("aliases").begin_array();
    for (const std::string_view alias : spec.aliases) json.value(alias);
    json.end_array().member("doc", spec.doc).end_object();
  }
  json.end_array().end_object();
  return out + "\n";
}

std::string as_markdown() {
  Table table({{"Option"}, {"Type"}, {"Range"}, {"Default"}, {"Meaning"}, {"Alias"}});
  for (const OptionSpec& spec : OptionSet::table()) {
    table.add_row({"`" + std::string(spec.name) + "`", std::string(base::option_type_name(spec.type)),
                   std::string(spec.range), std::string(spec.default_value), std::string(spec.doc),
                   spec.aliases.empty() ? "" : "`" + aliases_of(spec) + "`"});
  }
  return std::string(kPageBefore) + table.markdown();
}

class OptionsVerb final : public Verb {
 public:
  std::string_view name() const override { return "options"; }
  std::string_view summary() const override { return "List every option with its range and the value in force"; }
  std::vector<Example> examples() const override {
    return {{"cistern options", "the table, with the values of this environment"},
            {"cistern options --json", "the same for programs"},
            {"cistern options --markdown > docs/reference/options.md", "the reference page"}};
  }
  void declare(Arguments* arguments) override {
    arguments->flag("--json", &json_, "as JSON");
    arguments->flag("--markdown", &markdown_, "as the reference page, without values in force");
    arguments->settings();
  }
  base::Result<ExitCode> run(const OptionSet& given) override {
    if (json_ && markdown_) return base::invalid_argument("--json and --markdown exclude each other");
    const OptionSet settings = pool::with_profile(given);
    print(json_ ? as_json(settings) : markdown_ ? as_markdown() : as_text(settings));
    return ExitCode::ok;
  }

 private:
  bool json_ = false;
  bool markdown_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_options_verb() { return std::make_unique<OptionsVerb>(); }

}  // namespace cistern::cli
