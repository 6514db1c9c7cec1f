#include "pool/magazines.hpp"

#include <algorithm>
#include <atomic>
#include <unordered_map>

namespace cistern::pool {
namespace {

// The pools that threads may give blocks back to when they end. Never destroyed: threads end late.
struct OpenPools {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, PoolCore*> by_id;
};

OpenPools& open_pools() {
  static auto* const kPools = new OpenPools;
  return *kPools;
}

struct OwnMagazine {
  std::uint64_t pool_id = 0;
  Magazine* magazine = nullptr;
};

// The magazine used last; pool ids are never used again, so a stale entry is never taken for another pool's.
thread_local constinit OwnMagazine last_used;
thread_local constinit bool thread_is_ending = false;

// Gives blocks that were cached back to the arena.
class Release {
 public:
  explicit Release(PoolCore& pool) noexcept : blocks_(pool.page_arena->blocks()) {}
  void operator()(core::BlockIndex block) noexcept {
    set_cached_in(blocks_.record(block), kBeingFreed);
    blocks_.release(block);
    ++released_;
  }
  std::uint64_t released() const noexcept { return released_; }

 private:
  core::Suballocator& blocks_;
  std::uint64_t released_ = 0;
};

std::uint64_t release_all(PoolCore& pool, Magazine& magazine) {
  Release release(pool);
  magazine.drain(release);
  return release.released();
}

// All magazines of one thread; its end gives their blocks back.
class ThreadMagazines {
 public:
  ~ThreadMagazines() {
    thread_is_ending = true;
    last_used = {};
    OpenPools& pools = open_pools();
    std::lock_guard<std::mutex> registry(pools.mutex);
    for (const OwnMagazine& own : own_) {
      const auto open = pools.by_id.find(own.pool_id);
      if (open != pools.by_id.end()) retire(*open->second, own.magazine);
    }
  }

  Magazine* find(std::uint64_t pool_id) const noexcept {
    for (const OwnMagazine& own : own_) {
      if (own.pool_id == pool_id) return own.magazine;
    }
    return nullptr;
  }

  Magazine* make(PoolCore& pool) {
    static std::atomic<std::uint32_t> next_id{1};
    forget_closed_pools();
    auto magazine =
        std::make_unique<Magazine>(next_id.fetch_add(1, std::memory_order_relaxed), pool.options.magazine_bytes);
    Magazine* made = magazine.get();
    own_.push_back({pool.id, made});
    PoolGuard lock(pool.mutex);
    pool.magazines.push_back(std::move(magazine));
    return made;
  }

 private:
  static void retire(PoolCore& pool, Magazine* magazine) {
    PoolGuard lock(pool.mutex);
    release_all(pool, *magazine);
    take_over_counts(pool, *magazine);
    const auto place = std::find_if(pool.magazines.begin(), pool.magazines.end(),
                                    [&](const auto& each) { return each.get() == magazine; });
    pool.magazines.erase(place);
  }

  // A thread that outlives many pools must not remember them all.
  void forget_closed_pools() {
    OpenPools& pools = open_pools();
    std::lock_guard<std::mutex> registry(pools.mutex);
    std::erase_if(own_, [&](const OwnMagazine& own) { return pools.by_id.count(own.pool_id) == 0; });
  }

  std::vector<OwnMagazine> own_;
};

thread_local ThreadMagazines this_thread;

}  // namespace

Magazine* magazine_of_this_thread(PoolCore& pool) noexcept {
  if (last_used.pool_id == pool.id) return last_used.magazine;
  if (!pool.rules.has_magazines || thread_is_ending) return nullptr;
  Magazine* magazine = this_thread.find(pool.id);
  if (magazine == nullptr) magazine = this_thread.make(pool);
  last_used = {pool.id, magazine};
  return magazine;
}

Magazine* magazine_known_to_this_thread(const PoolCore& pool) noexcept {
  return last_used.pool_id == pool.id ? last_used.magazine : nullptr;
}

device::Address serve_from_magazine(PoolCore& pool, const AllocationRequest& request, const Need& need) noexcept {
  Magazine* magazine = magazine_of_this_thread(pool);
  if (magazine == nullptr || !magazine->accepts(need.bytes) || !magazine->enter()) return 0;
  const auto granules = static_cast<std::uint32_t>(need.bytes >> core::kGranuleShift);
  const core::BlockIndex block = magazine->take(granules);
  device::Address address = 0;
  if (block != core::kNoBlock) {
    core::Suballocator& blocks = pool.page_arena->blocks();
    core::BlockRecord& record = blocks.record(block);
    fill_record(record, request, 0);
    magazine->allocated_bytes.add(static_cast<std::int64_t>(need.bytes));
    magazine->requested_bytes.add(static_cast<std::int64_t>(request.bytes));
    magazine->allocated_high.set(std::max(magazine->allocated_high.get(), magazine->allocated_bytes.get()));
    magazine->requested_high.set(std::max(magazine->requested_high.get(), magazine->requested_bytes.get()));
    magazine->allocations.add(1);
    address = pool.page_arena->address_of(blocks.range_of_live(block).offset);
  }
  magazine->leave();
  return address;
}

bool keep_in_magazine(PoolCore& pool, device::Address address) noexcept {
  Magazine* magazine = magazine_of_this_thread(pool);
  if (magazine == nullptr || !pool.page_arena->contains(address)) return false;
  core::Suballocator& blocks = pool.page_arena->blocks();
  const core::BlockIndex block = blocks.find_live(pool.page_arena->offset_of(address));
  if (block == core::kNoBlock) return false;
  const std::uint64_t bytes = blocks.range_of_live(block).bytes;
  if (!magazine->accepts(bytes) || !magazine->enter()) return false;
  core::BlockRecord& record = blocks.record(block);
  const auto granules = static_cast<std::uint32_t>(bytes >> core::kGranuleShift);
  const bool kept =
      record.name == 0 && uses_of(record) == 0 && magazine->has_room(bytes) && claim_for_free(record, magazine->id());
  if (kept) {
    magazine->put(granules, block);
    magazine->allocated_bytes.add(-static_cast<std::int64_t>(bytes));
    magazine->requested_bytes.add(-static_cast<std::int64_t>(record.requested_bytes));
    magazine->frees.add(1);
  }
  magazine->leave();
  return kept;
}

void make_room_in(PoolCore& pool, Magazine& magazine, std::uint64_t bytes) noexcept {
  if (!magazine.accepts(bytes) || magazine.has_room(bytes)) return;
  Release release(pool);
  magazine.make_room(bytes, release);
}

MagazinesHeld::MagazinesHeld(const PoolCore& pool) noexcept : pool_(pool) {
  if (pool.magazines.empty()) return;
  for (const auto& magazine : pool.magazines) magazine->announce_hold();
  base::heavy_fence();
  for (const auto& magazine : pool.magazines) magazine->wait_until_held();
}

MagazinesHeld::~MagazinesHeld() {
  for (const auto& magazine : pool_.magazines) magazine->let_go();
}

std::uint64_t empty_magazines(PoolCore& pool) noexcept {
  std::int64_t cached = 0;
  for (const auto& magazine : pool.magazines) cached += magazine->cached_blocks.get();
  if (cached == 0) return 0;
  const MagazinesHeld held(pool);
  std::uint64_t released = 0;
  for (const auto& magazine : pool.magazines) released += release_all(pool, *magazine);
  return released;
}

void take_over_counts(PoolCore& pool, Magazine& magazine) noexcept {
  const auto grown = [](std::uint64_t sum, const OwnersCount& by) {
    return sum + static_cast<std::uint64_t>(by.get());
  };
  Ledger& counts = pool.counts;
  counts.peak_allocated_bytes = std::max(counts.peak_allocated_bytes, grown(pool.allocated, magazine.allocated_high));
  counts.peak_requested_bytes = std::max(counts.peak_requested_bytes, grown(pool.requested, magazine.requested_high));
  pool.allocated = grown(pool.allocated, magazine.allocated_bytes);
  pool.requested = grown(pool.requested, magazine.requested_bytes);
  counts.allocations = grown(counts.allocations, magazine.allocations);
  counts.magazine_hits = grown(counts.magazine_hits, magazine.allocations);
  counts.frees = grown(counts.frees, magazine.frees);
  for (OwnersCount* count : {&magazine.allocated_bytes, &magazine.allocated_high, &magazine.requested_bytes,
                             &magazine.requested_high, &magazine.allocations, &magazine.frees}) {
    count->set(0);
  }
}

RescueResult FlushMagazinesStep::run(PoolCore& pool, const Need&, PoolLock&) {
  RescueResult result;
  result.changed = empty_magazines(pool) > 0;
  return result;
}

void open_for_magazines(PoolCore& pool) {
  static std::atomic<std::uint64_t> next_id{1};
  base::prepare_asymmetric_fences();
  OpenPools& pools = open_pools();
  std::lock_guard<std::mutex> registry(pools.mutex);
  pool.id = next_id.fetch_add(1, std::memory_order_relaxed);
  pools.by_id.emplace(pool.id, &pool);
}

void close_for_magazines(PoolCore& pool) noexcept {
  OpenPools& pools = open_pools();
  {
    std::lock_guard<std::mutex> registry(pools.mutex);
    pools.by_id.erase(pool.id);
  }
  PoolGuard lock(pool.mutex);
  empty_magazines(pool);
  for (const auto& magazine : pool.magazines) take_over_counts(pool, *magazine);
  pool.magazines.clear();
}

}  // namespace cistern::pool
