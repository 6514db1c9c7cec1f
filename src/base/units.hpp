// Byte counts as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cistern::base {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;
inline constexpr std::uint64_t kTiB = 1024 * kGiB;

// "8589934592", "8GiB", "8G", "512 MiB", "1.5g", "64k": powers of 1024, the case of the unit does not matter.
// Errors name the text and show an example.
Result<std::uint64_t> parse_bytes(std::string_view text);

// Three significant digits with a binary unit: "512 B", "1.46 MiB", "13.7 GiB".
std::string format_bytes(std::uint64_t bytes);

// In the largest unit that needs no fraction: "1GiB", "1536MiB", "513". Reads back as the same number.
std::string format_bytes_exactly(std::uint64_t bytes);

// Three significant digits: "840 ns", "12.6 us", "1.25 ms", "3.4 s".
std::string format_nanoseconds(double nanoseconds);

}  // namespace cistern::base
