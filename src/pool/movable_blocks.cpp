#include "pool/movable_blocks.hpp"

#include <algorithm>
#include <string>

#include "base/bits.hpp"
#include "pool/magazines.hpp"
#include "pool/observed.hpp"
#include "pool/serve.hpp"

namespace cistern::pool {
namespace {

core::BlockIndex block_at(const Arena& arena, device::Address address) noexcept {
  return arena.blocks().find_live(arena.offset_of(address));
}

// The free of a block that is being copied: it is nobody's at once, but the copy may still read it, so it goes back to
// the arena by the mover's hand. Its handle is gone already.
void retire_while_copied(PoolCore& pool, Arena& arena, core::BlockIndex block, const void* caller) {
  const core::BlockRecord& record = arena.blocks().record(block);
  const core::Range range = arena.blocks().range_of_live(block);
  if (Magazine* magazine = magazine_known_to_this_thread(pool)) take_over_counts(pool, *magazine);
  pool.allocated -= range.bytes;
  pool.requested -= record.requested_bytes;
  ++pool.counts.frees;
  if (record.name != 0) pool.names.remove(record.name);
  arena.blocks().retire(block);
  if (!pool.observer) return;
  Event event;
  event.op = EventOp::free;
  event.address = arena.address_of(range.offset);
  event.caller = caller;
  event.sequence = pool.observer->next_sequence();
  pool.observer->on_event(event);
}

}  // namespace

MovableId make_movable(PoolCore& pool, const AllocationRequest& request, device::Address address) {
  PoolGuard lock(pool.mutex);
  Arena* arena = pool.arena_of(address);
  const core::BlockIndex block = block_at(*arena, address);
  const std::uint64_t bytes = arena->blocks().range_of_live(block).bytes;
  std::uint64_t alignment = std::max({request.alignment, pool.device->info().alignment_bytes, core::kGranuleBytes});
  // Blocks of whole pages begin at a page, see serve.cpp; so they do elsewhere.
  const std::uint64_t page = arena->page_bytes();
  if (page != 0 && base::is_aligned(bytes | arena->offset_of(address), page)) alignment = std::max(alignment, page);
  const MovableId id = pool.movables.add(address, bytes, alignment);
  core::BlockRecord& record = arena->blocks().record(block);
  record.movable = Movables::number_of(id);
  record.flags |= kFlagMovable;
  set_cached_in(record, kHeldByHandle);
  return id;
}

base::Status free_movable(PoolCore& pool, MovableId id, const void* caller) {
  device::Address address = 0;
  {
    PoolGuard lock(pool.mutex);
    const Movable* movable = pool.movables.find(id);
    if (movable == nullptr) return pool.movables.explain(id, pool.options.name);
    if (movable->pins != 0) {
      return base::Status(base::StatusCode::busy, "movable handle " + std::to_string(id) + " is pinned " +
                                                      std::to_string(movable->pins) +
                                                      " times; unpin it before it is freed");
    }
    address = movable->address;
    const bool is_copied = pool.movables.is_copying(id);
    pool.movables.remove(id);
    Arena* arena = pool.arena_of(address);
    const core::BlockIndex block = block_at(*arena, address);
    if (is_copied) {
      retire_while_copied(pool, *arena, block, caller);
      return {};
    }
    // An ordinary block from here on, that only this call knows.
    core::BlockRecord& record = arena->blocks().record(block);
    record.movable = 0;
    record.flags &= ~std::uint32_t{kFlagMovable};
    set_cached_in(record, 0);
  }
  return pool.observer ? free_observed(pool, address, std::nullopt, caller) : give_up(pool, address);
}

base::Result<device::Address> pin_movable(PoolCore& pool, MovableId id) {
  PoolLock lock(pool.mutex);
  Movable* movable = pool.movables.find(id);
  if (movable == nullptr) return pool.movables.explain(id, pool.options.name);
  if (movable->pins == ~std::uint32_t{0}) {
    return base::Status(base::StatusCode::busy, "movable handle " + std::to_string(id) + " has 2^32 - 1 pins");
  }
  pool.movables.pin(movable);
  // The caller may write: whoever copies must have stopped reading.
  pool.copy_ended.wait(lock, [&] { return !pool.movables.is_copying(id); });
  movable = pool.movables.find(id);
  if (movable == nullptr) return pool.movables.explain(id, pool.options.name);  // unpinned and freed meanwhile
  return movable->address;
}

base::Status unpin_movable(PoolCore& pool, MovableId id) {
  PoolGuard lock(pool.mutex);
  Movable* movable = pool.movables.find(id);
  if (movable == nullptr) return pool.movables.explain(id, pool.options.name);
  if (movable->pins == 0) {
    return base::invalid_argument("movable handle " + std::to_string(id) + " is not pinned");
  }
  pool.movables.unpin(movable);
  return {};
}

base::Result<MovableView> view_movable(const PoolCore& pool, MovableId id) {
  PoolGuard lock(pool.mutex);
  const Movable* movable = pool.movables.find(id);
  if (movable == nullptr) return pool.movables.explain(id, pool.options.name);
  const Arena* arena = pool.arena_of(movable->address);
  return MovableView{pool.view_of(*arena, block_at(*arena, movable->address)), movable->pins, movable->moves};
}

std::string check_movables(const PoolCore& pool) {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  for (const auto& arena : pool.arenas) {
    const core::Suballocator& in = arena->blocks();
    for (auto index = in.first_block(); index != core::kNoBlock; index = in.next_block(index)) {
      if (in.view(index).state != core::BlockState::live || in.record(index).movable == 0) continue;
      if (in.record(index).movable == kElasticNumber) continue;
      const Movable* movable = pool.movables.find(pool.movables.id_of(in.record(index).movable));
      const core::Range range = in.view(index).range;
      if (movable == nullptr || movable->address != arena->address_of(range.offset) || movable->bytes != range.bytes) {
        return "the movable block at offset " + std::to_string(range.offset) + " and its handle disagree";
      }
      if (!base::is_aligned(range.offset, movable->alignment)) {
        return "the movable block at offset " + std::to_string(range.offset) + " lost its alignment";
      }
      ++blocks;
      bytes += range.bytes;
    }
  }
  if (blocks == pool.movables.count() && bytes == pool.movables.bytes()) return {};
  return std::to_string(blocks) + " blocks of " + std::to_string(bytes) + " bytes are movable, " +
         std::to_string(pool.movables.count()) + " handles of " + std::to_string(pool.movables.bytes()) + " are known";
}

}  // namespace cistern::pool
