#include "pool/inspect.hpp"

#include <algorithm>
#include <map>

#include "base/bits.hpp"
#include "pool/elastic.hpp"
#include "pool/movable_blocks.hpp"

namespace cistern::pool {
namespace {

template <typename Visit>
void for_each_live(const PoolCore& pool, Visit visit) {
  for (const auto& arena : pool.arenas) {
    const core::Suballocator& blocks = arena->blocks();
    for (auto index = blocks.first_block(); index != core::kNoBlock; index = blocks.next_block(index)) {
      const bool is_live = blocks.view(index).state == core::BlockState::live;
      if (is_live && cached_in(blocks.record(index)) == 0) visit(*arena, index);
    }
  }
}

ArenaSnapshot snapshot_arena(const PoolCore& pool, const Arena& arena) {
  ArenaSnapshot out;
  out.kind = arena.kind();
  out.base = arena.base();
  out.range_bytes = arena.range_bytes();
  out.mapped_bytes = arena.mapped_bytes();
  out.page_bytes = arena.page_bytes();
  out.buckets = arena.blocks().buckets();
  out.extents = arena.extents();
  const core::Suballocator& blocks = arena.blocks();
  for (auto index = blocks.first_block(); index != core::kNoBlock; index = blocks.next_block(index)) {
    const core::BlockView view = blocks.view(index);
    if (view.range.offset < arena.first_offset()) continue;  // the guard
    BlockSnapshot block;
    block.address = arena.address_of(view.range.offset);
    block.bytes = view.range.bytes;
    block.state = view.state;
    block.is_reserved =
        view.state == core::BlockState::moving && &arena == pool.page_arena && pool.elastics.is_rest(view.range);
    const core::BlockRecord& record = blocks.record(index);
    block.is_cached = view.state == core::BlockState::live && cached_in(record) != 0;
    if (view.state == core::BlockState::live && !block.is_cached) {
      block.requested_bytes = record.requested_bytes;
      block.tag = pool.tags.text(record.tag);
      block.name = pool.names.text(record.name);
      block.is_elastic = record.movable == kElasticNumber;
      block.is_movable = record.movable != 0 && !block.is_elastic;
      if (block.is_movable) block.pins = pool.movables.find(pool.movables.id_of(record.movable))->pins;
    }
    out.blocks.push_back(std::move(block));
  }
  return out;
}

// Every byte of a live or free block has a page, no byte of a vacant one has.
std::string check_pages(const PoolCore& pool, const Arena& arena) {
  if (arena.page_bytes() == 0) return {};
  std::uint64_t mapped = 0;
  for (const ExtentSnapshot& extent : arena.extents()) mapped += extent.bytes;
  const core::Suballocator& blocks = arena.blocks();
  bool moving = false;
  for (auto index = blocks.first_block(); index != core::kNoBlock; index = blocks.next_block(index)) {
    const core::BlockView view = blocks.view(index);
    if (view.range.offset < arena.first_offset()) continue;
    if (view.state == core::BlockState::moving) {
      moving |= &arena != pool.page_arena || !pool.elastics.is_rest(view.range);
      continue;
    }
    const bool has_pages = view.state != core::BlockState::vacant;
    if (!has_pages && view.range.bytes > (std::uint64_t{1} << 36)) continue;  // the unused tail of a large range
    for (std::uint64_t at = base::round_down(view.range.offset, arena.page_bytes()); at < view.range.end();
         at += arena.page_bytes()) {
      if ((arena.page_at(at) != device::kNoPage) != has_pages) {
        return "page at offset " + std::to_string(at) +
               (has_pages ? " is missing under a block with memory" : " is mapped under a vacant block");
      }
    }
  }
  if (!moving && mapped != arena.mapped_bytes()) {
    return "mapped bytes are " + std::to_string(mapped) + ", the arena counts " + std::to_string(arena.mapped_bytes());
  }
  return {};
}

}  // namespace

std::vector<TagSnapshot> holders_by_tag(const PoolCore& pool) {
  std::map<std::uint32_t, TagSnapshot> by_tag;
  for_each_live(pool, [&](const Arena& arena, core::BlockIndex index) {
    const core::BlockRecord& record = arena.blocks().record(index);
    TagSnapshot& tag = by_tag[record.tag];
    ++tag.blocks;
    tag.requested_bytes += record.requested_bytes;
    tag.allocated_bytes += arena.blocks().view(index).range.bytes;
  });
  std::vector<TagSnapshot> holders;
  for (auto& [id, tag] : by_tag) {
    tag.tag = pool.tags.text(id);
    holders.push_back(std::move(tag));
  }
  std::stable_sort(holders.begin(), holders.end(), [](const TagSnapshot& left, const TagSnapshot& right) {
    return left.allocated_bytes > right.allocated_bytes;
  });
  return holders;
}

std::vector<AllocationView> live_allocations(const PoolCore& pool) {
  std::vector<AllocationView> views;
  for_each_live(pool, [&](const Arena& arena, core::BlockIndex index) { views.push_back(pool.view_of(arena, index)); });
  return views;
}

Snapshot take_snapshot(const PoolCore& pool) {
  Snapshot snapshot;
  snapshot.pool = pool.options.name;
  snapshot.device = pool.device->info().kind + ":" + std::to_string(pool.device->info().ordinal);
  snapshot.ledger = pool.ledger();
  snapshot.tags = holders_by_tag(pool);
  snapshot.elastics = view_elastics(pool);
  for (const auto& arena : pool.arenas) snapshot.arenas.push_back(snapshot_arena(pool, *arena));
  if (pool.page_arena != nullptr) {
    for (const core::Range& range : pool.page_arena->blocks().wholly_free_pages()) {
      snapshot.stitchable_bytes += range.bytes;
    }
  }
  snapshot.requester_pauses = pool.pauses.requester.read();
  snapshot.other_pauses = pool.pauses.others.read();
  return snapshot;
}

std::string check_pool(const PoolCore& pool) {
  std::uint64_t live = 0;
  std::uint64_t requested = 0;
  std::uint64_t reserved = 0;
  std::uint64_t named = 0;
  for (const auto& arena : pool.arenas) {
    std::string wrong = arena->blocks().validate();
    if (wrong.empty()) wrong = check_pages(pool, *arena);
    if (!wrong.empty()) return std::string(arena_kind_name(arena->kind())) + " arena: " + wrong;
    reserved += arena->mapped_bytes();
  }
  for_each_live(pool, [&](const Arena& arena, core::BlockIndex index) {
    const core::BlockRecord& record = arena.blocks().record(index);
    live += arena.blocks().view(index).range.bytes;
    requested += record.requested_bytes;
    named += record.name != 0 ? 1 : 0;
  });
  const auto differs = [](std::string_view what, std::uint64_t counted, std::uint64_t kept) {
    return std::string(what) + " bytes are " + std::to_string(counted) + " by the blocks, " + std::to_string(kept) +
           " by the ledger";
  };
  if (live != pool.allocated) return differs("allocated", live, pool.allocated);
  if (requested != pool.requested) return differs("requested", requested, pool.requested);
  if (reserved != pool.reserved) return differs("reserved", reserved, pool.reserved);
  if (pool.contexts) {
    const std::uint64_t claimed = pool.contexts->held(pool.context);
    if (claimed != pool.reserved + pool.promised) {
      return differs("claimed", pool.reserved + pool.promised, claimed);
    }
  }
  if (named > pool.names.size()) return "more blocks carry a name than names are known";
  std::string wrong = check_movables(pool);
  if (wrong.empty()) wrong = check_elastics(pool);
  return wrong;
}

}  // namespace cistern::pool
