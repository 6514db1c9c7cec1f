// Serving workload (W3): a LLaMA-7B under requests: 291 weight tensors that stay, 16 sequences whose KV cache grows by
// blocks of 0.5 to 16 MB until they end, and in each step the layers' activations, last in, first out, and 12 small
// buffers. Sequences begin and end one by one, so that long-lived and short-lived blocks lie among each other.
#pragma once

#include "bench/workloads/workload.hpp"

namespace cistern::bench {

Workload serving();

}  // namespace cistern::bench
