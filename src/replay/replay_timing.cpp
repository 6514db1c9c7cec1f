#include "replay/replay_timing.hpp"

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "replay/memory_way.hpp"
#include "replay/segments.hpp"

namespace cistern::replay {
namespace {

using Places = std::vector<device::Address>;

class ParkedThread {
 public:
  ParkedThread() : thread_([this] { park(); }) {}
  ~ParkedThread() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  ParkedThread(const ParkedThread&) = delete;
  ParkedThread& operator=(const ParkedThread&) = delete;

 private:
  void park() {
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait(lock, [this] { return is_over_; });
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_over_ = false;
  std::thread thread_;  // last: it uses the others
};

// What the loop costs with nobody to serve it.
class BumpCounter {
 public:
  base::Result<device::Address> allocate(std::uint64_t bytes) noexcept { return next_ += bytes; }
  base::Status free(device::Address place) noexcept {
    freed_ += place;
    return {};
  }

 private:
  device::Address next_ = 0;
  device::Address freed_ = 0;
};

std::uint64_t cpu_time_ns() noexcept {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// A request that fails leaves place 0; that and the work of saying why are part of the time.
template <typename Target>
std::uint64_t play(Target& target, const DecodedTrace& trace, Places& places) {
  const std::uint64_t start = cpu_time_ns();
  for (const Step& step : trace.steps) {
    device::Address& place = places[step.slot];
    if (step.op == TraceOp::allocate) {
      auto served = target.allocate(step.bytes);
      place = served.is_ok() ? served.value() : 0;
    } else if (const device::Address freed = std::exchange(place, 0); freed != 0) {
      (void)target.free(freed);
    }
  }
  return cpu_time_ns() - start;
}

template <typename Target>
void free_the_rest(Target& target, Places& places) {
  for (device::Address& place : places) {
    if (const device::Address left = std::exchange(place, 0); left != 0) (void)target.free(left);
  }
}

struct PassTimes {
  std::uint64_t first_ns = 0;
  std::uint64_t steady_ns = 0;
};

template <typename Target>
PassTimes play_twice(Target& target, const DecodedTrace& trace, Places& places) {
  PassTimes times;
  times.first_ns = play(target, trace, places);
  free_the_rest(target, places);
  times.steady_ns = play(target, trace, places);
  free_the_rest(target, places);
  return times;
}

// By the target's own class, so that the loop calls it directly.
PassTimes play_target_twice(ReplayTarget& target, const DecodedTrace& trace, Places& places) {
  if (auto* pool = dynamic_cast<PoolTarget*>(&target)) return play_twice(*pool, trace, places);
  if (auto* pool = dynamic_cast<MovableTarget*>(&target)) return play_twice(*pool, trace, places);
  if (auto* segments = dynamic_cast<Segments*>(&target)) return play_twice(*segments, trace, places);
  return play_twice(target, trace, places);
}

double median(std::vector<std::uint64_t> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return static_cast<double>(values[middle]);
  return (static_cast<double>(values[middle - 1]) + static_cast<double>(values[middle])) / 2;
}

Spread spread_of(std::vector<std::uint64_t> values) {
  Spread spread;
  spread.operations = values.size();
  if (values.empty()) return spread;
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const std::uint64_t value : values) sum += static_cast<double>(value);
  spread.mean_ns = sum / static_cast<double>(values.size());
  const auto rank = [&values](std::size_t per_mille) { return values[(values.size() * per_mille + 999) / 1000 - 1]; };
  spread.p50_ns = rank(500);
  spread.p99_ns = rank(990);
  spread.p999_ns = rank(999);
  spread.max_ns = values.back();
  return spread;
}

// The least that two looks at the clock are apart.
std::uint64_t clock_cost_ns(const base::SteadyClock& clock) noexcept {
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t start = clock.now_ns();
    least = std::min(least, clock.now_ns() - start);
  }
  return least;
}

PlaySpread measure_spread(ReplayTarget& target, const DecodedTrace& trace, Places& places) {
  const base::SteadyClock clock;
  const std::uint64_t clock_ns = clock_cost_ns(clock);
  std::vector<std::uint64_t> allocations;
  std::vector<std::uint64_t> frees;
  std::vector<std::uint64_t> driver;
  allocations.reserve(trace.steps.size() / 2 + 1);  // the clock must not see them grow
  frees.reserve(trace.steps.size() / 2 + 1);
  std::uint64_t calls = driver_calls(target.counters());
  for (const Step& step : trace.steps) {
    device::Address& place = places[step.slot];
    const bool is_allocation = step.op == TraceOp::allocate;
    if (!is_allocation && place == 0) continue;
    const std::uint64_t start = clock.now_ns();
    if (is_allocation) {
      auto served = target.allocate(step.bytes);
      place = served.is_ok() ? served.value() : 0;
    } else {
      (void)target.free(std::exchange(place, 0));
    }
    const std::uint64_t elapsed = clock.now_ns() - start;
    const std::uint64_t calls_now = driver_calls(target.counters());
    auto& sort = calls_now != std::exchange(calls, calls_now) ? driver : is_allocation ? allocations : frees;
    sort.push_back(elapsed - std::min(elapsed, clock_ns));
  }
  free_the_rest(target, places);
  std::vector<std::uint64_t> both = allocations;
  both.insert(both.end(), frees.begin(), frees.end());
  return {spread_of(std::move(allocations)), spread_of(std::move(frees)), spread_of(std::move(driver)),
          spread_of(std::move(both)).p999_ns};
}

}  // namespace

base::Result<ReplayTimes> measure_times(const DecodedTrace& trace, unsigned passes, const TargetMaker& make,
                                        const std::function<void()>& played) {
  const ParkedThread second_thread;
  Places places(trace.slots);
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> steady;
  std::vector<std::uint64_t> loop;
  for (unsigned pass = 0; pass <= passes; ++pass) {
    auto target = make();
    if (!target.is_ok()) return target.take_status();
    const PassTimes times = play_target_twice(*target.value(), trace, places);
    BumpCounter counter;
    const PassTimes bare = play_twice(counter, trace, places);
    played();
    played();
    if (pass == 0) continue;  // the warm-up
    first.push_back(times.first_ns);
    steady.push_back(times.steady_ns);
    loop.push_back(bare.steady_ns);
  }
  const double pairs = std::max(1.0, static_cast<double>(trace.steps.size()) / 2);
  ReplayTimes times;
  times.first_ns = median(std::move(first)) / pairs;
  times.steady_ns = median(std::move(steady)) / pairs;
  times.loop_ns = median(std::move(loop)) / pairs;
  auto target = make();
  if (!target.is_ok()) return target.take_status();
  times.first = measure_spread(*target.value(), trace, places);
  played();
  times.steady = measure_spread(*target.value(), trace, places);
  played();
  return times;
}

}  // namespace cistern::replay
