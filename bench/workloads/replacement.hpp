// Replacement workloads: so many blocks are live, and again and again one of them, chosen at random, is freed and
// another of a new size takes its place. Nothing recurs: the hardest case for caches, the plainest for bookkeeping.
#pragma once

#include "bench/workloads/workload.hpp"

namespace cistern::bench {

Workload large_blocks();             // W2: 10,000 of 512 B to 64 MB
Workload small_blocks();             // W5: 4,096 of 256 B to 4 KB
Workload ten_thousand_blocks();      // live10k: 512 B to 2 MB
Workload hundred_thousand_blocks();  // live100k: the same, ten times as many

}  // namespace cistern::bench
