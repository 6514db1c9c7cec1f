#include "base/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cistern::base {
namespace {

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

namespace detail {
// Full until membarrier is known to work.
constinit std::atomic<bool> light_fence_is_full{true};
}  // namespace detail

bool prepare_asymmetric_fences() noexcept {
  static const bool kRegistered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  if (kRegistered) detail::light_fence_is_full.store(false, std::memory_order_relaxed);
  return kRegistered;
}

void heavy_fence() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (prepare_asymmetric_fences()) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

}  // namespace cistern::base
