// StreamSet: the streams and events of a device that runs in this process.
//
// A stream is a queue of work, done in order. An event marks a place in a queue: recording it again moves the mark, and
// whoever waits on the old one goes on waiting for that. Another stream, or the host, can wait for a mark. A stream
// that is destroyed with work pending takes no more, but finishes what it has; events recorded on it stay good.
//
// Who does the work is a choice: a thread a stream (started with its first work); nobody, since work is complete when
// it is submitted; or whoever steps, one item at a time, so that a test can hold any stream at any place without a
// thread. In the last case a wait of the host's does the work that it waits for, as time would.
//
// Thread-safety: all functions. Work is run with no lock held. Waiting for one's own stream from inside its work is
// refused (busy).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"
#include "device/work.hpp"
#include "device/work_time.hpp"

namespace cistern::device {

enum class Completion : std::uint8_t { threads, immediate, stepped };

class StreamSet {
 public:
  StreamSet(Completion completion, std::shared_ptr<WorkTime> time);
  ~StreamSet();  // drains
  StreamSet(const StreamSet&) = delete;
  StreamSet& operator=(const StreamSet&) = delete;

  base::Result<StreamHandle> create_stream() noexcept;
  base::Status destroy_stream(StreamHandle handle) noexcept;
  base::Status submit(StreamHandle handle, Work work) noexcept;
  base::Status wait_stream(StreamHandle handle) noexcept;
  base::Status wait_all() noexcept;  // destroyed streams' work too

  // Is told of all work that is submitted from now on. Once, before any work.
  void observe(std::shared_ptr<WorkObserver> observer) noexcept { observer_ = std::move(observer); }

  EventHandle create_event() noexcept;
  base::Status destroy_event(EventHandle event) noexcept;
  base::Status record(EventHandle event, StreamHandle handle) noexcept;
  base::Result<bool> query(EventHandle event) noexcept;  // never recorded: true
  base::Status wait_event(EventHandle event) noexcept;
  base::Status stream_wait(StreamHandle handle, EventHandle event) noexcept;

  // Under Completion::stepped: does the first item of a stream, destroyed or not. False: there is none, or it waits for
  // an event that is not complete.
  base::Result<bool> step(StreamHandle handle) noexcept;
  // Does all that is queued, without its modelled time, and ends the threads. Called before what work uses goes away.
  void drain() noexcept;
  // Threads alive or not yet joined.
  std::uint64_t threads() const noexcept;

 private:
  struct Stream;
  // A place in a queue.
  struct Mark {
    std::shared_ptr<Stream> stream;
    bool done = false;
    std::uint64_t at_ns = 0;  // when it was reached
  };
  enum class Kind : std::uint8_t { work, mark, wait };
  struct Item {
    Kind kind;
    std::uint64_t submitted_ns;
    Work work;
    std::shared_ptr<Mark> mark;
    WorkId id = 0;  // of work that is observed
  };
  struct Stream {
    StreamHandle handle = 0;
    std::deque<Item> queue;
    bool busy = false;    // an item is being done
    bool closed = false;  // destroyed: nothing new
    bool ended = false;   // its thread touches nothing any more
    std::uint64_t end_ns = 0;
    std::condition_variable arrived;
    std::thread thread;
  };
  using Lock = std::unique_lock<std::mutex>;
  using StreamPtr = std::shared_ptr<Stream>;

  // All with the lock held.
  base::Result<StreamPtr> find(StreamHandle handle) const;
  base::Status push(const StreamPtr& stream, Item item, Lock& lock);
  base::Status start_thread(const StreamPtr& stream);
  std::shared_ptr<Mark> mark_end(const StreamPtr& stream);
  base::Status wait_for(const std::shared_ptr<Mark>& mark, Lock& lock);
  void do_front(Stream& stream, Lock& lock);
  void do_until(const Mark& mark, Lock& lock);
  bool is_stuck(const Stream& stream) const;
  std::vector<StreamPtr> take_ended();

  void run(const StreamPtr& stream) noexcept;  // a thread's life
  static void join(const std::vector<StreamPtr>& streams) noexcept;

  const Completion completion_;
  const std::shared_ptr<WorkTime> time_;
  std::shared_ptr<WorkObserver> observer_;
  std::atomic<WorkId> last_work_{0};
  std::stop_source stop_;
  mutable std::mutex mutex_;
  std::condition_variable done_;  // something was done, anywhere
  std::unordered_map<StreamHandle, StreamPtr> streams_;
  std::vector<StreamPtr> leaving_;  // destroyed, with work or a thread left
  std::unordered_map<EventHandle, std::shared_ptr<Mark>> events_;
  StreamHandle last_stream_ = 0;
  EventHandle last_event_ = 0;
};

}  // namespace cistern::device
