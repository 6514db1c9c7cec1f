#include "pool/elastic.hpp"

#include <algorithm>
#include <string>

#include "base/bits.hpp"
#include "base/units.hpp"
#include "pool/elastic_pages.hpp"
#include "pool/magazines.hpp"
#include "pool/observed.hpp"
#include "pool/serve.hpp"
#include "pool/transfers.hpp"

namespace cistern::pool {
namespace {

base::Status is_at_work(ElasticId id) {
  return base::Status(base::StatusCode::busy, "another call is at work on elastic buffer " + std::to_string(id) +
                                                  "; calls on one buffer come one after the other");
}

void set_size(PoolCore& pool, Elastic& elastic, std::uint64_t bytes) {
  if (Magazine* magazine = magazine_known_to_this_thread(pool)) take_over_counts(pool, *magazine);
  if (elastic.backed != 0) {
    core::Suballocator& blocks = pool.page_arena->blocks();
    blocks.record(blocks.find_live(elastic.range.offset)).requested_bytes = bytes;
    pool.requested += bytes;
    pool.requested -= elastic.bytes;
  }
  elastic.bytes = bytes;
  pool.counts.peak_allocated_bytes = std::max(pool.counts.peak_allocated_bytes, pool.allocated);
  pool.counts.peak_requested_bytes = std::max(pool.counts.peak_requested_bytes, pool.requested);
}

void observe_size(const PoolCore& pool, const Elastic& elastic, const Elastic& before, const void* caller) {
  if (!pool.observer || (elastic.backed == before.backed && elastic.bytes == before.bytes)) return;
  if (before.backed == 0 && elastic.backed == 0) return;
  Event event;
  event.op = EventOp::resize;
  if (before.backed == 0) event.op = EventOp::allocate;
  if (elastic.backed == 0) event.op = EventOp::free;
  event.address = pool.page_arena->address_of(elastic.range.offset);
  event.requested_bytes = event.op == EventOp::free ? 0 : elastic.bytes;
  event.granted_bytes = event.op == EventOp::free ? 0 : elastic.backed;
  event.tag = elastic.tag;
  event.caller = caller;
  event.sequence = pool.observer->next_sequence();
  pool.observer->on_event(event);
}

void observe_refusal(const PoolCore& pool, const Elastic& elastic, std::uint64_t bytes, base::StatusCode code,
                     const void* caller) {
  if (!pool.observer) return;
  if (code != base::StatusCode::out_of_memory && code != base::StatusCode::limit_exceeded) return;
  Event event;
  event.op = EventOp::out_of_memory;
  event.requested_bytes = bytes;
  event.tag = elastic.tag;
  event.caller = caller;
  event.sequence = pool.observer->next_sequence();
  pool.observer->on_event(event);
}

// Nobody else works on the buffer until it ends.
class AtWork {
 public:
  explicit AtWork(Elastic& elastic) noexcept : elastic_(elastic) { elastic.is_busy = true; }
  ~AtWork() { elastic_.is_busy = false; }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

 private:
  Elastic& elastic_;
};

std::string sizes(std::uint64_t asked, std::uint64_t has) {
  return base::format_bytes(asked) + " where it has " + base::format_bytes(has);
}

}  // namespace

base::Result<ElasticView> reserve_elastic(PoolCore& pool, std::uint64_t max_bytes, std::uint32_t tag) {
  if (max_bytes == 0) return base::invalid_argument("an elastic buffer of at most 0 bytes; reserve at least 1");
  if (pool.page_arena == nullptr) {
    return base::unsupported("pool '" + pool.options.name +
                             "' maps no pages, so nothing in it grows in place; use a device that maps pages and "
                             "growth EXPANDABLE, or allocate the whole size");
  }
  PoolLock lock(pool.mutex);
  core::Suballocator& blocks = pool.page_arena->blocks();
  const std::uint64_t bytes = base::round_up(max_bytes, pool.page_arena->page_bytes());
  const core::Range range = bytes < max_bytes ? core::Range{} : blocks.highest_vacant(bytes);
  if (range.bytes == 0 || blocks.begin_move(range) == core::kNoBlock) {
    return base::Status(base::StatusCode::out_of_memory,
                        "no run of " + base::format_bytes(max_bytes) + " of addresses is vacant in pool '" +
                            pool.options.name + "', which has " + base::format_bytes(pool.page_arena->range_bytes()) +
                            " of them: eight times its limit; reserve less, or raise the limit");
  }
  return view_elastic(pool, pool.elastics.add(range, tag));
}

base::Status grow_elastic(PoolCore& pool, ElasticId id, std::uint64_t bytes, const void* caller) {
  const MissTurn turn(pool);
  const StreamsSettled settled(pool);
  PoolLock lock(pool.mutex);
  Elastic* elastic = pool.elastics.find(id);
  if (elastic == nullptr) return pool.elastics.explain(id, pool.options.name);
  if (elastic->is_busy) return is_at_work(id);
  if (bytes < elastic->bytes) {
    return base::invalid_argument("elastic buffer " + std::to_string(id) + " is to grow to " +
                                  sizes(bytes, elastic->bytes) + "; shrink it instead");
  }
  if (bytes > elastic->range.bytes) {
    return base::invalid_argument("elastic buffer " + std::to_string(id) + " is to grow to " +
                                  base::format_bytes(bytes) + ", but only " + base::format_bytes(elastic->range.bytes) +
                                  " of addresses are reserved for it");
  }
  const Elastic before = *elastic;
  const AtWork at_work(*elastic);
  const std::uint64_t wanted = base::round_up(bytes, pool.page_arena->page_bytes());
  ElasticPages pages(pool, *elastic, lock);
  settle_stuck(pool, lock);
  base::Status grown = pages.settle_stuck();
  if (grown.is_ok() && wanted > elastic->backed) grown = pages.grow(wanted);
  if (!grown.is_ok()) {
    ++pool.counts.failed_allocations;
    observe_refusal(pool, *elastic, bytes, grown.code(), caller);
    bytes = elastic->bytes;
  }
  set_size(pool, *elastic, bytes);
  observe_size(pool, *elastic, before, caller);
  return grown;
}

base::Status shrink_elastic(PoolCore& pool, ElasticId id, std::uint64_t bytes, const void* caller) {
  const MissTurn turn(pool);
  const StreamsSettled settled(pool);
  PoolLock lock(pool.mutex);
  Elastic* elastic = pool.elastics.find(id);
  if (elastic == nullptr) return pool.elastics.explain(id, pool.options.name);
  if (elastic->is_busy) return is_at_work(id);
  if (bytes > elastic->bytes) {
    return base::invalid_argument("elastic buffer " + std::to_string(id) + " is to shrink to " +
                                  sizes(bytes, elastic->bytes) + "; grow it instead");
  }
  const std::uint64_t wanted = base::round_up(bytes, pool.page_arena->page_bytes());
  const core::Range leaving{elastic->range.offset + wanted, elastic->backed - std::min(elastic->backed, wanted)};
  if (leaving.bytes != 0 && pool.page_arena->blocks().is_pinned(leaving)) {
    return base::Status(base::StatusCode::busy, "elastic buffer " + std::to_string(id) +
                                                    " can't give up pages of a registered range; unregister it first");
  }
  const Elastic before = *elastic;
  const AtWork at_work(*elastic);
  set_size(pool, *elastic, bytes);
  ElasticPages pages(pool, *elastic, lock);
  (void)pages.settle_stuck();  // refused: they stay where they are
  pages.shrink(wanted);
  if (elastic->backed < before.backed) ++pool.counts.trims;
  observe_size(pool, *elastic, before, caller);
  return {};
}

base::Status release_elastic(PoolCore& pool, ElasticId id, const void* caller) {
  device::Address address = 0;
  {
    PoolLock lock(pool.mutex);
    Elastic* elastic = pool.elastics.find(id);
    if (elastic == nullptr) return pool.elastics.explain(id, pool.options.name);
    if (elastic->is_busy) return is_at_work(id);
    core::Suballocator& blocks = pool.page_arena->blocks();
    const std::uint64_t end = elastic->range.offset + elastic->backed;
    for (std::uint64_t at = end; at < elastic->range.end();) {
      const core::BlockView rest = blocks.view(blocks.find_containing(at));
      at = rest.range.end();
      if (rest.range.offset == end && elastic->stuck != 0) {
        pool.stuck.push_back({pool.page_arena, rest.index, {end, elastic->stuck}});
      } else {
        blocks.settle(rest.index, core::BlockState::vacant);
      }
    }
    if (elastic->backed != 0) {
      // An ordinary block from here on, that only this call knows.
      address = pool.page_arena->address_of(elastic->range.offset);
      core::BlockRecord& record = blocks.record(blocks.find_live(elastic->range.offset));
      record.movable = 0;
      record.flags &= ~std::uint32_t{kFlagElastic};
      set_cached_in(record, 0);
    }
    pool.elastics.remove(id);
  }
  if (address == 0) return {};
  return pool.observer ? free_observed(pool, address, std::nullopt, caller) : give_up(pool, address);
}

base::Result<ElasticView> view_elastic(const PoolCore& pool, ElasticId id) {
  const Elastic* elastic = pool.elastics.find(id);
  if (elastic == nullptr) return pool.elastics.explain(id, pool.options.name);
  return ElasticView{id,
                     pool.page_arena->address_of(elastic->range.offset),
                     elastic->bytes,
                     elastic->backed,
                     elastic->range.bytes,
                     std::string(pool.tags.text(elastic->tag))};
}

std::vector<ElasticView> view_elastics(const PoolCore& pool) {
  std::vector<ElasticView> views;
  for (const auto& [id, elastic] : pool.elastics.all()) views.push_back(view_elastic(pool, id).take());
  return views;
}

std::string check_elastics(const PoolCore& pool) {
  for (const auto& [id, elastic] : pool.elastics.all()) {
    if (elastic.is_busy) continue;
    const std::string who = "elastic buffer " + std::to_string(id);
    const core::Suballocator& blocks = pool.page_arena->blocks();
    if (elastic.bytes > elastic.backed || elastic.backed > elastic.range.bytes) return who + " has impossible sizes";
    if (elastic.backed != 0) {
      const core::BlockIndex block = blocks.find_live(elastic.range.offset);
      if (block == core::kNoBlock || blocks.view(block).range.bytes != elastic.backed ||
          blocks.record(block).movable != kElasticNumber || blocks.record(block).requested_bytes != elastic.bytes) {
        return who + " and its live block disagree";
      }
    }
    std::uint64_t at = elastic.range.offset + elastic.backed;
    while (at < elastic.range.end()) {
      const core::BlockView rest = blocks.view(blocks.find_containing(at));
      if (rest.state != core::BlockState::moving || rest.range.offset != at)
        return who + " does not hold its addresses";
      at = rest.range.end();
    }
    if (at != elastic.range.end()) return who + " and the block behind it overlap";
    for (at -= elastic.range.bytes - elastic.backed - elastic.stuck; at < elastic.range.end();
         at += pool.page_arena->page_bytes()) {
      if (pool.page_arena->page_at(at) != device::kNoPage) return who + " has a page behind its memory";
    }
  }
  return {};
}

}  // namespace cistern::pool
