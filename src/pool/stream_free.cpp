// Frees on streams, and of blocks that streams other than their own have used.
#include <utility>

#include "pool/pool_core.hpp"
#include "pool/serve.hpp"
#include "pool/stream_queues.hpp"

namespace cistern::pool {

base::Status give_up_on(PoolCore& pool, device::Address address, std::optional<device::StreamHandle> stream) {
  PoolLock lock(pool.mutex);
  // Quarantine waits for the default stream, too, which need never have called this pool.
  const device::StreamHandle known = stream.value_or(device::StreamHandle{0});
  const core::ReadinessSlot slot = enter_streams(pool, known, lock);
  if (!stream && pool.streams.users == StreamQueues::Users::one) end_single_stream(pool);
  if (slot == core::kReadySlot) {
    // No slot is left for this stream: the host waits for its work instead.
    lock.unlock();
    base::Status waited = pool.device->wait_stream(known);
    if (!waited.is_ok()) return waited.with_context("a block cannot be freed before the work on it is complete");
    lock.lock();
  }
  auto freed = withdraw(pool, address);
  if (!freed.is_ok()) return freed.take_status();
  const core::ReadinessSlot full = stream
                                       ? free_after_work(pool, freed.value(), slot, 0)
                                       : free_after_work(pool, freed.value(), core::kReadySlot, all_taken_slots(pool));
  if (full != core::kReadySlot) (void)close_batch(pool, full, lock);  // refused: the next event will speak for it
  return {};
}

base::Status record_use(PoolCore& pool, device::Address address, device::StreamHandle stream) {
  PoolLock lock(pool.mutex);
  const core::ReadinessSlot slot = enter_streams(pool, stream, lock);
  if (slot == core::kReadySlot) {
    return base::Status(base::StatusCode::busy,
                        "the memory of " + std::to_string(core::kMaxReadinessSlots - 1) +
                            " other streams is pending, and more streams cannot be told apart; wait for this stream "
                            "before the block is freed");
  }
  Arena* arena = pool.arena_of(address);
  if (arena != nullptr) {
    const core::BlockIndex block = arena->blocks().find_live(arena->offset_of(address));
    if (block != core::kNoBlock && cached_in(arena->blocks().record(block)) == 0) {
      core::BlockRecord& record = arena->blocks().record(block);
      if ((uses_of(record) & bit_of(slot)) == 0) ++pool.streams.slots[slot].uses;
      record.flags |= bit_of(slot) << kUsesShift;
      return {};
    }
  }
  return base::not_found("no live allocation of pool '" + pool.options.name + "' begins at " + std::to_string(address));
}

}  // namespace cistern::pool
