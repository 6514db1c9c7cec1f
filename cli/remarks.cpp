#include "cli/remarks.hpp"

#include <cstdio>
#include <string>

namespace cistern::cli {
namespace {

void remark(std::string_view verb, std::string_view name, std::string_view why) {
  const std::string line = "cistern " + std::string(verb) + ": " + std::string(name) + " " + std::string(why) + "\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace

void remark_if_set(std::string_view verb, const base::OptionSet& settings,
                   std::initializer_list<std::string_view> names, std::string_view why) {
  for (const std::string_view name : names) {
    if (settings.is_set(name)) remark(verb, name, why);
  }
}

void remark_if_unrecorded(std::string_view verb, const base::OptionSet& settings) {
  for (const std::string_view name : {"CISTERN_TRACE", "CISTERN_LEAK_REPORT"}) {
    if (!settings.flag(name)) continue;
    remark(verb, name,
           "has no effect here; `cistern run`, `cistern scenario` and programs linked to libcistern are recorded");
  }
}

}  // namespace cistern::cli
