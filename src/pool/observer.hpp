// Observer: who is told of everything that happens in a pool, after it happened.
//
// A pool without an observer pays one branch a call. Events are handed over without the pool's lock, except those of
// pages and driver allocations, so their arrival says nothing about their order; the sequence number does. It is taken
// while the memory belongs to the calling thread alone: after a block was taken, before it is given back. So the free
// of an address always has a smaller number than its next allocation, whichever threads they happen in, with the lock,
// a cache in front of it or none. (Numbers may be missing: a free takes its number before it knows that it is refused.)
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "device/device.hpp"

namespace cistern::pool {

// Numbers are those of trace files: never reuse one.
enum class EventOp : std::uint8_t {
  allocate = 1,
  free = 2,
  fill = 3,           // a range of addresses got pages
  vacate = 4,         // a range gave its pages up
  driver_malloc = 5,  // a driver arena came
  driver_free = 6,    // a driver arena went back
  out_of_memory = 7,  // a request was refused for want of memory; no address
  pool_end = 8,       // the pool is gone, with all that was still live in it
  move = 9,           // a movable block was copied elsewhere
  mark = 10,          // the program says where it is; of no pool, the tag's text is what it says
  resize = 11,        // an elastic buffer with memory has another size now, both as for allocate
};
inline constexpr EventOp kLastEventOp = EventOp::resize;

struct Event {
  std::uint64_t sequence = 0;
  device::Address address = 0;
  std::uint64_t requested_bytes = 0;  // allocate and out_of_memory: as asked for; move: the address it had before
  std::uint64_t granted_bytes = 0;    // the block or range; 0 on frees: the allocation said it
  const void* caller = nullptr;       // return address into the code that called the pool; null: nobody in particular
  std::uint32_t tag = 0;
  std::uint32_t stream = 0;
  EventOp op = EventOp::allocate;
};

class Observer {
 public:
  // `order` is where numbers come from; observers that share it share one order of events. It outlives the observer.
  explicit Observer(std::atomic<std::uint64_t>& order) noexcept : order_(&order) {}
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // The number of an event that this thread is about to have. on_event() with it, or abandon_sequence(), must follow.
  virtual std::uint64_t next_sequence() noexcept { return take_number(); }
  // Nothing came of the event that next_sequence() numbered last.
  virtual void abandon_sequence() noexcept {}

  // From any thread, perhaps with the pool's lock held: must neither wait nor call the pool.
  virtual void on_event(const Event& event) noexcept = 0;
  // Before the first event with that tag; may be repeated. With the pool's lock held.
  virtual void on_tag(std::uint32_t id, std::string_view text) noexcept = 0;

 protected:
  std::uint64_t take_number() noexcept { return order_->fetch_add(1, std::memory_order_acq_rel) + 1; }

 private:
  std::atomic<std::uint64_t>* order_;
};

}  // namespace cistern::pool
