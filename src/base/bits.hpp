// Rounding and powers of two, for byte sizes up to 2^64-1. Nothing here divides.
#pragma once

#include <cstdint>

namespace cistern::base {

// Not std::has_single_bit: without a popcount instruction that is a call, and every allocation asks.
constexpr bool is_power_of_two(std::uint64_t value) noexcept { return value != 0 && (value & (value - 1)) == 0; }

// `alignment` is a power of two. Wraps for values above 2^64 - alignment: check sizes before.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) noexcept {
  return (value + alignment - 1) & ~(alignment - 1);
}

constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t alignment) noexcept {
  return value & ~(alignment - 1);
}

constexpr bool is_aligned(std::uint64_t value, std::uint64_t alignment) noexcept {
  return (value & (alignment - 1)) == 0;
}

}  // namespace cistern::base
