// Remarks on settings that a verb has no use for: nothing that was asked for is ignored in silence.
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/options.hpp"

namespace cistern::cli {

// On stderr, a line for each of `names` that is set: "cistern VERB: NAME WHY".
void remark_if_set(std::string_view verb, const base::OptionSet& settings,
                   std::initializer_list<std::string_view> names, std::string_view why);

// Pools of some verbs are not recorded: they replay a trace.
void remark_if_unrecorded(std::string_view verb, const base::OptionSet& settings);

}  // namespace cistern::cli
