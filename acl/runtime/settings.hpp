// Settings: what the environment says about the simulated NPUs, read when the program calls aclInit().
#pragma once

#include <cstdint>
#include <string_view>

#include "base/log.hpp"
#include "base/result.hpp"

namespace cistern::acl {

enum class Latency : std::uint8_t { none, counted, waited };

struct Settings {
  std::uint32_t devices = 1;
  std::uint64_t capacity_bytes = std::uint64_t{32} << 30;
  Latency latency = Latency::counted;
  // Device memory traps when the host touches it, and host memory is refused where device memory is needed.
  bool strict = false;

  static base::Result<Settings> from_environment();
};

// Into the log of libcistern.so, which has one level and one sink for the whole process.
void log(base::LogLevel level, std::string_view text) noexcept;

}  // namespace cistern::acl
