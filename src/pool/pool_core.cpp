#include "pool/pool_core.hpp"

namespace cistern::pool {
namespace {

bool starts_above(device::Address address, const Arena* arena) { return address < arena->base(); }

// What a magazine's owner did since the pool took its counts over.
void add_magazine(const Magazine& magazine, Ledger* ledger) {
  const auto grown = [](std::uint64_t sum, const OwnersCount& by) {
    return sum + static_cast<std::uint64_t>(by.get());
  };
  ledger->peak_allocated_bytes =
      std::max(ledger->peak_allocated_bytes, grown(ledger->allocated_bytes, magazine.allocated_high));
  ledger->peak_requested_bytes =
      std::max(ledger->peak_requested_bytes, grown(ledger->requested_bytes, magazine.requested_high));
  ledger->allocated_bytes = grown(ledger->allocated_bytes, magazine.allocated_bytes);
  ledger->requested_bytes = grown(ledger->requested_bytes, magazine.requested_bytes);
  ledger->allocations = grown(ledger->allocations, magazine.allocations);
  ledger->magazine_hits = grown(ledger->magazine_hits, magazine.allocations);
  ledger->frees = grown(ledger->frees, magazine.frees);
  ledger->cached_bytes = grown(ledger->cached_bytes, magazine.cached_bytes);
  ledger->live_blocks -= static_cast<std::uint64_t>(magazine.cached_blocks.get());
}

}  // namespace

Arena* PoolCore::other_arena_of(device::Address address) const noexcept {
  const auto above = std::upper_bound(by_address_.begin(), by_address_.end(), address, starts_above);
  if (above == by_address_.begin()) return nullptr;
  Arena* arena = *(above - 1);
  return arena->contains(address) ? arena : nullptr;
}

void PoolCore::add_arena(std::unique_ptr<Arena> arena) {
  const auto place = std::upper_bound(by_address_.begin(), by_address_.end(), arena->base(), starts_above);
  by_address_.insert(place, arena.get());
  arenas.push_back(std::move(arena));
}

std::unique_ptr<Arena> PoolCore::remove_arena(const Arena* arena) {
  by_address_.erase(std::find(by_address_.begin(), by_address_.end(), arena));
  const auto owner = std::find_if(arenas.begin(), arenas.end(), [&](const auto& each) { return each.get() == arena; });
  std::unique_ptr<Arena> removed = std::move(*owner);
  arenas.erase(owner);
  return removed;
}

Ledger PoolCore::ledger() const noexcept {
  Ledger ledger = counts;
  ledger.reserved_bytes = reserved;
  ledger.limit_bytes = options.limit_bytes;
  std::uint64_t held_bytes = 0;  // by callers and magazines
  for (const auto& arena : arenas) {
    const core::SpaceTotals& totals = arena->blocks().totals();
    held_bytes += totals.live_bytes;
    ledger.free_bytes += totals.free_ready_bytes;
    ledger.awaiting_free_bytes += totals.free_pending_bytes;
    ledger.live_blocks += totals.live_blocks;
    ledger.free_blocks += totals.free_blocks;
    ledger.largest_free_bytes = std::max(ledger.largest_free_bytes, arena->blocks().largest_free_bytes());
  }
  ledger.exposure = recent_sizes.exposure(ledger.largest_free_bytes, ledger.free_bytes);
  ledger.longest_repair_ns = pauses.requester.longest_ns();
  ledger.longest_hold_ns = pauses.others.longest_ns();
  ledger.moving_bytes = reserved - held_bytes - ledger.awaiting_free_bytes - ledger.free_bytes;
  held_bytes -= streams.parked_bytes;
  ledger.awaiting_free_bytes += streams.parked_bytes;
  ledger.live_blocks -= streams.parked.size();
  ledger.allocated_bytes = allocated;
  ledger.requested_bytes = requested;
  ledger.movable_blocks = movables.count();
  ledger.movable_bytes = movables.bytes();
  ledger.pinned_bytes = movables.pinned_bytes();
  for (const auto& magazine : magazines) add_magazine(*magazine, &ledger);
  ledger.allocated_bytes = held_bytes - ledger.cached_bytes;
  return ledger;
}

void PoolCore::note_backing_change(const Arena& arena, core::Range range, bool mapped) {
  if (!listener) return;
  untold_changes.push_back({arena.address_of(range.offset), range.bytes, arena.backing_generation(range), mapped});
}

void tell_backing_changes(PoolCore& pool) {
  std::shared_ptr<BackingListener> listener;
  std::vector<BackingChange> changes;
  {
    PoolGuard lock(pool.mutex);
    if (pool.untold_changes.empty()) return;
    listener = pool.listener;
    changes.swap(pool.untold_changes);
  }
  if (!listener) return;
  for (const BackingChange& change : changes) listener->on_backing_changed(change);
}

AllocationView PoolCore::view_of(const Arena& arena, core::BlockIndex block) const {
  const core::BlockView view = arena.blocks().view(block);
  const core::BlockRecord& record = arena.blocks().record(block);
  AllocationView out;
  out.address = arena.address_of(view.range.offset);
  out.requested_bytes = record.requested_bytes;
  out.granted_bytes = view.range.bytes;
  out.tag = tags.text(record.tag);
  out.name = names.text(record.name);
  out.flags = record.flags & kPublicFlags;
  return out;
}

}  // namespace cistern::pool
