#include "bench/crew.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace cistern::bench {

std::chrono::nanoseconds cpu_time() noexcept {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

Crew::Crew(unsigned members, std::function<void(unsigned)> job)
    : job_(std::move(job)), gate_(static_cast<std::ptrdiff_t>(members) + 1), stamps_(members) {
  for (unsigned member = 0; member < members; ++member) threads_.emplace_back([this, member] { work(member); });
}

Crew::~Crew() {
  is_over_ = true;
  gate_.arrive_and_wait();
  for (std::thread& thread : threads_) thread.join();
}

Crew::Times Crew::round() {
  gate_.arrive_and_wait();
  gate_.arrive_and_wait();
  Time start = Time::max();
  Time end = Time::min();
  Times times;
  for (const Stamps& stamps : stamps_) {
    times.cpu += stamps.cpu;
    start = std::min(start, stamps.start);
    end = std::max(end, stamps.end);
  }
  times.wall = end - start;
  return times;
}

void Crew::work(unsigned member) {
  for (;;) {
    gate_.arrive_and_wait();
    if (is_over_) return;
    stamps_[member].start = std::chrono::steady_clock::now();
    const std::chrono::nanoseconds cpu = cpu_time();
    job_(member);
    stamps_[member].cpu = cpu_time() - cpu;
    stamps_[member].end = std::chrono::steady_clock::now();
    gate_.arrive_and_wait();
  }
}

}  // namespace cistern::bench
