// The bookkeeping of StreamQueues: slots, transitions, parking. What calls the driver is in stream_events.cpp.
#include "pool/stream_queues.hpp"

#include <algorithm>
#include <utility>

#include "pool/pool_core.hpp"

namespace cistern::pool {

namespace {

core::ReadinessSlot slot_of(const StreamQueues& queues, device::StreamHandle stream) noexcept {
  for (core::ReadinessSlot slot = 1; slot < core::kMaxReadinessSlots; ++slot) {
    const StreamSlot& each = queues.slots[slot];
    if (each.is_taken && !each.is_leaving && each.stream == stream) return slot;
  }
  return core::kReadySlot;
}

// A slot that nobody has, else one that nothing depends on.
core::ReadinessSlot take_slot(StreamQueues& queues, device::StreamHandle stream) noexcept {
  core::ReadinessSlot found = core::kReadySlot;
  for (core::ReadinessSlot slot = 1; slot < core::kMaxReadinessSlots; ++slot) {
    const StreamSlot& each = queues.slots[slot];
    if (each.is_taken && !each.is_idle()) continue;
    if (found == core::kReadySlot || !each.is_taken) found = slot;
    if (!each.is_taken) break;
  }
  if (found == core::kReadySlot) return found;
  StreamSlot& slot = queues.slots[found];
  slot.stream = stream;
  slot.is_taken = true;
  slot.generation = ++queues.last_generation;
  ++queues.streams_seen;
  slot.is_leaving = false;
  slot.open_batch = 1;  // idle: no number of an earlier batch is remembered anywhere
  slot.retired = 0;
  slot.open_bytes = 0;
  return found;
}

}  // namespace

void end_single_stream(PoolCore& pool) {
  StreamQueues& queues = pool.streams;
  queues.users = StreamQueues::Users::many;
  if (!std::exchange(queues.only_has_freed, false)) return;
  StreamSlot& first = queues.slots[queues.only];
  for (const auto& arena : pool.arenas) {
    const std::uint64_t bytes = arena->blocks().change_readiness(core::kReadySlot, 0, {queues.only, first.open_batch});
    first.open_frees += bytes != 0 ? 1 : 0;
    first.open_bytes += bytes;
  }
}

bool StreamSlot::needs_event() const noexcept {
  const std::uint32_t covered = in_flight.empty() ? retired : std::max(retired, in_flight.back().batch);
  return is_taken && (open_frees != 0 || (covered + 1 < open_batch && recorders == 0));
}

bool StreamSlot::is_quiet() const noexcept {
  return open_frees == 0 && recorders == 0 && in_flight.empty() && retired + 1 == open_batch;
}

core::ReadinessSlot enter_streams(PoolCore& pool, std::optional<device::StreamHandle> stream, PoolLock& lock) {
  StreamQueues& queues = pool.streams;
  core::ReadinessSlot slot = stream ? slot_of(queues, *stream) : core::kReadySlot;
  if (queues.users == StreamQueues::Users::one && slot != queues.only) {
    const bool has_freed = queues.only_has_freed;
    end_single_stream(pool);
    if (has_freed) {
      (void)close_batch(pool, queues.only, lock);                   // refused: a miss tries again
      slot = stream ? slot_of(queues, *stream) : core::kReadySlot;  // the lock was dropped
    }
  }
  if (!stream) return core::kReadySlot;
  if (slot == core::kReadySlot) slot = take_slot(queues, *stream);
  if (slot == core::kReadySlot) {
    // Slots of streams that were forgotten come free when their events are asked, which is done in a miss only.
    lock.unlock();
    {
      const MissTurn turn(pool);
      PoolLock asking(pool.mutex);
      base::Status failure;
      (void)ask_events(pool, asking, &failure);  // refused: there is no slot, which the caller can live with
    }
    lock.lock();
    slot = slot_of(queues, *stream);
    if (slot == core::kReadySlot) slot = take_slot(queues, *stream);
  }
  if (queues.users == StreamQueues::Users::none) {
    queues.users = StreamQueues::Users::one;
    queues.only = slot;
  }
  return slot;
}

SlotMask all_taken_slots(const PoolCore& pool) noexcept {
  SlotMask mask = 0;
  for (core::ReadinessSlot slot = 1; slot < core::kMaxReadinessSlots; ++slot) {
    if (pool.streams.slots[slot].is_taken) mask |= bit_of(slot);
  }
  return mask;
}

namespace {

// What record_use() noted of a block that is freed now.
SlotMask take_uses(StreamQueues& queues, const core::BlockRecord& record) noexcept {
  const SlotMask uses = uses_of(record);
  for (core::ReadinessSlot slot = 1; slot < core::kMaxReadinessSlots && uses != 0; ++slot) {
    if ((uses & bit_of(slot)) != 0) --queues.slots[slot].uses;
  }
  return uses;
}

}  // namespace

core::ReadinessSlot free_after_work(PoolCore& pool, FreedBlock freed, core::ReadinessSlot slot, SlotMask also) {
  StreamQueues& queues = pool.streams;
  const SlotMask uses = also | take_uses(queues, freed.arena->blocks().record(freed.block));
  // A driver allocation of one block cannot go back while work uses it; it serves on as an arena until it is released.
  if (freed.arena->kind() == ArenaKind::direct) freed.arena->become_driver_arena();
  core::Suballocator& blocks = freed.arena->blocks();
  const std::uint64_t bytes = blocks.range_of_live(freed.block).bytes;
  if (queues.users != StreamQueues::Users::many) {  // all that was ever submitted is this one stream's
    queues.only_has_freed |= slot != core::kReadySlot || uses != 0;
    blocks.release(freed.block);
    return core::kReadySlot;
  }
  core::ReadinessSlot full = core::kReadySlot;
  const auto join_open_batch = [&](core::ReadinessSlot of) {
    StreamSlot& stream = queues.slots[of];
    if (stream.is_leaving) return core::Readiness{of, stream.open_batch - 1};  // its last batch has been closed
    ++stream.open_frees;
    stream.open_bytes += bytes;
    const bool is_full = stream.open_frees >= StreamQueues::kFreesPerBatch || stream.open_bytes >= pool.reserved / 8;
    if (is_full && stream.in_flight.size() < StreamQueues::kMostInFlight) full = of;
    return core::Readiness{of, stream.open_batch};
  };
  ParkedBlock parked{freed.arena, freed.block, {}, {}};
  for (core::ReadinessSlot other = 1; other < core::kMaxReadinessSlots; ++other) {
    if (other == slot || (uses & bit_of(other)) == 0) continue;
    const core::Readiness wait = join_open_batch(other);
    if (wait.batch > queues.slots[other].retired) parked.waits.push_back(wait);
  }
  if (slot != core::kReadySlot) parked.home = join_open_batch(slot);
  if (parked.waits.empty()) {
    blocks.release(freed.block, parked.home);
    return full;
  }
  ++queues.slots[parked.home.slot].uses;  // its numbers must keep their meaning
  set_cached_in(blocks.record(freed.block), kBeingFreed);
  queues.parked_bytes += bytes;
  queues.parked.push_back(std::move(parked));
  return full;
}

namespace {

bool is_home_of_parked(const StreamQueues& queues, core::ReadinessSlot slot) noexcept {
  return std::any_of(queues.parked.begin(), queues.parked.end(),
                     [slot](const ParkedBlock& parked) { return parked.home.slot == slot; });
}

}  // namespace

std::uint64_t retire_batches(PoolCore& pool, core::ReadinessSlot slot, std::uint32_t batch) {
  StreamQueues& queues = pool.streams;
  StreamSlot& stream = queues.slots[slot];
  stream.retired = std::max(stream.retired, batch);
  std::erase_if(stream.in_flight, [&](const EventInFlight& each) {
    if (each.batch > stream.retired || each.recorders != 0) return false;
    queues.spare_events.push_back(each.event);
    return true;
  });
  std::uint64_t bytes = 0;
  for (const auto& arena : pool.arenas) bytes += arena->blocks().make_ready(slot, stream.retired);
  std::erase_if(queues.parked, [&](ParkedBlock& parked) {
    std::erase_if(parked.waits,
                  [&](const core::Readiness& wait) { return wait.slot == slot && wait.batch <= stream.retired; });
    if (!parked.waits.empty()) return false;
    const std::uint64_t freed = parked.arena->blocks().range_of_live(parked.block).bytes;
    const core::Readiness home = parked.home;
    const bool is_ready = home.slot == core::kReadySlot || home.batch <= queues.slots[home.slot].retired;
    parked.arena->blocks().release(parked.block, is_ready ? core::Readiness{} : home);
    queues.parked_bytes -= freed;
    --queues.slots[home.slot].uses;
    bytes += freed;
    return true;
  });
  if (stream.is_leaving && stream.is_idle()) {
    stream = {};  // the next stream's generation is another
  } else if (stream.is_quiet() && !is_home_of_parked(queues, slot)) {
    stream.open_batch = 1;
    stream.retired = 0;
    stream.generation = ++queues.last_generation;
  }
  return bytes;
}

StreamsSettled::StreamsSettled(PoolCore& pool) : pool_(pool) {
  const PoolGuard lock(pool.mutex);
  ++pool.streams.movers;
}

StreamsSettled::~StreamsSettled() {
  const PoolGuard lock(pool_.mutex);
  StreamQueues& queues = pool_.streams;
  if (--queues.movers != 0 || !std::exchange(queues.was_settled, false)) return;
  if (queues.streams_seen != 1 || !queues.parked.empty()) return;
  StreamSlot& only = queues.slots[queues.only];
  if (!only.is_taken || only.is_leaving || only.recorders != 0) return;
  const bool is_pending = !only.is_idle();
  only.open_frees = 0;
  only.open_bytes = 0;
  const std::uint32_t last = only.open_batch++;
  retire_batches(pool_, queues.only, last);  // not complete, perhaps, but there is nobody else to tell
  queues.users = StreamQueues::Users::one;
  queues.only_has_freed = is_pending;
}

}  // namespace cistern::pool
