#include "compact/relocator.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "pool/growth.hpp"
#include "pool/observed.hpp"
#include "pool/stream_queues.hpp"

namespace cistern::compact {
namespace {

// Plans made for one call, each after the one before has met a block that was pinned, or a hole that was taken.
constexpr unsigned kMostPlans = 8;

}  // namespace

// One plan on its way.
class Relocator::Run {
 public:
  enum class Outcome { done, stale, over_budget, busy, failed };

  Run(Relocator& relocator, pool::PoolCore& pool, const RelocationBudget& budget, std::uint64_t began_ns,
      pool::PoolLock& lock, RelocationResult* result)
      : relocator_(relocator), pool_(pool), budget_(budget), began_ns_(began_ns), lock_(lock), result_(result) {}

  Outcome carry_out(const PoolPicture& picture, const Evacuation& plan) {
    Outcome outcome = close_window(picture.base(plan.arena), plan.window) ? Outcome::done : Outcome::stale;
    for (std::size_t i = 0; i < plan.moves.size() && outcome == Outcome::done; ++i) {
      outcome = move(picture, plan.moves[i]);
    }
    // Sources were read by copies only, which are complete; the window becomes one hole.
    for (const Held& held : held_) held.arena->blocks().settle(held.block, core::BlockState::free);
    return outcome;
  }

 private:
  // A moving block: a hole of the window, or where a block was.
  struct Held {
    pool::Arena* arena;  // lives as long as something in it moves
    core::BlockIndex block;
    core::Range range;
  };
  struct Copy {
    pool::Arena* from;
    pool::Arena* to;
    core::BlockIndex source;
    core::BlockIndex destination;
    core::Range range;  // of the source
    std::uint64_t to_offset;
  };

  // Marks the holes of the window as moving. False: something has changed there since the picture.
  bool close_window(device::Address base, const core::Range& window) {
    pool::Arena* arena = pool_.arena_of(base);
    if (arena == nullptr) return false;
    core::Suballocator& blocks = arena->blocks();
    for (std::uint64_t at = window.offset; at < window.end();) {
      const core::BlockView block = blocks.view(blocks.find_containing(at));
      const std::uint64_t end = std::min(block.range.end(), window.end());
      if (block.state == core::BlockState::free) {
        const core::BlockIndex held = blocks.begin_move({at, end - at});
        if (held == core::kNoBlock) return false;
        held_.push_back({arena, held, {at, end - at}});
      } else if (block.state != core::BlockState::live) {
        return false;
      }
      at = end;
    }
    return true;
  }

  Outcome move(const PoolPicture& picture, const BlockMove& planned) {
    const pool::Movable* movable = pool_.movables.find(planned.movable);
    Copy copy{pool_.arena_of(picture.base(planned.from_arena)),
              pool_.arena_of(picture.base(planned.to_arena)),
              core::kNoBlock,
              core::kNoBlock,
              planned.from,
              planned.to};
    if (movable == nullptr || copy.from == nullptr || copy.to == nullptr ||
        movable->address != copy.from->address_of(planned.from.offset)) {
      return Outcome::stale;
    }
    if (result_->bytes + planned.from.bytes > budget_.max_bytes || time_is_over()) return Outcome::over_budget;
    copy.source = copy.from->blocks().find_live(planned.from.offset);
    if (pool::uses_of(copy.from->blocks().record(copy.source)) != 0) return Outcome::stale;
    free_held_in(copy.to, {planned.to, planned.from.bytes});
    copy.destination = copy.to->blocks().begin_move({planned.to, planned.from.bytes});
    if (copy.destination == core::kNoBlock) return Outcome::stale;
    Outcome outcome = Outcome::stale;
    pool::CopyWatch watch;
    bool is_valid = pool_.movables.begin_copy(planned.movable, &watch);
    if (is_valid) {
      lock_.unlock();
      outcome = copy_contents(copy, watch);
      lock_.lock();
      is_valid = pool_.movables.end_copy(planned.movable, watch);
      if (!is_valid) {
        ++pool_.counts.void_moves;
        pool_.copy_ended.notify_all();
        outcome = outcome == Outcome::failed ? outcome : Outcome::stale;
      }
    }
    if (is_valid && outcome == Outcome::done && !copy.from->blocks().is_pinned(copy.range)) {
      commit(planned.movable, copy);
      return Outcome::done;
    }
    copy.to->blocks().settle(copy.destination, core::BlockState::free);
    if (copy.from->blocks().view(copy.source).state == core::BlockState::moving) {  // freed meanwhile
      copy.from->blocks().settle(copy.source, core::BlockState::free);
    }
    return outcome == Outcome::done ? Outcome::stale : outcome;
  }

  // What earlier moves of the plan have left where this one goes.
  void free_held_in(const pool::Arena* arena, const core::Range& range) {
    std::erase_if(held_, [&](const Held& held) {
      if (held.arena != arena || held.range.end() <= range.offset || held.range.offset >= range.end()) return false;
      held.arena->blocks().settle(held.block, core::BlockState::free);
      return true;
    });
  }

  // Without the lock.
  Outcome copy_contents(const Copy& copy, const pool::CopyWatch& watch) {
    device::Device& device = *pool_.device;
    if (!device.info().capabilities.copy) return Outcome::done;  // addresses only: nothing to copy
    const Outcome quiet = wait_for_work();
    if (quiet != Outcome::done) return quiet;
    const device::Address from = copy.from->address_of(copy.range.offset);
    const device::Address to = copy.to->address_of(copy.to_offset);
    for (std::uint64_t done = 0; done < copy.range.bytes; done += kCopyBytes) {
      if (pool_.turn.is_wanted()) pool_.turn.give_way();
      if (watch.is_void()) return Outcome::stale;
      if (done != 0 && time_is_over()) return Outcome::over_budget;
      const std::uint64_t bytes = std::min(kCopyBytes, copy.range.bytes - done);
      if (base::Status copied = device.copy(to + done, from + done, bytes); !copied.is_ok()) {
        return fail(std::move(copied));
      }
    }
    return Outcome::done;
  }

  // What was enqueued while the block was pinned may still write it, or read it.
  Outcome wait_for_work() {
    device::Device& device = *pool_.device;
    if (!device.info().capabilities.events) return Outcome::done;
    if (relocator_.event_ == 0) {
      auto event = device.create_event();
      if (!event.is_ok()) return fail(event.take_status());
      relocator_.device_ = pool_.device;
      relocator_.event_ = event.value();
    }
    if (base::Status recorded = device.record_event(relocator_.event_, 0); !recorded.is_ok()) {
      return fail(std::move(recorded));
    }
    if (budget_.max_us == RelocationBudget::kUnlimited) {
      base::Status waited = device.wait_event(relocator_.event_);
      return waited.is_ok() ? Outcome::done : fail(std::move(waited));
    }
    auto is_complete = device.query_event(relocator_.event_);
    if (!is_complete.is_ok()) return fail(is_complete.take_status());
    return is_complete.value() ? Outcome::done : Outcome::busy;
  }

  void commit(pool::MovableId id, const Copy& copy) {
    core::Suballocator& to = copy.to->blocks();
    core::BlockRecord& before = copy.from->blocks().record(copy.source);
    core::BlockRecord& after = to.record(copy.destination);
    const std::uint32_t generation = after.generation + 1;
    after.requested_bytes = before.requested_bytes;
    after.tag = before.tag;
    after.name = before.name;
    after.movable = before.movable;
    after.flags = before.flags;
    after.generation = generation;
    pool::set_cached_in(after, pool::kHeldByHandle);
    before.movable = 0;
    to.land(copy.destination);
    copy.from->blocks().retire(copy.source);
    held_.push_back({copy.from, copy.source, copy.range});
    const device::Address address = copy.to->address_of(copy.to_offset);
    if (after.name != 0) pool_.names.bind(after.name, address);
    pool::Movable* movable = pool_.movables.find(id);
    const device::Address old_address = std::exchange(movable->address, address);
    ++movable->moves;
    ++pool_.counts.moves;
    pool_.counts.moved_bytes += copy.range.bytes;
    ++result_->moves;
    result_->bytes += copy.range.bytes;
    pool::observe_move(pool_, old_address, address, copy.range.bytes);
  }

  bool time_is_over() const noexcept {
    return budget_.max_us != RelocationBudget::kUnlimited &&
           (relocator_.clock_of(pool_).now_ns() - began_ns_) / 1000 >= budget_.max_us;
  }
  Outcome fail(base::Status status) {
    result_->failure = std::move(status);
    return Outcome::failed;
  }

  Relocator& relocator_;
  pool::PoolCore& pool_;
  const RelocationBudget& budget_;
  const std::uint64_t began_ns_;
  pool::PoolLock& lock_;
  RelocationResult* result_;
  std::vector<Held> held_;
};

Relocator::~Relocator() {
  if (event_ != 0) (void)device_->destroy_event(event_);  // the device goes with it, or tells of it
}

std::optional<Relocator::Planned> Relocator::plan_room(pool::PoolCore& pool, const pool::Need& need,
                                                       pool::PoolLock& lock) {
  if (pool.movables.bytes() == pool.movables.pinned_bytes()) return std::nullopt;
  std::optional<PoolPicture> picture;
  {
    const pool::TimedPause hold(*pool.clock, &pool.pauses.others);
    picture.emplace(pool);
  }
  if (picture->free_bytes() < need.bytes) return std::nullopt;
  lock.unlock();
  auto plan = plan_evacuation(picture->arenas(), need.bytes, need.alignment);
  lock.lock();
  if (!plan) return std::nullopt;
  return Planned{std::move(*picture), std::move(*plan)};
}

RelocationResult Relocator::make_room(pool::PoolCore& pool, const pool::Need& need, const RelocationBudget& budget,
                                      pool::PoolLock& lock) {
  RelocationResult result;
  const std::uint64_t began_ns = clock_of(pool).now_ns();
  for (unsigned plans = 0; plans < kMostPlans; ++plans) {
    const auto planned = plan_room(pool, need, lock);
    if (!planned) return result;
    const auto& [picture, plan] = *planned;
    switch (Run(*this, pool, budget, began_ns, lock, &result).carry_out(picture, plan)) {
      case Run::Outcome::done:
        result.made_room = true;
        return result;
      case Run::Outcome::over_budget:
        result.over_budget = true;
        return result;
      case Run::Outcome::busy:
        result.busy = true;
        return result;
      case Run::Outcome::failed:
        return result;
      case Run::Outcome::stale:
        break;
    }
  }
  return result;
}

pool::RescueResult RelocateStep::run(pool::PoolCore& pool, const pool::Need& need, pool::PoolLock& lock) {
  pool::RescueResult result;
  const std::uint64_t began_ns = pool.clock->now_ns();
  RelocationResult relocated = relocator_.make_room(pool, need, {}, lock);
  if (relocated.moves != 0) pool.pauses.requester.record(pool.clock->now_ns() - began_ns);
  result.changed = relocated.moves != 0 || relocated.made_room;
  result.failure = std::move(relocated.failure);
  result.limited = pool::room_under_limit(pool) < need.bytes;
  return result;
}

// Nobody waits for a copy but a pin of the block, so a batch is all that is left of the budget.
pool::BatchResult RelocateStep::compact(pool::PoolCore& pool, const pool::Need& hole, const pool::BatchBudget& budget,
                                        pool::PoolLock& lock) {
  RelocationBudget bounded;
  bounded.max_bytes = budget.all_bytes;
  bounded.max_us = std::min(budget.all_us, RelocationBudget::kUnlimited - 1);  // a quiet moment waits for no work
  RelocationResult relocated = relocator_.make_room(pool, hole, bounded, lock);
  pool::BatchResult result;
  result.copied_bytes = relocated.bytes;
  result.failure = std::move(relocated.failure);
  return result;
}

}  // namespace cistern::compact
