#include "trace/recorder.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "base/ticks.hpp"
#include "trace/call_stack.hpp"

namespace cistern::trace {
namespace {

std::atomic<std::uint64_t> next_recorder{1};

constexpr unsigned kEventsARound = 1024;  // of a ring; what the nearer caches hold on the way from ring to file

constexpr unsigned kMostRounds = 64;  // until somebody who waits for a flush is looked after

bool has_stack(pool::EventOp op) noexcept {
  return op == EventOp::allocate || op == EventOp::free || op == EventOp::resize || op == EventOp::out_of_memory;
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
  std::uint64_t next_sequence() noexcept override {
    recorder_->announce();
    return take_number();
  }
  void abandon_sequence() noexcept override { recorder_->settle(); }
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
      writer_(options.path, options.limit_bytes) {
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
  thread_ = std::make_unique<std::thread>([this] { run(); });
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

// Before a thread takes a number it says so in its ring, and takes that back when the event is in the ring: the writer
// writes no event while an older one may be on its way, however long a thread stands still in between.
void Recorder::announce() noexcept {
  if (Ring* const ring = own_ring()) ring->announce(order_.load(std::memory_order_relaxed));
}

void Recorder::settle() noexcept {
  if (Ring* const ring = own_ring()) ring->settle();
}

void Recorder::record(const pool::Event& event, std::uint32_t pool) noexcept {
  Ring* const ring = own_ring();
  if (ring == nullptr) return record_late(event, pool);
  std::uint64_t stack[kMaxStackDepth];
  const unsigned depth = options_.stack_depth != 0 && has_stack(event.op)
                             ? capture_stack(event.caller, stack, std::min(options_.stack_depth, kMaxStackDepth))
                             : 0;
  const std::uint64_t ticks = base::read_ticks();
  bool half_full = false;
  while (!ring->push(event, pool, ticks, stack, depth, &half_full)) [[unlikely]] {
      if (wait_for_room()) continue;
      ring->count_dropped();
      break;
    }
  ring->settle();
  if (half_full) [[unlikely]]
    wake();
}

// False: nobody makes room, or nobody asked to wait for it.
bool Recorder::wait_for_room() noexcept {
  if (!options_.waits_for_room || stopping_.load() || process_ != ::getpid()) return false;
  wake();
  std::this_thread::yield();
  return true;
}

Ring* Recorder::own_ring() noexcept { return cache.recorder == id_ ? cache.ring : ring_of_this_thread(); }

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
  static_cast<void>(ring->ring.push(event, pool, base::read_ticks(), nullptr, 0, &half_full));  // an empty one has room
  ring->ring.retire();
}

void Recorder::mark(std::string_view text) {
  pool::Event event;
  event.op = EventOp::mark;
  {
    const std::lock_guard lock(names_mutex_);
    const auto known = std::find(marks_.begin(), marks_.end(), text);
    event.tag = static_cast<std::uint32_t>(known - marks_.begin()) + 1;
    if (known == marks_.end()) {
      marks_.emplace_back(text);
      new_tags_.push_back({0, event.tag, std::string(text)});
    }
  }
  announce();
  event.sequence = order_.fetch_add(1, std::memory_order_acq_rel) + 1;
  record(event, 0);
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
    static_cast<void>(thread_.release());
    return;
  }
  if (stopping_.exchange(true)) return;
  ::sem_post(&work_);
  thread_->join();
}

RecorderCounts Recorder::counts() const noexcept { return {events_.load(), dropped_.load(), write_failures_.load()}; }

Trace Recorder::live() const {
  Trace trace = writer_.live();
  trace.process = static_cast<std::uint64_t>(process_);
  trace.dropped = dropped_.load();
  return trace;
}

// ---- In the writer's thread
// ------------------------------------------------------------------------------------------

void Recorder::run() {
  ::pthread_setname_np(::pthread_self(), "cistern-trace");
  for (bool has_more = false;;) {
    if (!has_more) wait_for_work();
    wake_is_sent_.store(false);
    std::uint64_t wanted = 0;
    {
      const std::lock_guard lock(flush_mutex_);
      wanted = flush_wanted_;
    }
    const bool is_last = stopping_.load();
    has_more = write_rounds(is_last || wanted > flush_done_);
    if (is_last) writer_.end();
    write_failures_.store(writer_.failures());
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
  writer_.add_names(&new_pools_, &new_tags_);
}

Recorder::Drained Recorder::drain(unsigned most) {
  std::vector<std::shared_ptr<ThreadRing>> rings;
  Drained drained;
  // First the newest number, then what threads say, then their rings: see Ring::floor().
  drained.ripe = order_.load(std::memory_order_acquire);
  {
    const std::lock_guard lock(rings_mutex_);
    rings = rings_;
  }
  for (const auto& ring : rings) drained.ripe = std::min(drained.ripe, ring->ring.floor() - 1);
  std::vector<const ThreadRing*> finished;
  RawEvent raw;
  for (const auto& ring : rings) {
    const bool is_retired = ring->ring.is_retired();  // asked before: nothing comes after
    const bool has_more = ring->ring.pop(most, &raw, [&](const RawEvent& event) { writer_.add(event, ring->thread); });
    if (has_more) {
      drained.has_more = true;
      drained.ripe = std::min(drained.ripe, raw.event.sequence);
    }
    if (is_retired && !has_more) finished.push_back(ring.get());
    const std::uint64_t dropped = ring->ring.dropped();
    if (dropped == ring->known_dropped) continue;
    dropped_.fetch_add(dropped - ring->known_dropped);
    writer_.add_dropped(ring->thread, dropped - ring->known_dropped);
    ring->known_dropped = dropped;
  }
  const std::lock_guard lock(rings_mutex_);
  for (const ThreadRing* each : finished) {
    rings_.erase(std::find_if(rings_.begin(), rings_.end(), [&](const auto& ring) { return ring.get() == each; }));
  }
  return drained;
}

// In several small rounds where there is much, so that what is on its way stays in the caches and threads get room
// soon. After a call of flush() or stop() what the rings held then has to be written: they are taken whole. Returns
// whether more is there.
bool Recorder::write_rounds(bool everything) {
  Drained drained;
  for (unsigned round = 0; round < kMostRounds; ++round) {
    drained = drain(everything ? ~0U : kEventsARound);
    take_names();  // after the rings: what the events name was told before them
    writer_.write_round(everything ? ~std::uint64_t{0} : drained.ripe);
    if (everything || !drained.has_more) break;
  }
  events_.store(writer_.added());
  writer_.flush(order_.load());
  return drained.has_more && !everything;
}

}  // namespace cistern::trace
