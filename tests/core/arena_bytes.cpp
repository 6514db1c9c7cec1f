// Histories of an arena spelled in bytes, for fuzzers and their findings.
#include "core/arena_driver.hpp"

namespace cistern::core::testing {

std::string run_bytes(const std::uint8_t* data, std::size_t size) {
  const auto pair_at = [data](std::size_t at) { return static_cast<std::uint16_t>(data[at] | data[at + 1] << 8); };
  if (size < 2) return {};
  ArenaDriver driver(pair_at(0));
  for (std::size_t at = 2; at + 6 <= size; at += 6) {
    const Step step{data[at], data[at + 1], pair_at(at + 2), pair_at(at + 4)};
    std::string problem = driver.run(step);
    if (!problem.empty()) return "step " + std::to_string(at / 6) + ": " + problem;
  }
  return {};
}

}  // namespace cistern::core::testing
