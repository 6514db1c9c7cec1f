// A fence in two unequal halves: the side that runs all the time pays nothing, the side that runs rarely pays for both.
//
// Two threads that each write one flag and read the other's must not both read the old value. A full fence between
// write and read on both sides costs 5-20 ns. Here the frequent side has light_fence(), which only keeps the compiler
// from reordering, and the rare side has heavy_fence(), which asks the kernel to run a full fence on every thread of
// the process (membarrier; a few microseconds). Where the kernel has no membarrier, both are full fences.
#pragma once

#include <atomic>

namespace cistern::base {

// Asks the kernel for membarrier; true when light fences are free. Call once before the first use, any thread, any
// number of times.
bool prepare_asymmetric_fences() noexcept;

namespace detail {
extern std::atomic<bool> light_fence_is_full;
}

inline void light_fence() noexcept {
  if (detail::light_fence_is_full.load(std::memory_order_relaxed)) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

void heavy_fence() noexcept;

}  // namespace cistern::base
