// How a comparison of models (`cistern run`) is shown: one table for people, one object for programs.
#pragma once

#include <string>

#include "replay/comparison.hpp"

namespace cistern::cli {

std::string comparison_text(const replay::ComparisonReport& report);
std::string comparison_json(const replay::ComparisonReport& report);

}  // namespace cistern::cli
