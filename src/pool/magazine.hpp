// Magazine: the last blocks that one thread freed in one pool, kept to serve its next requests of the same sizes
// without the pool's lock.
//
// Few and young: when there are too many, the older half goes back to the arena. What is not asked for again soon must
// not keep its neighbours apart. (A magazine that kept six blocks of each of 128 sizes for as long as they fitted in
// 4 MiB took the overhead of an OCR detection from 1.017 to 1.138; this one, to 1.03.)
//
// A block in a magazine stays live for the arena, so it is not merged, moved or given to others; the ledger counts it
// as cached. Every miss empties all magazines of its pool before anything else is tried, so what they hold never makes
// the pool grow or fail.
//
// The owner enters and leaves with plain stores (base/asymmetric_fence.hpp). Others may look into it or empty it only
// between hold() and let_go(), with the pool's lock held; the owner that finds its magazine held takes the slow path.
// An owner never waits while it is inside, so whoever holds waits for a few instructions.
#pragma once

#include <algorithm>
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
  static constexpr std::uint32_t kMostBlocks = 64;

  // `id` > 0 is unique in the process while the magazine lives.
  Magazine(std::uint32_t id, std::uint64_t most_bytes) noexcept : id_(id), most_bytes_(most_bytes) {
    older_.fill(kEnd);
    newer_.fill(kEnd);
    next_of_kind_.fill(kEnd);
    newest_of_kind_.fill(kEnd);
    for (Place place = 0; place + 1 < kEnd; ++place) newer_[place] = static_cast<Place>(place + 1);
  }
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
    Place* link = &newest_of_kind_[kind_of(granules)];
    for (; *link != kEnd; link = &next_of_kind_[*link]) {
      const Place place = *link;
      if (sizes_[place] != granules) continue;
      *link = next_of_kind_[place];
      return remove(place);
    }
    return core::kNoBlock;
  }
  // Whether put() may be called: there is room by number and by bytes.
  bool has_room(std::uint64_t bytes) const noexcept {
    return count_ < kMostBlocks && static_cast<std::uint64_t>(cached_bytes.get()) + bytes <= most_bytes_;
  }
  void put(std::uint32_t granules, core::BlockIndex block) noexcept {
    const Place place = unused_;
    unused_ = newer_[place];
    sizes_[place] = granules;
    blocks_[place] = block;
    Place& newest_of_kind = newest_of_kind_[kind_of(granules)];
    next_of_kind_[place] = newest_of_kind;
    newest_of_kind = place;
    const Place newest = older_[kEnd];
    older_[place] = newest;
    newer_[place] = kEnd;
    newer_[newest] = place;
    older_[kEnd] = place;
    ++count_;
    count_in(granules, 1);
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
    drain_oldest(count_, visit);
  }
  // The oldest half, and as many more as it takes for `bytes` to fit.
  template <typename Visit>
  void make_room(std::uint64_t bytes, Visit&& visit) {
    std::uint32_t number = (count_ + 1) / 2;
    std::uint32_t passed = 0;
    std::uint64_t left = static_cast<std::uint64_t>(cached_bytes.get());
    for (Place place = newer_[kEnd]; place != kEnd; place = newer_[place]) {
      if (passed >= number && left + bytes <= most_bytes_) break;
      left -= bytes_of(sizes_[place]);
      number = std::max(number, ++passed);
    }
    drain_oldest(number, visit);
  }

  // What its owner has done since the pool last took the counts over. *_high: the highest value of the sum meanwhile.
  OwnersCount allocated_bytes, allocated_high, requested_bytes, requested_high, allocations, frees;
  OwnersCount cached_bytes, cached_blocks;

 private:
  static constexpr std::uint64_t kLeastBlocks = 4;
  static constexpr unsigned kKindBits = 6;
  using Place = std::uint8_t;
  static constexpr Place kEnd = kMostBlocks;  // of every list

  static std::uint64_t bytes_of(std::uint32_t granules) noexcept {
    return std::uint64_t{granules} << core::kGranuleShift;
  }
  // Sizes of different kinds differ: most searches for what is not there end before they begin.
  static std::uint32_t kind_of(std::uint32_t granules) noexcept { return (granules * 0x9E3779B1u) >> (32 - kKindBits); }
  void count_in(std::uint32_t granules, std::int64_t blocks) noexcept {
    cached_bytes.add(blocks * static_cast<std::int64_t>(bytes_of(granules)));
    cached_blocks.add(blocks);
  }
  // Of a block that is in no list of its kind any more.
  core::BlockIndex remove(Place place) noexcept {
    newer_[older_[place]] = newer_[place];
    older_[newer_[place]] = older_[place];
    newer_[place] = unused_;
    unused_ = place;
    --count_;
    count_in(sizes_[place], -1);
    return blocks_[place];
  }
  template <typename Visit>
  void drain_oldest(std::uint32_t number, Visit&& visit) {
    for (; number > 0; --number) {
      const Place place = newer_[kEnd];
      Place* link = &newest_of_kind_[kind_of(sizes_[place])];
      while (*link != place) link = &next_of_kind_[*link];
      *link = next_of_kind_[place];
      visit(remove(place));
    }
  }

  const std::uint32_t id_;
  const std::uint64_t most_bytes_;
  std::atomic<bool> busy_{false};
  std::atomic<bool> held_{false};
  std::uint32_t count_ = 0;
  Place unused_ = 0;  // first of a list through newer_
  // Lists as numbers of places, ends included, so that taking out of the middle moves nothing: by age, a ring through
  // kEnd, and of each kind, the newest first.
  std::array<std::uint32_t, kMostBlocks> sizes_{};  // in granules
  std::array<core::BlockIndex, kMostBlocks> blocks_{};
  std::array<Place, kMostBlocks + 1> older_;
  std::array<Place, kMostBlocks + 1> newer_;
  std::array<Place, kMostBlocks> next_of_kind_;
  std::array<Place, 1u << kKindBits> newest_of_kind_;
};

}  // namespace cistern::pool
