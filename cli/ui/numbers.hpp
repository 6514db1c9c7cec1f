// Numbers as the reports of several verbs write them.
#pragma once

#include <cstdint>
#include <string>

namespace cistern::cli {

// 1.005, 3 -> "1.005"
std::string fixed(double value, int digits);
// 255 -> "0xff"
std::string hexadecimal(std::uint64_t value);

}  // namespace cistern::cli
