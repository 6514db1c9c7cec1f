// The capacity of verbs that replay traces, as users give it: bytes, a multiple of each trace's peak, or none.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.hpp"

namespace cistern::cli {

// "512MiB", "1.10x" or "none". Sets at most one of the two, which are 0 before.
base::Status parse_capacity(std::string_view text, std::uint64_t* bytes, double* over_peak);

}  // namespace cistern::cli
