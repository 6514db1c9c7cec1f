// Event: a mark in a stream's queue, and the time at which the stream came to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "acl/runtime/context.hpp"

namespace cistern::acl {

class Event {
 public:
  static Outcome create(std::shared_ptr<Npu> npu, const void* caller, std::shared_ptr<Event>* event);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  const std::shared_ptr<Npu>& npu() const noexcept { return npu_; }
  const void* caller() const noexcept { return caller_; }

  Outcome record(Stream& stream);
  void reset() noexcept;
  Outcome make_wait(Stream& stream);  // work that `stream` gets from now on
  Outcome wait();
  Outcome is_complete(bool* complete);  // false: never recorded
  // Milliseconds from `start` to `end`.
  static Outcome elapsed(const Event& start, const Event& end, float* ms);

 private:
  struct Mark {
    std::atomic<std::int64_t> reached_ns{0};  // of the steady clock; 0: not yet
  };
  Event(std::shared_ptr<Npu> npu, const void* caller, device::EventHandle handle) noexcept
      : npu_(std::move(npu)), caller_(caller), handle_(handle) {}
  std::shared_ptr<Mark> mark() const;
  Outcome check_device(const Stream& stream) const;

  const std::shared_ptr<Npu> npu_;
  const void* const caller_;
  const device::EventHandle handle_;
  mutable std::mutex mutex_;
  std::shared_ptr<Mark> mark_;  // null: never recorded, or reset
};

}  // namespace cistern::acl
