// Recurring sizes: what a thread's own cache of freed blocks is made for. Every request after the first round can be
// served by a block of exactly its size that the same thread freed last.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/workloads/workload.hpp"

namespace cistern::bench {

// `hit`: an allocation and its free at once, 16 sizes in turn.
Workload hits();
// `alloc`: 4 blocks of each of the 16 sizes, then all are freed; the allocations alone are timed.
Workload hit_burst();
// `pc`: sizes of 4 KB to 4 MB that one thread allocates and another frees, in turn.
std::vector<std::uint32_t> handed_over_sizes();

}  // namespace cistern::bench
