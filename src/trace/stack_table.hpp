// StackTable: one number for equal call stacks, given as they appear, and the modules that their addresses lie in.
//
// Programs allocate from few places, and from the same one many times in a row: the place is nearly always found in a
// small direct-mapped table of the numbers given last.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "trace/trace.hpp"

namespace cistern::trace {

class StackTable {
 public:
  // 0 where the depth is 0. A new stack is added to `tables`, and the code that is loaded now where that is not known.
  std::uint32_t number_of(const std::uint64_t* addresses, unsigned depth, Tables* tables);

 private:
  std::uint32_t look_up(std::uint64_t hash, const std::uint64_t* addresses, unsigned depth, Tables* tables);

  static constexpr unsigned kRecentBits = 8;
  std::array<std::uint32_t, 1U << kRecentBits> recent_{};     // 0: none
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // by hash; neighbours on collision
};

}  // namespace cistern::trace
