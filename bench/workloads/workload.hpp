// Workload: allocations and frees as a benchmark plays them: eight bytes an operation, decided beforehand.
//
// A workload is an opening, played once, and a cycle that can be played for ever: after each cycle the same slots are
// live as before it. Everything is drawn from seeds, so that every contender on every machine does the same work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cistern::bench {

// Allocates `bytes` into `slot`, or, with bytes == 0, frees what is there.
struct Operation {
  std::uint32_t slot = 0;
  std::uint32_t bytes = 0;
  friend bool operator==(const Operation&, const Operation&) = default;
};

struct Workload {
  std::string name;
  std::vector<Operation> opening;
  std::vector<Operation> cycle;
  std::uint32_t slots = 0;  // all slots are below it
};

// What a workload asks of an allocator, over its opening and two cycles.
struct WorkloadFacts {
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t peak_live_blocks = 0;
  std::uint64_t live_blocks_between_cycles = 0;
  std::uint64_t pairs_in_cycle = 0;  // allocations
  std::string fault;                 // empty, or the first operation that no caller may do, in words
};

WorkloadFacts facts_of(const Workload& workload);

}  // namespace cistern::bench
