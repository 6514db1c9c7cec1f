// Crew: threads that do a job together, round after round, and live as long as it does, so that what they keep for
// themselves stays warm. A round's wall time runs from the first that starts to the last that ends; its CPU time is
// that of all together, without what they waited asleep, so other programs disturb it less.
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace cistern::bench {

// Of the calling thread.
std::chrono::nanoseconds cpu_time() noexcept;

class Crew {
 public:
  struct Times {
    std::chrono::nanoseconds wall{0};
    std::chrono::nanoseconds cpu{0};
  };

  // job(member): one member's part of a round; member counts from 0.
  Crew(unsigned members, std::function<void(unsigned)> job);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  Times round();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Stamps {
    Time start;
    Time end;
    std::chrono::nanoseconds cpu{0};
  };
  void work(unsigned member);

  std::function<void(unsigned)> job_;
  std::barrier<> gate_;
  std::atomic<bool> is_over_{false};
  std::vector<Stamps> stamps_;
  std::vector<std::thread> threads_;
};

// A thread that waits as long as it lives: where there is only one thread, mutexes are cheaper than any server has
// them.
class ParkedThread {
 public:
  ParkedThread() : crew_(1, [](unsigned) {}) {}

 private:
  Crew crew_;
};

}  // namespace cistern::bench
