// ThreadRecord: what the C interface keeps for each thread that calls it: the last error, and the handle in use.
//
// A call on a handle announces it in its own record before it looks whether the handle is valid; who destroys the
// handle makes it invalid first and then waits until no record announces it. Both need their store to be seen before
// their load. The destroyer pays for both sides (base/asymmetric_fence.hpp), so that a call, which is the frequent
// side, costs two plain stores.
//
// Records are never freed: a record of a thread that has ended serves the next new thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/asymmetric_fence.hpp"

namespace cistern::capi {

struct LastError {
  std::int32_t code = 0;
  std::uint32_t device_ordinal = 0;
  std::int64_t native_code = 0;
  std::string text;
  std::string device_kind;
};

inline constexpr std::uint64_t kNoHandle = 0;
inline constexpr std::uint64_t kWithoutHandle = 1;  // inside a call that uses no handle; no handle has this value

struct ThreadRecord {
  std::atomic<std::uint64_t> handle_in_use{kNoHandle};
  std::atomic<bool> is_taken{true};
  ThreadRecord* next = nullptr;   // fixed once the record is in the list
  LastError error;                // the owning thread only
  ThreadRecord* outer = nullptr;  // of the call in which this thread's present one is made; the owning thread only
};

// Null before the thread's first call, and again once its keys were destroyed. Initial-exec: eight bytes of static TLS,
// read by one instruction; the loader keeps room for as little even for a library opened late.
extern thread_local constinit ThreadRecord* current_record __attribute__((tls_model("initial-exec")));

// Gives the thread its record. Null where the host has no memory for one.
ThreadRecord* take_record() noexcept;

inline ThreadRecord* this_thread_record() noexcept {
  ThreadRecord* record = current_record;
  return record != nullptr ? record : take_record();
}

// While it lives, the thread has another record, so that it may call the library from inside a call: a callback does.
// What the outer record announces stays announced.
class NestedRecord {
 public:
  NestedRecord() noexcept;
  ~NestedRecord();
  NestedRecord(const NestedRecord&) = delete;
  NestedRecord& operator=(const NestedRecord&) = delete;
  bool is_ready() const noexcept { return nested_ != nullptr; }

 private:
  ThreadRecord* outer_;
  ThreadRecord* nested_;
};

// Is a call on this handle under way in the thread itself, around the present one?
bool is_in_call_on(std::uint64_t handle) noexcept;

// Announces the handle: after the return, either a destroyer sees it or the caller sees that it is invalid.
inline void announce(ThreadRecord* record, std::uint64_t handle) noexcept {
  record->handle_in_use.store(handle, std::memory_order_relaxed);
  base::light_fence();  // the heavy half is in wait_until_unused()
}

// Returns when no thread is inside a call on `handle`, which has been made invalid before.
void wait_until_unused(std::uint64_t handle) noexcept;

}  // namespace cistern::capi
