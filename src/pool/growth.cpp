#include "pool/growth.hpp"

#include <algorithm>
#include <string>

#include "base/bits.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "pool/observed.hpp"

namespace cistern::pool {
namespace {

// Least growth of driver arenas: the huge page of NPU and GPU drivers, which round up to it anyway.
constexpr std::uint64_t kDriverStepBytes = 2 * base::kMiB;

RescueResult limit_reached(const PoolCore& pool, std::uint64_t needed) {
  RescueResult result;
  result.limited = needed > room_under_own_limit(pool);
  if (!result.limited) {
    result.failure = refused_by_others(pool, needed);
    return result;
  }
  result.failure = base::Status(base::StatusCode::limit_exceeded,
                                "growing by " + base::format_bytes(needed) + " would pass the pool's limit of " +
                                    base::format_bytes(pool.options.limit_bytes) + " (" +
                                    base::format_bytes(pool.reserved) + " reserved)");
  return result;
}

// Adds pages behind the plan's target until the step is reached, as far as addresses and limit go.
void extend_to_step(const PoolCore& pool, const Arena& arena, core::RepairPlan* plan) {
  const std::uint64_t page = arena.page_bytes();
  if (plan->fills.empty()) return;
  core::Range& last = plan->fills.back();
  const core::BlockView vacant = arena.blocks().view(arena.blocks().find_containing(last.offset));
  const std::uint64_t wanted = base::round_up(pool.options.growth_bytes, page) / page;
  if (wanted <= plan->fill_pages) return;
  const std::uint64_t extra = std::min({wanted - plan->fill_pages, (vacant.range.end() - last.end()) / page,
                                        room_under_limit(pool) / page - plan->fill_pages});
  last.bytes += extra * page;
  plan->fill_pages += extra;
  plan->new_pages += extra;
}

RescueResult grow_expandable(PoolCore& pool, Arena& arena, const Need& need, PoolLock& lock) {
  RescueResult result;
  settle_stuck(pool, lock);
  core::RepairPlan plan;
  const std::uint64_t room_pages = room_under_limit(pool) / arena.page_bytes();
  if (!arena.blocks().plan_repair(need.bytes, need.alignment, {room_pages, false}, &plan)) {
    if (arena.blocks().plan_repair(need.bytes, need.alignment, {~std::uint64_t{0}, false}, &plan)) {
      return limit_reached(pool, plan.new_pages * arena.page_bytes());
    }
    result.failure = base::Status(base::StatusCode::out_of_memory,
                                  "no run of addresses is long enough in an arena of " +
                                      base::format_bytes(arena.range_bytes()) + "; trim the pool or raise its limit");
    return result;
  }
  core::RepairPlan larger = plan;
  extend_to_step(pool, arena, &larger);
  result.failure = transfer_pages(pool, arena, larger, lock).status;
  if (!result.failure.is_ok() && larger.fill_pages > plan.fill_pages) {
    result.failure = transfer_pages(pool, arena, plan, lock).status;
  }
  result.changed = result.failure.is_ok();
  if (result.changed) {
    ++pool.counts.growths;
    pool.pages_moved_since_growth = 0;
  }
  return result;
}

std::uint64_t largest_driver_arena(const PoolCore& pool) {
  std::uint64_t largest = 0;
  for (const auto& arena : pool.arenas) {
    if (arena->kind() == ArenaKind::driver) largest = std::max(largest, arena->range_bytes());
  }
  return largest;
}

RescueResult grow_by_arena(PoolCore& pool, const Need& need, PoolLock& lock) {
  RescueResult result;
  const std::uint64_t least = driver_bytes_for(pool, need);
  const std::uint64_t room = base::round_down(room_under_limit(pool), core::kGranuleBytes);
  if (least > room) return limit_reached(pool, least);
  std::uint64_t step = std::max(pool.options.growth_bytes, 2 * largest_driver_arena(pool));
  step = std::min(step, pool.options.max_growth_bytes);
  std::uint64_t bytes = base::round_up(std::max(least, step), kDriverStepBytes);
  bytes = std::min(bytes, room);
  for (;;) {
    auto made = add_driver_arena(pool, bytes, ArenaKind::driver, lock);
    if (made.is_ok()) {
      result.failure = {};
      result.changed = true;
      ++pool.counts.growths;
      return result;
    }
    result.failure = made.take_status();
    if (bytes == least) return result;
    bytes = std::max(least, base::round_down(bytes / 2, core::kGranuleBytes));
  }
}

}  // namespace

std::uint64_t room_under_own_limit(const PoolCore& pool) noexcept {
  const std::uint64_t used = pool.reserved + pool.promised;
  return pool.options.limit_bytes > used ? pool.options.limit_bytes - used : 0;
}

std::uint64_t room_under_limit(const PoolCore& pool) noexcept {
  const std::uint64_t own = room_under_own_limit(pool);
  return pool.contexts ? std::min(own, pool.contexts->room(pool.context)) : own;
}

bool is_own_limit_nearer(const PoolCore& pool) noexcept { return room_under_limit(pool) == room_under_own_limit(pool); }

bool claim_memory(PoolCore& pool, std::uint64_t bytes) noexcept {
  return !pool.contexts || bytes == 0 || pool.contexts->claim(pool.context, bytes);
}

void release_memory(PoolCore& pool, std::uint64_t bytes) noexcept {
  if (pool.contexts && bytes != 0) pool.contexts->release(pool.context, bytes);
}

base::Status refused_by_others(const PoolCore& pool, std::uint64_t bytes) {
  return base::Status(base::StatusCode::out_of_memory,
                      "growing by " + base::format_bytes(bytes) + " would take what other contexts hold, or are " +
                          "promised; the device has " + base::format_bytes(pool.contexts->room(pool.context)) +
                          " for this one");
}

std::uint64_t driver_bytes_for(const PoolCore& pool, const Need& need) noexcept {
  const std::uint64_t given = pool.device->info().alignment_bytes;
  return need.alignment <= given ? need.bytes : need.bytes + need.alignment - std::max(given, core::kGranuleBytes);
}

base::Result<Arena*> add_driver_arena(PoolCore& pool, std::uint64_t bytes, ArenaKind kind, PoolLock& lock) {
  if (!claim_memory(pool, bytes)) return refused_by_others(pool, bytes);
  lock.unlock();
  auto made = Arena::create_driver(*pool.device, pool.options.policy, bytes, kind);
  lock.lock();
  if (!made.is_ok()) {
    release_memory(pool, bytes);
    return made.take_status();
  }
  Arena* arena = made.value().get();
  pool.add_arena(made.take());
  pool.reserved += arena->mapped_bytes();
  pool.note_reserved_peak();
  observe_range(pool, EventOp::driver_malloc, arena->base(), arena->mapped_bytes());
  return arena;
}

RescueResult GrowStep::run(PoolCore& pool, const Need& need, PoolLock& lock) {
  if (pool.options.growth == Growth::expandable) return grow_expandable(pool, *pool.arenas.front(), need, lock);
  return grow_by_arena(pool, need, lock);
}

RescueResult ReleaseArenasStep::run(PoolCore& pool, const Need&, PoolLock& lock) {
  RescueResult result;
  result.changed = release_free_arenas(pool, 0, lock, &result.failure) > 0;
  return result;
}

std::uint64_t release_free_arenas(PoolCore& pool, std::uint64_t keep_bytes, PoolLock& lock, base::Status* failure) {
  std::uint64_t released = 0;
  std::vector<const Arena*> refused;
  while (pool.reserved > keep_bytes) {
    const Arena* largest = nullptr;
    for (const auto& arena : pool.arenas) {
      if (arena->kind() == ArenaKind::expandable || !arena->is_wholly_free()) continue;
      if (std::find(refused.begin(), refused.end(), arena.get()) != refused.end()) continue;
      if (largest == nullptr || arena->range_bytes() > largest->range_bytes()) largest = arena.get();
    }
    if (largest == nullptr) break;
    if (settle_streams(pool, lock)) continue;
    std::unique_ptr<Arena> arena = pool.remove_arena(largest);
    const std::uint64_t bytes = arena->mapped_bytes();
    const device::Address base = arena->base();
    lock.unlock();
    base::Status status = arena->give_back(nullptr);
    lock.lock();
    if (status.is_ok()) {
      observe_range(pool, EventOp::driver_free, base, bytes);
      released += bytes;
      pool.reserved -= bytes;
      release_memory(pool, bytes);
    } else {
      *failure = std::move(status);
      refused.push_back(arena.get());
      pool.add_arena(std::move(arena));
    }
  }
  return released;
}

void return_direct_arena(PoolCore& pool, std::unique_ptr<Arena> arena) {
  const device::Address base = arena->base();
  const base::Status status = arena->give_back(nullptr);
  PoolGuard lock(pool.mutex);
  if (status.is_ok()) {
    pool.reserved -= arena->range_bytes();
    release_memory(pool, arena->range_bytes());
    observe_range(pool, EventOp::driver_free, base, arena->range_bytes());
    return;
  }
  base::log(base::LogLevel::warning, "pool",
            "pool '" + pool.options.name + "' keeps a direct allocation of " +
                base::format_bytes(arena->range_bytes()) + " that the driver would not take: " + status.to_string());
  arena->become_driver_arena();
  pool.add_arena(std::move(arena));
}

base::Status fill_at_start(PoolCore& pool, std::uint64_t bytes) {
  PoolLock lock(pool.mutex);
  const bool expandable = pool.options.growth == Growth::expandable;
  const std::uint64_t unit = expandable ? pool.options.page_bytes : core::kGranuleBytes;
  const std::uint64_t least = expandable ? unit : std::min(bytes, kDriverStepBytes);
  bytes = base::round_up(bytes, unit);
  for (;;) {
    base::Status status;
    if (expandable) {
      core::RepairPlan plan;
      plan.target = {pool.arenas.front()->first_offset(), bytes};
      plan.fills = {plan.target};
      plan.fill_pages = plan.new_pages = bytes / unit;
      status = transfer_pages(pool, *pool.arenas.front(), plan, lock).status;
    } else {
      status = add_driver_arena(pool, bytes, ArenaKind::driver, lock).take_status();
    }
    if (status.is_ok() || bytes <= least) return status;
    bytes = std::max(least, base::round_down(bytes / 2, unit));
  }
}

}  // namespace cistern::pool
