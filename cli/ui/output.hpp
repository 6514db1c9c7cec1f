// What goes to stdout, and whether it arrived: a full disk must not look like success.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace cistern::cli {

void print(std::string_view text);

// io_error where anything printed so far could not be written.
base::Status finish_output();

// The file appears whole, in the place of one of that name, or not at all. io_error names it, and what it was to be:
// "the plan".
base::Status write_file(const std::string& path, std::string_view what, std::string_view contents);

}  // namespace cistern::cli
