// Numbers as error texts of devices show them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace cistern::device {

inline std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// Exact: a person compares these with limits and other texts.
inline std::string in_bytes(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

// "[0x1000, 0x3000)"
inline std::string range_text(std::uint64_t base, std::uint64_t bytes) {
  return "[" + hex(base) + ", " + hex(base + bytes) + ")";
}

}  // namespace cistern::device
