// What goes to stdout, and whether it arrived: a full disk must not look like success.
#pragma once

#include <string_view>

#include "base/status.hpp"

namespace cistern::cli {

void print(std::string_view text);

// io_error where anything printed so far could not be written.
base::Status finish_output();

}  // namespace cistern::cli
