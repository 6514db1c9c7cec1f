#include "compact/scheduler.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/log.hpp"

namespace cistern::compact {

// --- Watch
// ------------------------------------------------------------------------------------------------------------

Watch::Watch(pool::Pool& pool, const base::Clock& clock) noexcept
    : pool_(pool),
      clock_(clock),
      interval_ns_(pool.options().compact_interval_ms * 1'000'000),
      due_ns_(clock.now_ns() + interval_ns_) {}

std::uint64_t Watch::wait(std::uint64_t ns) noexcept {
  due_ns_ = clock_.now_ns() + ns;
  return ns;
}

std::uint64_t Watch::tick() noexcept {
  const std::uint64_t now = clock_.now_ns();
  if (now < due_ns_) return due_ns_ - now;
  return listening_ ? listen(now) : look(now);
}

bool Watch::has_too_many_blocks(const pool::Ledger& ledger) const noexcept {
  return ledger.live_blocks + ledger.free_blocks > pool_.options().compact_max_blocks;
}

bool Watch::has_reason(const pool::Ledger& ledger) const noexcept {
  const pool::PoolOptions& options = pool_.options();
  if (ledger.exposure > 0) return true;
  if (ledger.free_bytes == 0) return false;
  return ledger.fragmentation_rate() > options.compact_threshold || has_too_many_blocks(ledger);
}

std::uint64_t Watch::look(std::uint64_t now) noexcept {
  const pool::Ledger ledger = pool_.ledger();
  if (!has_reason(ledger)) {
    wanted_since_ = 0;
    return wait(interval_ns_);
  }
  ++counts_.looks;
  if (wanted_since_ == 0) wanted_since_ = now;
  listening_ = true;
  calls_ = ledger.allocations + ledger.frees;
  return wait(kQuietNs);
}

std::uint64_t Watch::listen(std::uint64_t now) noexcept {
  listening_ = false;
  const pool::Ledger ledger = pool_.ledger();
  const bool quiet = ledger.allocations + ledger.frees == calls_;
  if (quiet || now - wanted_since_ >= interval_ns_) return pass(ledger);
  ++counts_.postponed;
  return wait(kLeastPauseNs);
}

std::uint64_t Watch::pass(const pool::Ledger& ledger) noexcept {
  ++counts_.passes;
  wanted_since_ = 0;
  const pool::PoolOptions& options = pool_.options();
  pool::CompactionRequest request;
  request.max_us = kPassSteps * options.step_us;
  // Fewer blocks: all free pages that can be joined, are.
  request.rate_goal = has_too_many_blocks(ledger) ? 0 : options.compact_threshold;
  request.yields_to_misses = true;
  auto done = pool_.compact(request);
  if (!done.is_ok()) {
    base::log(base::LogLevel::warning, "compact",
              "pool '" + options.name + "' could not be compacted: " + done.status().to_string());
    return wait(std::max(interval_ns_, kLeastPauseNs));
  }
  const pool::CompactionReport& report = done.value();
  const double gain = std::max(report.exposure_before - report.exposure_after, report.rate_before - report.rate_after);
  const bool worth_more = report.end == pool::CompactionEnd::gave_way || gain >= kLeastGain;
  return wait(worth_more ? kLeastPauseNs : std::max(interval_ns_, kLeastPauseNs));
}

// --- Scheduler
// --------------------------------------------------------------------------------------------------------

struct Scheduler::State {
  explicit State(pool::Pool& pool) : watch(pool, clock) {}
  void run();
  void stop() noexcept;

  base::SteadyClock clock;
  Watch watch;
  std::thread thread;
  std::mutex mutex;  // held while the watch works: a fork waits for its end
  std::condition_variable wake;
  bool stopping = false;
  std::atomic<bool> is_lost{false};  // after a fork, in the child: the thread is not there
  std::atomic<std::uint64_t> passes{0};
};

namespace {

// All schedulers of the process, for forks and its end. Never destroyed: threads may outlive static objects.
struct Registry {
  std::mutex mutex;
  std::vector<void*> states;  // Scheduler::State is private to its class
  void (*stop)(void*) = nullptr;
  void (*hold)(void*) = nullptr;
  void (*let_go)(void*) = nullptr;
  void (*lose)(void*) = nullptr;
};

Registry& registry() {
  static auto* const kRegistry = new Registry;
  return *kRegistry;
}

void before_fork() {
  registry().mutex.lock();
  for (void* state : registry().states) registry().hold(state);
}

void after_fork_in_parent() {
  for (void* state : registry().states) registry().let_go(state);
  registry().mutex.unlock();
}

void after_fork_in_child() {
  for (void* state : registry().states) {
    registry().lose(state);
    registry().let_go(state);
  }
  registry().mutex.unlock();
}

void at_exit() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  for (void* state : registry().states) registry().stop(state);
}

}  // namespace

void Scheduler::State::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping) {
    const std::uint64_t wait_ns = watch.tick();
    passes.store(watch.counts().passes, std::memory_order_relaxed);
    wake.wait_for(lock, std::chrono::nanoseconds(wait_ns), [this] { return stopping; });
  }
}

void Scheduler::State::stop() noexcept {
  if (is_lost.load()) return;  // there is nothing to join
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  if (thread.joinable()) thread.join();
}

std::unique_ptr<Scheduler> Scheduler::start(pool::Pool& pool) {
  if (!pool.options().compact_actively) return nullptr;
  Registry& all = registry();
  static const bool kHooked = [&all] {
    all.stop = [](void* state) { static_cast<State*>(state)->stop(); };
    all.hold = [](void* state) { static_cast<State*>(state)->mutex.lock(); };
    all.let_go = [](void* state) { static_cast<State*>(state)->mutex.unlock(); };
    all.lose = [](void* state) { static_cast<State*>(state)->is_lost.store(true); };
    return ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0 && std::atexit(at_exit) == 0;
  }();
  static_cast<void>(kHooked);
  auto state = std::make_unique<State>(pool);
  // The program's signals are not for this thread.
  sigset_t everything;
  sigset_t before;
  sigfillset(&everything);
  ::pthread_sigmask(SIG_SETMASK, &everything, &before);
  try {
    state->thread = std::thread([at = state.get()] { at->run(); });
    ::pthread_setname_np(state->thread.native_handle(), "cistern-compact");
  } catch (const std::system_error& failed) {
    base::log(base::LogLevel::warning, "compact",
              "pool '" + pool.options().name +
                  "' is not compacted actively, there is no thread for it: " + std::string(failed.what()));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!state->thread.joinable()) return nullptr;
  std::lock_guard<std::mutex> lock(all.mutex);
  all.states.push_back(state.get());
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(state)));
}

Scheduler::Scheduler(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

Scheduler::~Scheduler() {
  {
    std::lock_guard<std::mutex> lock(registry().mutex);
    std::erase(registry().states, static_cast<void*>(state_.get()));
  }
  state_->stop();
  // In the child of a fork the thread still counts as waiting, for ever: what it waits on can't be destroyed.
  if (state_->is_lost.load()) static_cast<void>(state_.release());
}

std::uint64_t Scheduler::passes() const noexcept { return state_->passes.load(std::memory_order_relaxed); }

}  // namespace cistern::compact
