// Inference workloads: an inference makes 20 to 60 tensors of 4 KB to 64 MB and frees them, mostly last in, first out.
//
// A server that runs the same few models sees the same inferences again and again; one with free shapes sees new ones.
#pragma once

#include "bench/workloads/workload.hpp"

namespace cistern::bench {

// W1: 64 inferences, again and again in random order. Each thread of a benchmark has its own seed.
Workload recurring_inferences(std::uint64_t seed);
// W1s: one inference for ever.
Workload single_inference(std::uint64_t seed);
// W1f: every inference is new.
Workload fresh_inferences(std::uint64_t seed);

}  // namespace cistern::bench
