#include "pool/serve.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/bits.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "pool/growth.hpp"
#include "pool/inspect.hpp"
#include "pool/magazines.hpp"
#include "pool/oom_message.hpp"

namespace cistern::pool {
namespace {

// One request on its way.
struct Order {
  const AllocationRequest& request;
  Need need;
  std::uint32_t name = 0;        // claimed in the pool's name table; 0: none
  Magazine* magazine = nullptr;  // the calling thread's, if it has one
};

bool wants_direct(const PoolCore& pool, const Need& need) noexcept {
  return need.bytes >= pool.rules.direct_from_bytes;
}

base::Status explain_bad_request(const AllocationRequest& request) {
  if (request.bytes == 0) return base::invalid_argument("a request of 0 bytes; ask for at least 1");
  if ((request.flags & ~std::uint32_t{kFlagPinned}) != 0) {
    return base::invalid_argument("unknown allocation flags " + std::to_string(request.flags));
  }
  return base::invalid_argument("alignment " + std::to_string(request.alignment) +
                                " is not a power of two of at most " + std::to_string(kMaxAlignment));
}

// False: the request itself is wrong.
bool measure(const PoolCore& pool, const AllocationRequest& request, Need* need) noexcept {
  const RequestRules& rules = pool.rules;
  const bool aligned_well = (request.alignment & (request.alignment - 1)) == 0 && request.alignment <= kMaxAlignment;
  const bool flagged_well = (request.flags & ~std::uint32_t{kFlagPinned}) == 0;
  if (request.bytes == 0 || !aligned_well || !flagged_well) return false;
  need->alignment = std::max(request.alignment, rules.least_alignment);
  const std::uint64_t rounded = base::round_up(request.bytes + rules.red_zone_bytes, rules.round_bytes);
  // Sizes near 2^64 wrap when rounded; no device has them, so they are out of memory like any other giant.
  need->bytes = rounded < request.bytes ? request.bytes : rounded;
  // A block of whole pages that began inside a page would hold one page more for as long as it lives, and leave in both
  // end pages pieces that can't move. (LLaMA-7B's cache in blocks of 2 MiB: 1.117 of peak live without this rule.)
  if (rules.page_bytes != 0 && base::is_aligned(rounded, rules.page_bytes) && !wants_direct(pool, *need)) {
    need->alignment = std::max(need->alignment, rules.page_bytes);
  }
  return true;
}

// Makes the bookkeeping of a block that was just taken from `arena`.
device::Address record_block(PoolCore& pool, Arena& arena, core::BlockIndex block, const Order& order) {
  const core::Range range = arena.blocks().range_of_live(block);
  const device::Address address = arena.address_of(range.offset);
  fill_record(arena.blocks().record(block), order.request, order.name);
  if (order.name != 0) pool.names.bind(order.name, address);
  if (order.magazine != nullptr) take_over_counts(pool, *order.magazine);
  pool.allocated += range.bytes;
  pool.requested += order.request.bytes;
  ++pool.counts.allocations;
  pool.counts.peak_allocated_bytes = std::max(pool.counts.peak_allocated_bytes, pool.allocated);
  pool.counts.peak_requested_bytes = std::max(pool.counts.peak_requested_bytes, pool.requested);
  return address;
}

// 0: no hole fits.
device::Address serve_from_hole(PoolCore& pool, const Order& order) {
  if (order.need.slot != core::kReadySlot) {  // what the stream itself has freed
    for (const auto& arena : pool.arenas) {
      const core::BlockIndex block = arena->blocks().allocate(order.need.bytes, order.need.alignment, order.need.slot);
      if (block != core::kNoBlock) return record_block(pool, *arena, block, order);
    }
  }
  for (const auto& arena : pool.arenas) {  // the arena of pages, where there is one, is the first
    if (arena->kind() == ArenaKind::direct) continue;
    const core::BlockIndex block = arena->blocks().allocate(order.need.bytes, order.need.alignment);
    if (block != core::kNoBlock) return record_block(pool, *arena, block, order);
  }
  return 0;
}

base::Status name_taken(std::string_view name) {
  return base::invalid_argument("the name '" + std::string(name) +
                                "' is taken by a live allocation of this pool; free it first or use another");
}

// Gathers what the message needs; the lock is dropped for the question to the device.
base::Status explain_failure(PoolCore& pool, const Order& order, bool limited,
                             std::vector<std::pair<std::string, std::string>> tried, PoolLock& lock) {
  OutOfMemoryFacts facts;
  ++pool.counts.failed_allocations;
  facts.pool = pool.options.name;
  facts.device = pool.device->info().kind + ":" + std::to_string(pool.device->info().ordinal);
  facts.requested_bytes = order.request.bytes;
  facts.needed_bytes = order.need.bytes;
  facts.alignment = order.request.alignment;
  facts.tag = pool.tags.text(order.request.tag);
  facts.ledger = pool.ledger();
  facts.exposure = pool.recent_sizes.exposure(facts.ledger.largest_free_bytes, facts.ledger.free_bytes);
  facts.expandable = pool.options.growth == Growth::expandable;
  facts.limited = limited;
  {
    const MagazinesHeld held(pool);
    facts.holders = holders_by_tag(pool);
  }
  facts.tried = std::move(tried);
  lock.unlock();
  auto memory = pool.device->memory();
  if (memory.is_ok()) {
    facts.device_known = true;
    facts.device_free_bytes = memory.value().free_bytes;
    facts.device_total_bytes = memory.value().total_bytes;
  }
  if (pool.contexts) {
    facts.share = pool.contexts->share();
    facts.context = pool.contexts->view(pool.context);
    facts.contexts = pool.contexts->standings();  // a context that fails must not take others' locks
  }
  if (pool.pages) facts.pages_kept_bytes = pool.pages->counts().kept * pool.pages->page_bytes();
  return base::Status(limited ? base::StatusCode::limit_exceeded : base::StatusCode::out_of_memory,
                      explain_out_of_memory(facts));
}

// An oversize request that asks for its own driver allocation; 0 when limit or driver refuse: the arenas serve it then.
device::Address serve_directly(PoolCore& pool, const Order& order, PoolLock& lock) {
  const std::uint64_t bytes = driver_bytes_for(pool, order.need);
  if (bytes > room_under_limit(pool)) return 0;
  auto made = add_driver_arena(pool, bytes, ArenaKind::direct, lock);
  if (!made.is_ok()) return 0;
  ++pool.counts.growths;
  Arena& arena = *made.value();
  const core::BlockIndex block = arena.blocks().allocate(order.need.bytes, order.need.alignment);
  return block == core::kNoBlock ? 0 : record_block(pool, arena, block, order);
}

base::Result<device::Address> serve_miss(PoolCore& pool, Order order) {
  MissProgress progress;
  order.need.progress = &progress;
  const MissTurn turn(pool);
  const StreamsSettled settled(pool);
  PoolLock lock(pool.mutex);
  ++pool.counts.misses;
  std::vector<std::pair<std::string, std::string>> tried;
  if (order.need.bytes > pool.options.limit_bytes) return explain_failure(pool, order, true, {}, lock);
  if (wants_direct(pool, order.need)) {
    if (const device::Address address = serve_directly(pool, order, lock)) return address;
  }
  // Somebody may have grown the pool, or freed, while this thread waited for its turn.
  if (const device::Address address = serve_from_hole(pool, order)) return address;
  bool limited = false;
  for (auto step = pool.rescue_steps.begin(); step != pool.rescue_steps.end();) {
    const RescueResult result = (*step)->run(pool, order.need, lock);
    if (const device::Address address = serve_from_hole(pool, order)) return address;
    std::string outcome = result.changed ? "not enough" : "nothing to do";
    if (!result.failure.is_ok()) {
      outcome = result.failure.text();
      limited = result.limited;  // the wall met last is the one to tell
    }
    if (!result.is_idle) tried.emplace_back((*step)->name(), std::move(outcome));
    ++step;
    if (result.again) {
      step = pool.rescue_steps.begin();
      tried.clear();
    }
  }
  return explain_failure(pool, order, limited, std::move(tried), lock);
}

base::Status explain_bad_free(const PoolCore& pool, const Arena& arena, device::Address address) {
  char hex[32];
  std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(address));
  const core::BlockIndex block = arena.blocks().find_containing(arena.offset_of(address));
  const bool is_live = arena.blocks().view(block).state == core::BlockState::live;
  if (is_live && cached_in(arena.blocks().record(block)) == 0) {
    const AllocationView view = pool.view_of(arena, block);
    if ((view.flags & kFlagMovable) != 0) {
      return base::invalid_argument(std::string(hex) + " lies in a movable block; free its handle");
    }
    if ((view.flags & kFlagElastic) != 0) {
      return base::invalid_argument(std::string(hex) + " lies in an elastic buffer; release that");
    }
    return base::invalid_argument(std::string(hex) + " points " + std::to_string(address - view.address) +
                                  " bytes into a live block of " + std::to_string(view.granted_bytes) +
                                  " bytes; free the pointer that allocate returned");
  }
  return base::Status(base::StatusCode::double_free, std::string(hex) + " lies in free memory of pool '" +
                                                         pool.options.name +
                                                         "': it was freed already, or never returned by allocate");
}

}  // namespace

base::Result<device::Address> serve(PoolCore& pool, const AllocationRequest& request) {
  Order order{request, {}, 0, nullptr};
  if (!measure(pool, request, &order.need)) [[unlikely]]
    return explain_bad_request(request);
  order.need.stream = request.stream;
  if (pool.rules.has_magazines) {
    if (!request.stream && request.name.empty() && request.alignment <= pool.rules.least_alignment) {
      if (const device::Address address = serve_from_magazine(pool, request, order.need)) return address;
    }
    order.magazine = magazine_of_this_thread(pool);
  }
  {
    PoolLock lock(pool.mutex);
    if (request.stream || pool.streams.only_has_freed) [[unlikely]]
      order.need.slot = enter_streams(pool, request.stream, lock);
    if (!request.name.empty()) {
      if (pool.names.contains(request.name)) return name_taken(request.name);
      order.name = pool.names.claim(request.name);
    }
    pool.recent_sizes.record(order.need.bytes);
    if (!wants_direct(pool, order.need)) {
      if (const device::Address address = serve_from_hole(pool, order)) return address;
    }
    ++pool.streams.slots[order.need.slot].calls;
  }
  auto served = serve_miss(pool, order);
  PoolGuard lock(pool.mutex);
  --pool.streams.slots[order.need.slot].calls;
  if (!served.is_ok() && order.name != 0) pool.names.remove(order.name);
  return served;
}

namespace {

// The live block at `address`, which nobody else can free any more; no arena: explain_refused_free() says why.
inline FreedBlock claim(PoolCore& pool, device::Address address) noexcept {
  Arena* arena = pool.arena_of(address);
  if (arena == nullptr) return {};
  const core::BlockIndex block = arena->blocks().find_live(arena->offset_of(address));
  if (block == core::kNoBlock) return {};
  core::BlockRecord& record = arena->blocks().record(block);
  if (record.movable != 0) return {};  // its handle frees it, or its elastic buffer
  // Where there are magazines, an owner of one may be claiming the block at this moment, without the lock.
  const bool is_claimed = pool.rules.has_magazines ? claim_for_free(record, kBeingFreed) : cached_in(record) == 0;
  return is_claimed ? FreedBlock{arena, block} : FreedBlock{};
}

base::Status explain_refused_free(const PoolCore& pool, device::Address address) {
  const Arena* arena = pool.arena_of(address);
  if (arena != nullptr) return explain_bad_free(pool, *arena, address);
  return base::not_found("no memory of pool '" + pool.options.name + "' lies at " + std::to_string(address));
}

// Takes a claimed block out of the counts and names.
inline void end_ownership(PoolCore& pool, FreedBlock freed) noexcept {
  const core::BlockRecord& record = freed.arena->blocks().record(freed.block);
  const std::uint64_t bytes = freed.arena->blocks().range_of_live(freed.block).bytes;
  if (pool.rules.has_magazines) {
    if (Magazine* magazine = magazine_known_to_this_thread(pool)) {
      take_over_counts(pool, *magazine);
      if (freed.arena == pool.page_arena) make_room_in(pool, *magazine, bytes);
    }
  }
  pool.allocated -= bytes;
  pool.requested -= record.requested_bytes;
  ++pool.counts.frees;
  if (record.name != 0) pool.names.remove(record.name);
}

}  // namespace

base::Result<FreedBlock> withdraw(PoolCore& pool, device::Address address) {
  const FreedBlock freed = claim(pool, address);
  if (freed.arena == nullptr) return explain_refused_free(pool, address);
  end_ownership(pool, freed);
  return freed;
}

base::Status give_up(PoolCore& pool, device::Address address) {
  if (pool.options.quarantine) [[unlikely]]
    return give_up_on(pool, address, std::nullopt);
  if (pool.rules.has_magazines && keep_in_magazine(pool, address)) return {};
  std::unique_ptr<Arena> direct;
  {
    PoolGuard lock(pool.mutex);
    const FreedBlock freed = claim(pool, address);
    if (freed.arena == nullptr) [[unlikely]]
      return explain_refused_free(pool, address);
    end_ownership(pool, freed);
    if (uses_of(freed.arena->blocks().record(freed.block)) != 0) [[unlikely]] {
      (void)free_after_work(pool, freed, core::kReadySlot, 0);  // a full batch is closed by the next free on a stream
      return {};
    }
    freed.arena->blocks().release(freed.block);
    if (freed.arena->kind() != ArenaKind::direct) return {};
    direct = pool.remove_arena(freed.arena);
  }
  return_direct_arena(pool, std::move(direct));
  return {};
}

}  // namespace cistern::pool
