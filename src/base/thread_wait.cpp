#include "base/thread_wait.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace cistern::base {

void yield_processor() noexcept { sched_yield(); }

void sleep_while_equal(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake_sleeper(const std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void sleep_microseconds(unsigned microseconds) noexcept {
  const timespec duration{0, static_cast<long>(microseconds) * 1000};
  nanosleep(&duration, nullptr);
}

}  // namespace cistern::base
