// Magazine: the freed blocks that one thread keeps of one pool, to serve its next requests of the same sizes without
// the pool's lock.
//
// A block in a magazine stays live for the arena, so it is not merged, moved or given to others; the ledger counts it
// as cached. Every miss empties all magazines of its pool before anything else is tried, so what they hold never makes
// the pool grow or fail.
//
// The owner enters and leaves with plain stores (base/asymmetric_fence.hpp). Others may look into it or empty it only
// between hold() and let_go(), with the pool's lock held; the owner that finds its magazine held takes the slow path.
// An owner never waits while it is inside, so whoever holds waits for a few instructions.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include "base/asymmetric_fence.hpp"
#include "core/types.hpp"

namespace cistern::pool {

// A number that its owner changes and others read: relaxed, because the sums are only exact when nobody works.
class OwnersCount {
 public:
  std::int64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }
  void set(std::int64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void add(std::int64_t amount) noexcept { set(get() + amount); }

 private:
  std::atomic<std::int64_t> value_{0};
};

class Magazine {
 public:
  // `id` > 0 is unique in the process while the magazine lives.
  Magazine(std::uint32_t id, std::uint64_t most_bytes) noexcept : id_(id), most_bytes_(most_bytes) {}
  Magazine(const Magazine&) = delete;
  Magazine& operator=(const Magazine&) = delete;

  std::uint32_t id() const noexcept { return id_; }
  // Larger blocks would push out all others.
  bool accepts(std::uint64_t bytes) const noexcept { return bytes <= most_bytes_ / kLeastBlocks; }

  // --- The owner ---------------------------------------------------------------------------------------------------
  // Between a successful enter() and leave(), the owner may use take() and put() and the counts.
  bool enter() noexcept {
    busy_.store(true, std::memory_order_relaxed);
    base::light_fence();
    if (!held_.load(std::memory_order_acquire)) return true;
    busy_.store(false, std::memory_order_release);
    return false;
  }
  void leave() noexcept { busy_.store(false, std::memory_order_release); }

  // The block put in last among those of exactly this size, or kNoBlock.
  core::BlockIndex take(std::uint32_t granules) noexcept {
    Slot* slot = find(granules);
    if (slot == nullptr || slot->count == 0) return core::kNoBlock;
    cached_bytes.add(-static_cast<std::int64_t>(bytes_of(granules)));
    cached_blocks.add(-1);
    return slot->blocks[--slot->count];
  }
  // Whether put() may be called: there is room by number and by bytes.
  bool has_room(std::uint32_t granules) noexcept {
    const Slot* slot = find_or_claim(granules);
    return slot != nullptr && slot->count < kDepth &&
           static_cast<std::uint64_t>(cached_bytes.get()) + bytes_of(granules) <= most_bytes_;
  }
  void put(std::uint32_t granules, core::BlockIndex block) noexcept {
    Slot* slot = find_or_claim(granules);
    slot->blocks[slot->count++] = block;
    cached_bytes.add(static_cast<std::int64_t>(bytes_of(granules)));
    cached_blocks.add(1);
  }

  // --- Others, with the pool's lock --------------------------------------------------------------------------------
  // To hold several, announce() each, then one heavy fence, then wait_until_held() each.
  void announce_hold() noexcept { held_.store(true, std::memory_order_relaxed); }
  void wait_until_held() const noexcept {
    while (busy_.load(std::memory_order_acquire)) std::this_thread::yield();
  }
  void let_go() noexcept { held_.store(false, std::memory_order_release); }

  // Takes every block out: visit(block). Held, or by the owner under the pool's lock.
  template <typename Visit>
  void drain(Visit&& visit) {
    for (Slot& slot : slots_) {
      while (slot.count > 0) visit(slot.blocks[--slot.count]);
    }
    cached_bytes.set(0);
    cached_blocks.set(0);
  }

  // What its owner has done since the pool last took the counts over. *_high: the highest value of the sum meanwhile.
  OwnersCount allocated_bytes, allocated_high, requested_bytes, requested_high, allocations, frees;
  OwnersCount cached_bytes, cached_blocks;

 private:
  static constexpr unsigned kSlotBits = 7;
  static constexpr unsigned kDepth = 6;
  static constexpr std::uint64_t kLeastBlocks = 4;

  struct Slot {
    std::uint32_t granules = 0;
    std::uint32_t count = 0;
    std::array<core::BlockIndex, kDepth> blocks{};
  };

  static std::uint64_t bytes_of(std::uint32_t granules) noexcept {
    return std::uint64_t{granules} << core::kGranuleShift;
  }
  // A size has two places where it may be.
  static std::uint32_t place_of(std::uint32_t granules) noexcept {
    return (granules * 0x9E3779B1u) >> (32 - kSlotBits);
  }
  Slot* find(std::uint32_t granules) noexcept {
    const std::uint32_t place = place_of(granules);
    if (slots_[place].granules == granules) return &slots_[place];
    return slots_[place ^ 1].granules == granules ? &slots_[place ^ 1] : nullptr;
  }
  Slot* find_or_claim(std::uint32_t granules) noexcept {
    if (Slot* slot = find(granules)) return slot;
    const std::uint32_t place = place_of(granules);
    Slot* empty = slots_[place].count == 0 ? &slots_[place] : &slots_[place ^ 1];
    if (empty->count != 0) return nullptr;
    empty->granules = granules;
    return empty;
  }

  const std::uint32_t id_;
  const std::uint64_t most_bytes_;
  std::atomic<bool> busy_{false};
  std::atomic<bool> held_{false};
  std::array<Slot, 1u << kSlotBits> slots_{};
};

}  // namespace cistern::pool
