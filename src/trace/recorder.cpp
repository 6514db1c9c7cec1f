#include "trace/recorder.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "base/ticks.hpp"
#include "trace/binary_log.hpp"
#include "trace/call_stack.hpp"
#include "trace/text_log.hpp"

namespace cistern::trace {
namespace {

std::atomic<std::uint64_t> next_recorder{1};

bool ends_in(std::string_view path, std::string_view ending) {
  return path.size() >= ending.size() && path.substr(path.size() - ending.size()) == ending;
}

std::unique_ptr<EventLog> open_log(const std::string& path) {
  if (path.empty()) return nullptr;
  if (ends_in(path, ".log") || ends_in(path, ".txt")) return std::make_unique<TextLog>(path);
  return std::make_unique<BinaryLog>(path);
}

bool has_stack(pool::EventOp op) noexcept {
  return op == EventOp::allocate || op == EventOp::free || op == EventOp::out_of_memory;
}

struct ThreadCache {
  std::uint64_t recorder = 0;
  Ring* ring = nullptr;
};
thread_local constinit ThreadCache cache;
thread_local constinit bool thread_has_ended = false;

}  // namespace

struct Recorder::ThreadRing {
  ThreadRing(std::uint64_t of_recorder, std::uint32_t of_thread, std::uint64_t words)
      : recorder(of_recorder), thread(of_thread), ring(words) {}
  const std::uint64_t recorder;
  const std::uint32_t thread;
  Ring ring;
  std::uint64_t known_dropped = 0;  // the writer's
};

// Retires a thread's rings when it ends.
class Recorder::ThreadEnd {
 public:
  ThreadEnd() = default;
  ThreadEnd(const ThreadEnd&) = delete;
  ThreadEnd& operator=(const ThreadEnd&) = delete;
  ~ThreadEnd() {
    for (const auto& ring : rings) ring->ring.retire();
    cache = {};
    thread_has_ended = true;
  }
  std::vector<std::shared_ptr<ThreadRing>> rings;
  static thread_local ThreadEnd of_this_thread;
};
thread_local Recorder::ThreadEnd Recorder::ThreadEnd::of_this_thread;

class Recorder::PoolObserver final : public pool::Observer {
 public:
  PoolObserver(std::shared_ptr<Recorder> recorder, std::uint32_t pool)
      : Observer(recorder->order_), recorder_(std::move(recorder)), pool_(pool) {}
  void on_event(const pool::Event& event) noexcept override { recorder_->record(event, pool_); }
  void on_tag(std::uint32_t id, std::string_view text) noexcept override {
    if (id <= last_tag_) return;  // numbers ascend; the pool's lock is held
    last_tag_ = id;
    const std::lock_guard lock(recorder_->names_mutex_);
    recorder_->new_tags_.push_back({pool_, id, std::string(text)});
  }

 private:
  std::shared_ptr<Recorder> recorder_;
  std::uint32_t pool_;
  std::uint32_t last_tag_ = 0;
};

std::shared_ptr<Recorder> Recorder::start(const RecorderOptions& options) {
  std::shared_ptr<Recorder> recorder(new Recorder(options));
  recorder->start_thread();
  return recorder;
}

Recorder::Recorder(const RecorderOptions& options)
    : options_(options),
      id_(next_recorder.fetch_add(1)),
      process_(::getpid()),
      log_(open_log(options.path)),
      first_clocks_(read_clocks()),
      last_clocks_(first_clocks_) {
  ::sem_init(&work_, 0, 0);
}

Recorder::~Recorder() {
  stop();
  ::sem_destroy(&work_);
}

// The program's signal handlers are none of the writer's.
void Recorder::start_thread() {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  writer_ = std::make_unique<std::thread>([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::shared_ptr<pool::Observer> Recorder::observe(std::string_view pool, std::string_view device) {
  const std::uint32_t number = pools_.fetch_add(1) + 1;
  {
    const std::lock_guard lock(names_mutex_);
    new_pools_.push_back({number, std::string(pool), std::string(device)});
  }
  return std::make_shared<PoolObserver>(shared_from_this(), number);
}

// ---- In the recording threads
// ----------------------------------------------------------------------------------------

void Recorder::record(const pool::Event& event, std::uint32_t pool) noexcept {
  Ring* const ring = cache.recorder == id_ ? cache.ring : ring_of_this_thread();
  if (ring == nullptr) return record_late(event, pool);
  std::uint64_t stack[kMaxStackDepth];
  const unsigned depth = options_.stack_depth != 0 && has_stack(event.op)
                             ? capture_stack(event.caller, stack, std::min(options_.stack_depth, kMaxStackDepth))
                             : 0;
  bool half_full = false;
  ring->push(event, pool, base::read_ticks(), stack, depth, &half_full);
  if (half_full) [[unlikely]]
    wake();
}

Ring* Recorder::ring_of_this_thread() noexcept {
  if (thread_has_ended) return nullptr;
  auto& rings = ThreadEnd::of_this_thread.rings;
  auto found = std::find_if(rings.begin(), rings.end(), [&](const auto& each) { return each->recorder == id_; });
  if (found == rings.end()) {
    // Rings of recorders that are gone.
    rings.erase(std::remove_if(rings.begin(), rings.end(), [](const auto& each) { return each.use_count() == 1; }),
                rings.end());
    found = rings.insert(rings.end(), add_ring(options_.ring_words));
  }
  cache = {id_, &(*found)->ring};
  return cache.ring;
}

std::shared_ptr<Recorder::ThreadRing> Recorder::add_ring(std::uint64_t words) {
  auto ring = std::make_shared<ThreadRing>(id_, static_cast<std::uint32_t>(::syscall(SYS_gettid)), words);
  const std::lock_guard lock(rings_mutex_);
  rings_.push_back(ring);
  return ring;
}

// A destructor of the thread's own variables calls the pool after its ring was retired: one more ring, for one event.
void Recorder::record_late(const pool::Event& event, std::uint32_t pool) noexcept {
  constexpr std::uint64_t kLeastWords = 128;
  const auto ring = add_ring(kLeastWords);
  bool half_full = false;
  ring->ring.push(event, pool, base::read_ticks(), nullptr, 0, &half_full);
  ring->ring.retire();
}

void Recorder::wake() noexcept {
  if (wake_is_sent_.load(std::memory_order_relaxed) || wake_is_sent_.exchange(true)) return;
  ::sem_post(&work_);
}

void Recorder::flush() {
  if (process_ != ::getpid()) return;
  std::unique_lock lock(flush_mutex_);
  const std::uint64_t wanted = ++flush_wanted_;
  ::sem_post(&work_);
  flushed_.wait(lock, [&] { return flush_done_ >= wanted; });
}

void Recorder::stop() {
  if (process_ != ::getpid()) {
    // A child after fork(): the thread that the object stands for is the parent's.
    static_cast<void>(writer_.release());
    return;
  }
  if (stopping_.exchange(true)) return;
  ::sem_post(&work_);
  writer_->join();
}

RecorderCounts Recorder::counts() const noexcept { return {events_.load(), dropped_.load(), write_failures_.load()}; }

Trace Recorder::live() const {
  Trace trace;
  trace.tables = tables_;
  trace.process = static_cast<std::uint64_t>(process_);
  trace.dropped = dropped_.load();
  trace.ended = true;
  trace.events = live_.live();
  for (TraceEvent& event : trace.events) event.time = ticks_to_ns(event.time, first_clocks_, last_clocks_);
  return trace;
}

// ---- In the writer's thread
// ------------------------------------------------------------------------------------------

void Recorder::run() {
  ::pthread_setname_np(::pthread_self(), "cistern-trace");
  for (;;) {
    wait_for_work();
    wake_is_sent_.store(false);
    std::uint64_t wanted = 0;
    {
      const std::lock_guard lock(flush_mutex_);
      wanted = flush_wanted_;
    }
    const bool is_last = stopping_.load();
    write_round(is_last || wanted > flush_done_);
    if (log_ && is_last) log_->end();
    if (log_) write_failures_.store(log_->failures());
    {
      const std::lock_guard lock(flush_mutex_);
      flush_done_ = is_last ? ~std::uint64_t{0} : wanted;
    }
    flushed_.notify_all();
    if (is_last) return;
  }
}

void Recorder::wait_for_work() noexcept {
  std::timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += static_cast<long>(options_.round_ms % 1000 * 1'000'000);
  until.tv_sec += static_cast<std::time_t>(options_.round_ms / 1000) + until.tv_nsec / 1'000'000'000;
  until.tv_nsec %= 1'000'000'000;
  ::sem_clockwait(&work_, CLOCK_MONOTONIC, &until);
}

void Recorder::take_names() {
  const std::lock_guard lock(names_mutex_);
  for (PoolName& pool : new_pools_) tables_.pools.push_back(std::move(pool));
  for (TagName& tag : new_tags_) tables_.tags.push_back(std::move(tag));
  new_pools_.clear();
  new_tags_.clear();
}

std::vector<TraceEvent> Recorder::drain() {
  std::vector<std::shared_ptr<ThreadRing>> rings;
  {
    const std::lock_guard lock(rings_mutex_);
    rings = rings_;
  }
  std::vector<TraceEvent> events;
  std::vector<const ThreadRing*> finished;
  RawEvent raw;
  for (const auto& ring : rings) {
    if (ring->ring.is_retired()) finished.push_back(ring.get());  // asked before: nothing comes after
    while (ring->ring.pop(&raw)) {
      TraceEvent event;
      event.sequence = raw.event.sequence;
      event.time = raw.ticks;
      event.address = raw.event.address;
      event.requested_bytes = raw.event.requested_bytes;
      event.granted_bytes = raw.event.granted_bytes;
      event.pool = raw.pool;
      event.thread = ring->thread;
      event.tag = raw.event.tag;
      event.stream = raw.event.stream;
      event.op = raw.event.op;
      event.stack = number_of_stack(raw.stack.data(), raw.depth);
      events.push_back(event);
    }
    const std::uint64_t dropped = ring->ring.dropped();
    if (dropped == ring->known_dropped) continue;
    dropped_.fetch_add(dropped - ring->known_dropped);
    if (log_) log_->write_dropped(ring->thread, dropped - ring->known_dropped);
    ring->known_dropped = dropped;
  }
  const std::lock_guard lock(rings_mutex_);
  for (const ThreadRing* each : finished) {
    rings_.erase(std::find_if(rings_.begin(), rings_.end(), [&](const auto& ring) { return ring.get() == each; }));
  }
  return events;
}

std::uint32_t Recorder::number_of_stack(const std::uint64_t* addresses, unsigned depth) {
  if (depth == 0) return 0;
  std::uint64_t hash = depth;
  for (unsigned i = 0; i < depth; ++i) hash = (hash ^ addresses[i]) * 0x9E3779B97F4A7C15U;
  for (;; ++hash) {
    const auto [place, is_new] = stack_numbers_.try_emplace(hash, 0);
    if (is_new) {
      tables_.stacks.emplace_back(addresses, addresses + depth);
      place->second = static_cast<std::uint32_t>(tables_.stacks.size());
      const auto is_known = [&](std::uint64_t address) { return tables_.module_of(address) != nullptr; };
      if (!std::all_of(addresses, addresses + depth, is_known)) {
        for (Module& module : loaded_modules()) {
          if (tables_.module_of(module.begin) == nullptr) tables_.modules.push_back(std::move(module));
        }
        std::sort(tables_.modules.begin(), tables_.modules.end(),
                  [](const Module& left, const Module& right) { return left.begin < right.begin; });
      }
      return place->second;
    }
    const auto& known = tables_.stacks[place->second - 1];
    if (std::equal(known.begin(), known.end(), addresses, addresses + depth)) return place->second;
  }
}

void Recorder::write_round(bool everything) {
  std::vector<TraceEvent> fresh = drain();
  take_names();  // after the rings: what the events name was told before them
  last_clocks_ = read_clocks();
  const std::uint64_t newest = held_.empty() ? 0 : held_.back().sequence;
  events_.fetch_add(fresh.size());
  held_.insert(held_.end(), fresh.begin(), fresh.end());
  std::stable_sort(held_.begin(), held_.end(),
                   [](const TraceEvent& left, const TraceEvent& right) { return left.sequence < right.sequence; });
  std::size_t done = 0;
  while (done < held_.size() && (everything || held_[done].sequence <= newest)) write_event(&held_[done++]);
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(done));
  if (log_) log_->flush();
  rotate_if_due();
}

void Recorder::write_event(TraceEvent* event) {
  live_.apply(event);
  if (log_) log_->write(*event, tables_);
}

void Recorder::rotate_if_due() {
  if (!log_ || options_.limit_bytes == 0) return;
  if (log_->file_bytes() < carried_bytes_ + options_.limit_bytes / 2) return;
  log_->rotate();
  for (const TraceEvent& event : live_.live()) log_->write(event, tables_);
  log_->flush();
  carried_bytes_ = log_->file_bytes();
}

}  // namespace cistern::trace
