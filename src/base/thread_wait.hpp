// How a thread waits and who it is, as the processor and the kernel say it.
#pragma once

#include <atomic>
#include <cstdint>

namespace cistern::base {

// Tells the processor that nothing is to be done: tens of nanoseconds each time.
inline void pause_processor(unsigned times) noexcept {
  for (; times > 0; --times) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }
}

// Lets other threads run on this processor.
void yield_processor() noexcept;

// Sleeps until wake_sleeper(word) while `word` is `value`; may return early.
void sleep_while_equal(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept;
void wake_sleeper(const std::atomic<std::uint32_t>& word) noexcept;
void sleep_microseconds(unsigned microseconds) noexcept;

// Which thread this is: one instruction. A later thread may have the number of one that has ended. Never 0.
inline std::uintptr_t this_thread_number() noexcept {
  std::uintptr_t number;
#if defined(__x86_64__)
  asm("mov %%fs:0, %0" : "=r"(number));
#elif defined(__aarch64__)
  asm("mrs %0, tpidr_el0" : "=r"(number));
#else
  static thread_local char here;
  number = reinterpret_cast<std::uintptr_t>(&here);
#endif
  return number;
}

}  // namespace cistern::base
