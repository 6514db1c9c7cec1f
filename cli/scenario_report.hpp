// What `cistern scenario` prints: the published figures and ours, for people and for programs.
#pragma once

#include <string>

#include "replay/scenarios.hpp"

namespace cistern::cli {

std::string llama7b_text(const replay::Llama7bReport& report);
std::string llama7b_json(const replay::Llama7bReport& report);

}  // namespace cistern::cli
