// Pools of some verbs are not recorded: they replay a trace. Who asked for one all the same is told, because nothing
// that was asked for is ignored in silence.
#pragma once

#include <string_view>

#include "base/options.hpp"

namespace cistern::cli {

void remark_if_unrecorded(std::string_view verb, const base::OptionSet& settings);

}  // namespace cistern::cli
