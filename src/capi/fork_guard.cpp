#include "capi/fork_guard.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "capi/entry.hpp"

namespace cistern::capi {
namespace {

std::atomic<bool> is_child{false};

void begin_child() noexcept {
  is_child.store(true, std::memory_order_relaxed);
  device_handles.abandon();
  pool_handles.abandon();
}

}  // namespace

void watch_forks() noexcept {
  static std::once_flag once;
  std::call_once(once, [] { (void)pthread_atfork(nullptr, nullptr, &begin_child); });
}

bool was_forked() noexcept { return is_child.load(std::memory_order_relaxed); }

base::Status explain_fork() {
  return base::unsupported(
      "this process was forked from one that uses Cistern; call exec() first, or fork before the first device is "
      "opened");
}

}  // namespace cistern::capi
