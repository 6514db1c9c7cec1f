// The part of StreamQueues that calls the driver: closing batches, asking events, waiting. Every call is made with the
// pool's lock dropped, so whatever was read before is looked at again after.
#include <algorithm>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "pool/pool_core.hpp"
#include "pool/stream_queues.hpp"
#include "pool/unlocked.hpp"

namespace cistern::pool {

namespace {

EventInFlight* find_event(StreamSlot& slot, device::EventHandle event) noexcept {
  const auto place = std::find_if(slot.in_flight.begin(), slot.in_flight.end(),
                                  [&](const EventInFlight& each) { return each.event == event; });
  return place == slot.in_flight.end() ? nullptr : &*place;
}

// The event of a batch that was just recorded goes behind the others of its slot. An event of a later batch that
// overtook it speaks for this one, too.
void put_in_flight(StreamQueues& queues, StreamSlot& slot, std::uint32_t batch, device::EventHandle event) {
  const bool is_overtaken = !slot.in_flight.empty() && slot.in_flight.back().batch > batch;
  if (is_overtaken || batch <= slot.retired) {
    queues.spare_events.push_back(event);
    return;
  }
  slot.in_flight.push_back({batch, 0, ++queues.next_order, event});
}

// A new event, or an old one again, behind what the stream has now.
base::Status record(device::Device& device, device::StreamHandle stream, device::EventHandle* event) {
  if (*event == 0) {
    auto made = device.create_event();
    if (!made.is_ok()) return made.take_status();
    *event = made.value();
  }
  return device.record_event(*event, stream);
}

struct Asked {
  core::ReadinessSlot slot;
  std::uint64_t generation;
  std::uint32_t batch;
  device::EventHandle event;
};

// What was complete is told to the slot if its numbers mean the same still; else that was told before.
void retire_same(PoolCore& pool, const Asked& asked) {
  if (pool.streams.slots[asked.slot].generation == asked.generation) retire_batches(pool, asked.slot, asked.batch);
}

// Everything that was submitted before is complete when this returns ok. For streams that no event can be had of.
base::Status wait_for_device(PoolCore& pool, PoolLock& lock) {
  std::vector<Asked> closed;
  for (core::ReadinessSlot slot = 1; slot < core::kMaxReadinessSlots; ++slot) {
    StreamSlot& each = pool.streams.slots[slot];
    if (!each.is_taken) continue;
    if (std::exchange(each.open_frees, 0) != 0) ++each.open_batch;
    each.open_bytes = 0;
    closed.push_back({slot, each.generation, each.open_batch - 1, 0});
  }
  base::Status waited = run_unlocked(pool, lock, [&] { return pool.device->wait_device(); });
  if (!waited.is_ok()) return waited;
  for (const Asked& each : closed) retire_same(pool, each);
  return {};
}

// Closes what is open, wherever it is.
void close_all(PoolCore& pool, PoolLock& lock, base::Status* failure) {
  for (core::ReadinessSlot slot = 1; slot < core::kMaxReadinessSlots; ++slot) {
    if (!pool.streams.slots[slot].needs_event()) continue;
    base::Status closed = close_batch(pool, slot, lock);
    if (!closed.is_ok()) *failure = std::move(closed);
  }
}

bool is_anything_pending(const PoolCore& pool) noexcept {
  return std::any_of(pool.streams.slots.begin(), pool.streams.slots.end(), [](const StreamSlot& slot) {
    return slot.is_taken && (slot.open_frees != 0 || slot.retired + 1 < slot.open_batch);
  });
}

}  // namespace

base::Status close_batch(PoolCore& pool, core::ReadinessSlot slot, PoolLock& lock) {
  StreamQueues& queues = pool.streams;
  StreamSlot& closing = queues.slots[slot];
  if (!closing.needs_event()) return {};
  // With all events in use, the youngest is recorded again and speaks for more.
  EventInFlight* again = nullptr;
  if (closing.in_flight.size() >= StreamQueues::kMostInFlight) again = &closing.in_flight.back();
  device::EventHandle event = 0;
  if (again != nullptr) {
    event = again->event;
    ++again->recorders;
  } else if (!queues.spare_events.empty()) {
    event = queues.spare_events.back();
    queues.spare_events.pop_back();
  }
  const device::StreamHandle stream = closing.stream;
  if (closing.open_frees != 0) ++closing.open_batch;
  const std::uint32_t batch = closing.open_batch - 1;
  closing.open_frees = 0;
  closing.open_bytes = 0;
  ++closing.recorders;
  lock.unlock();
  base::Status recorded = record(*pool.device, stream, &event);
  lock.lock();
  --closing.recorders;
  if (again != nullptr) {
    EventInFlight* entry = find_event(closing, event);
    --entry->recorders;
    if (recorded.is_ok()) entry->batch = std::max(entry->batch, batch);
  } else if (recorded.is_ok()) {
    put_in_flight(queues, closing, batch, event);
  } else if (event != 0) {
    queues.spare_events.push_back(event);
  }
  if (recorded.is_ok()) return recorded;
  return recorded.with_context("no event could be recorded on stream " + std::to_string(stream));
}

std::uint64_t ask_events(PoolCore& pool, PoolLock& lock, base::Status* failure) {
  StreamQueues& queues = pool.streams;
  if (queues.users != StreamQueues::Users::many) return 0;
  close_all(pool, lock, failure);
  std::vector<Asked> asked;
  for (core::ReadinessSlot slot = 1; slot < core::kMaxReadinessSlots; ++slot) {
    for (const EventInFlight& each : queues.slots[slot].in_flight)
      asked.push_back({slot, queues.slots[slot].generation, each.batch, each.event});
  }
  if (asked.empty()) return 0;
  lock.unlock();
  std::array<std::uint32_t, core::kMaxReadinessSlots> complete{};
  core::ReadinessSlot stopped = core::kReadySlot;  // what comes later in a stream is not complete either
  for (const Asked& each : asked) {
    if (each.slot == stopped) continue;
    auto answer = pool.device->query_event(each.event);
    if (!answer.is_ok()) *failure = answer.take_status();
    if (answer.is_ok() && answer.value()) {
      complete[each.slot] = each.batch;
    } else {
      stopped = each.slot;
    }
  }
  lock.lock();
  std::uint64_t bytes = 0;
  for (core::ReadinessSlot slot = 1; slot < core::kMaxReadinessSlots; ++slot) {
    if (complete[slot] != 0) bytes += retire_batches(pool, slot, complete[slot]);
  }
  return bytes;
}

bool wait_for_oldest(PoolCore& pool, PoolLock& lock, base::Status* failure) {
  StreamQueues& queues = pool.streams;
  if (queues.users != StreamQueues::Users::many) return false;
  close_all(pool, lock, failure);
  const EventInFlight* oldest = nullptr;
  core::ReadinessSlot of = core::kReadySlot;
  for (core::ReadinessSlot slot = 1; slot < core::kMaxReadinessSlots; ++slot) {
    for (const EventInFlight& each : queues.slots[slot].in_flight) {
      if (oldest != nullptr && oldest->order <= each.order) continue;
      oldest = &each;
      of = slot;
    }
  }
  if (oldest != nullptr) {
    // The event may be recycled meanwhile, when others find it complete; then this waits for more than it must.
    const Asked waiting{of, queues.slots[of].generation, oldest->batch, oldest->event};
    base::Status waited = run_unlocked(pool, lock, [&] { return pool.device->wait_event(waiting.event); });
    if (waited.is_ok()) {
      retire_same(pool, waiting);
      return true;
    }
    *failure = std::move(waited);
  }
  if (!is_anything_pending(pool)) return false;
  base::Status waited = wait_for_device(pool, lock);
  if (waited.is_ok()) {
    *failure = {};
    return true;
  }
  *failure = std::move(waited);
  return false;
}

bool settle_streams(PoolCore& pool, PoolLock& lock) {
  StreamQueues& queues = pool.streams;
  if (queues.users != StreamQueues::Users::one || !queues.only_has_freed) return false;
  end_single_stream(pool);
  queues.was_settled = true;
  // What is freed from now on is another batch, and pending.
  const StreamSlot& only = queues.slots[queues.only];
  const std::uint32_t last = only.open_batch;
  const std::uint64_t numbers = only.generation;
  base::Status failure;
  while (only.generation == numbers && only.retired < last && is_anything_pending(pool) &&
         wait_for_oldest(pool, lock, &failure)) {
  }
  if (!failure.is_ok()) {
    base::log(base::LogLevel::warning, "pool",
              "pool '" + pool.options.name + "' cannot move pages while work may use them: " + failure.to_string());
  }
  return true;
}

base::Status forget_stream(PoolCore& pool, device::StreamHandle stream) {
  const MissTurn turn(pool);
  PoolLock lock(pool.mutex);
  StreamQueues& queues = pool.streams;
  const auto place = std::find_if(queues.slots.begin(), queues.slots.end(), [&](const StreamSlot& slot) {
    return slot.is_taken && !slot.is_leaving && slot.stream == stream;
  });
  if (place == queues.slots.end()) return {};  // it has nothing here
  const auto slot = static_cast<core::ReadinessSlot>(place - queues.slots.begin());
  if (queues.users == StreamQueues::Users::one) end_single_stream(pool);
  // A block that it uses may be freed later: a batch for that is closed here as well.
  if (place->uses != 0) ++place->open_frees;
  place->is_leaving = true;
  base::Status closed = close_batch(pool, slot, lock);
  // Nothing can be recorded on it any more, so its work is waited for, or everybody's.
  if (!closed.is_ok()) {
    const std::uint32_t batch = place->open_batch - 1;
    const Asked waiting{slot, place->generation, batch, 0};
    base::Status waited = run_unlocked(pool, lock, [&] { return pool.device->wait_stream(stream); });
    if (waited.is_ok()) {
      retire_same(pool, waiting);
    } else {
      waited = wait_for_device(pool, lock);
    }
    closed = std::move(waited);
  }
  retire_batches(pool, slot, 0);  // gives the slot back where nothing is left
  return closed;
}

void end_streams(PoolCore& pool) {
  const MissTurn turn(pool);
  PoolLock lock(pool.mutex);
  StreamQueues& queues = pool.streams;
  if (queues.users == StreamQueues::Users::one) end_single_stream(pool);
  base::Status failure;
  while (is_anything_pending(pool) && wait_for_oldest(pool, lock, &failure)) {
  }
  if (!failure.is_ok()) {
    base::log(base::LogLevel::error, "pool",
              "pool '" + pool.options.name + "' goes while work may still use its memory: " + failure.to_string());
  }
  std::vector<device::EventHandle> events = std::move(queues.spare_events);
  for (const StreamSlot& slot : queues.slots) {
    for (const EventInFlight& each : slot.in_flight) events.push_back(each.event);
  }
  lock.unlock();
  for (const device::EventHandle event : events) {
    const base::Status destroyed = pool.device->destroy_event(event);
    if (!destroyed.is_ok()) base::log(base::LogLevel::warning, "pool", destroyed.to_string());
  }
}

}  // namespace cistern::pool
