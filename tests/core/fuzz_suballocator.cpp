// Bytes as a history of an arena: two choose its shape, then six a step. Anything that differs from the granule model,
// or violates an invariant, ends the program.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "core/arena_driver.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string problem = cistern::core::testing::run_bytes(data, size);
  if (!problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    std::abort();
  }
  return 0;
}
