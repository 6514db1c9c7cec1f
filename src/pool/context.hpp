// Contexts: the pools of one device, what each is promised and what each may take.
//
// Every pool that shares a device with others is a context of it: it has a minimum, which is promised to it, and a
// maximum, its limit. What a context holds up to its minimum is its own; what it holds above that is borrowed from the
// rest of the device. A promise is kept by never lending it: of the device's capacity, the larger of what a context
// holds and what it is promised is spoken for, and the sum of these never exceeds the capacity. So a request within a
// minimum is granted at once, whatever others do; nobody has to be asked, nothing has to be taken back. Promised memory
// that is not used costs nothing but that others can't borrow it; no page is made for it.
//
// This is the book: sums under a lock of its own, below all others, held for some tens of nanoseconds and never across
// a driver call. A pool claims before it grows and releases after it has given back, so the device never holds more
// than the book says. Who is refused may ask others for what they have borrowed and do not use: see lending.hpp.
//
// Thread-safety: all. Sizes in bytes. Cost: under 100 ns each, but views() and visits, which go through pools.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"
#include "device/page_pool.hpp"

namespace cistern::pool {

struct PoolCore;

// Where a context stands.
struct ContextView {
  std::string name;
  std::uint64_t allocated_bytes = 0;  // live blocks
  std::uint64_t reserved_bytes = 0;   // memory of the device that it holds, growth under way included
  std::uint64_t minimum_bytes = 0;    // promised
  std::uint64_t maximum_bytes = 0;    // its limit
  std::uint64_t borrowed_bytes = 0;   // reserved above the minimum
};

// Where the device stands: sums over its contexts.
struct DeviceShare {
  std::uint64_t contexts = 0;
  std::uint64_t capacity_bytes = 0;
  std::uint64_t promised_bytes = 0;  // the minima
  std::uint64_t reserved_bytes = 0;
  std::uint64_t borrowed_bytes = 0;
  std::uint64_t lendable_bytes = 0;  // neither held nor promised
};

using ContextId = std::uint64_t;  // never reused; 0: none

class ContextSet {
 public:
  // The set of that device in this process; it keeps the device open and ends with its last user.
  static std::shared_ptr<ContextSet> of(const std::shared_ptr<device::Device>& device);
  // One of its own, for what is not shared (replay, tests).
  explicit ContextSet(std::uint64_t capacity_bytes);
  ~ContextSet();
  ContextSet(const ContextSet&) = delete;
  ContextSet& operator=(const ContextSet&) = delete;

  // The pool becomes a context, with nothing. limit_exceeded: all minima together exceed the capacity; out_of_memory:
  // others have borrowed what would be promised, *missing bytes of it. Sets pool.context; others may visit the pool,
  // complete but for its contents, from then on.
  base::Result<ContextId> join(PoolCore& pool, std::uint64_t minimum, std::uint64_t maximum, std::uint64_t* missing);
  // Nobody visits the pool any more when this returns: it is about to end.
  void close(ContextId id) noexcept;
  // What it held is nobody's.
  void leave(ContextId id) noexcept;

  // False: the context may not have so much more; nothing has changed.
  bool claim(ContextId id, std::uint64_t bytes) noexcept;
  void release(ContextId id, std::uint64_t bytes) noexcept;
  // What the device still has for this context, whatever its own maximum says.
  std::uint64_t room(ContextId id) const noexcept;
  std::uint64_t held(ContextId id) const noexcept;
  // Of that, above the minimum.
  std::uint64_t borrowed(ContextId id) const noexcept;
  bool is_alone(ContextId id) const noexcept;

  // The device has so much more; for what decides itself how large it is (replay).
  void add_capacity(std::uint64_t bytes) noexcept;
  // What contexts have given up for others so far.
  void note_lent(std::uint64_t bytes) noexcept;
  std::uint64_t lent_bytes() const noexcept;

  DeviceShare share() const noexcept;
  // One context, but for what is allocated, which its pool knows.
  ContextView view(ContextId id) const;
  // All, in the order of their making. Takes each pool's lock in turn: none may be held.
  std::vector<ContextView> views();
  // The same without what is allocated: no pool's lock is taken, so nobody waits.
  std::vector<ContextView> standings() const;
  // The page size of the contexts with a minimum, which share their pages; 0: there is none with pages.
  std::uint64_t page_bytes() const noexcept;

  // Calls visit(pool) for every other context, those that have borrowed most first, until it returns false. A pool that
  // is visited can't end meanwhile. No lock of any pool may be held, and no turn.
  void visit_others(ContextId id, const std::function<bool(PoolCore&)>& visit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cistern::pool
