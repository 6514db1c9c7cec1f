#include "cli/unrecorded.hpp"

#include <cstdio>
#include <string>

namespace cistern::cli {

void remark_if_unrecorded(std::string_view verb, const base::OptionSet& settings) {
  for (const std::string_view name : {"CISTERN_TRACE", "CISTERN_LEAK_REPORT"}) {
    if (!settings.flag(name)) continue;
    const std::string line = "cistern " + std::string(verb) + ": " + std::string(name) +
                             " has no effect here; `cistern run`, `cistern scenario` and programs linked to "
                             "libcistern are recorded\n";
    std::fputs(line.c_str(), stderr);
  }
}

}  // namespace cistern::cli
