// Recorder: takes the events of any number of pools from the threads they happen in to a file, at the price of a few
// stores.
//
// Each thread has a ring; pushing takes no lock and, after the thread's first event, no memory. One thread of the
// recorder's own empties the rings every 50 ms or when one is half full, and writes (trace_writer.hpp). A full ring
// drops events, and the file says how many; or, where that was asked for, the thread waits until there is room.
//
// Thread-safety: all functions. After stop(), and in a child process after fork(), events are dropped.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pool/observer.hpp"
#include "trace/ring.hpp"
#include "trace/trace.hpp"
#include "trace/trace_writer.hpp"

namespace cistern::trace {

struct RecorderOptions {
  std::string path;           // ends in .log or .txt: text, else binary; empty: no file, only the table of live blocks
  unsigned stack_depth = 16;  // return addresses of an allocation or free; at most kMaxStackDepth
  std::uint64_t limit_bytes = 0;           // of the file and the one before it together; 0: none
  std::uint64_t ring_words = 1ULL << 18U;  // a power of two, at least 128; 2 MiB a thread
  std::uint64_t round_ms = 50;
  bool waits_for_room = false;  // a thread whose ring is full waits for the writer instead of dropping its event
};

struct RecorderCounts {
  std::uint64_t events = 0;  // that reached the writer
  std::uint64_t dropped = 0;
  std::uint64_t write_failures = 0;
};

class Recorder : public std::enable_shared_from_this<Recorder> {
 public:
  static std::shared_ptr<Recorder> start(const RecorderOptions& options);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // For one pool. Keeps the recorder alive.
  std::shared_ptr<pool::Observer> observe(std::string_view pool, std::string_view device);
  // An event of no pool: the program says where it is. Takes a lock; few marks are meant.
  void mark(std::string_view text);
  // Returns when everything recorded before is in the file.
  void flush();
  // The same, and closes the file. The recorder is of no more use, but pools may go on.
  void stop();
  RecorderCounts counts() const noexcept;
  // After stop(): what was live then, as a trace of its allocations. Times are nanoseconds.
  Trace live() const;

 private:
  class PoolObserver;
  struct ThreadRing;
  class ThreadEnd;

  explicit Recorder(const RecorderOptions& options);
  void start_thread();
  void record(const pool::Event& event, std::uint32_t pool) noexcept;
  void announce() noexcept;
  void settle() noexcept;
  Ring* own_ring() noexcept;
  Ring* ring_of_this_thread() noexcept;
  std::shared_ptr<ThreadRing> add_ring(std::uint64_t words);
  void record_late(const pool::Event& event, std::uint32_t pool) noexcept;
  bool wait_for_room() noexcept;
  void wake() noexcept;

  // --- The writer's ---
  void run();
  void wait_for_work() noexcept;
  struct Drained {
    bool has_more = false;
    std::uint64_t ripe = 0;  // no event up to this number is on its way any more
  };
  // Takes at most `most` events of each ring.
  Drained drain(unsigned most);
  bool write_rounds(bool everything);
  void take_names();

  const RecorderOptions options_;
  const std::uint64_t id_;      // tells recorders of one process apart
  const std::int64_t process_;  // that has the writer's thread
  std::atomic<std::uint64_t> order_{0};
  std::atomic<std::uint32_t> pools_{0};

  std::mutex names_mutex_;
  std::vector<PoolName> new_pools_;
  std::vector<TagName> new_tags_;
  std::vector<std::string> marks_;  // texts of marks; the tag of the first is 1
  std::mutex rings_mutex_;
  std::vector<std::shared_ptr<ThreadRing>> rings_;

  sem_t work_;
  std::atomic<bool> wake_is_sent_{false};
  std::atomic<bool> stopping_{false};
  std::mutex flush_mutex_;
  std::condition_variable flushed_;
  std::uint64_t flush_wanted_ = 0;
  std::uint64_t flush_done_ = 0;
  std::unique_ptr<std::thread> thread_;
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> write_failures_{0};

  TraceWriter writer_;  // only its thread's until stop() has returned
};

}  // namespace cistern::trace
