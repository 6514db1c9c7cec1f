// Numbers as trace files spell them. Each function takes the whole text or nothing, and never rounds an integer through
// a floating-point number: times in nanoseconds since 1970 do not fit one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cistern::replay {

std::optional<std::uint64_t> parse_decimal(std::string_view text) noexcept;
// "0x7f00" or "7f00"; "(nil)", as printf writes a null pointer, is 0.
std::optional<std::uint64_t> parse_pointer(std::string_view text) noexcept;
// A decimal number with or without a fraction, times `scale`, rounded to the nearest integer: ("0.5", 1024) is 512.
std::optional<std::uint64_t> parse_scaled(std::string_view text, std::uint64_t scale) noexcept;
// "HH:MM:SS.ffffff" or "HH:MM:SS:ffffff", in nanoseconds since midnight.
std::optional<std::uint64_t> parse_time_of_day(std::string_view text) noexcept;

}  // namespace cistern::replay
