// Ring: events on their way from one thread to the writer, as words in a circle.
//
// One thread pushes, the writer's pops, neither waits for the other. What finds no room is dropped and counted. Every
// word is a store for the one and a cache miss for the other, so an event has only the words that say something: four
// for most frees, five for most allocations, and those of its stack.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "pool/observer.hpp"

namespace cistern::trace {

inline constexpr unsigned kMaxStackDepth = 62;

// An event as the recording thread knows it.
struct RawEvent {
  pool::Event event;
  std::uint64_t ticks = 0;
  std::uint32_t pool = 0;
  unsigned depth = 0;
  std::array<std::uint64_t, kMaxStackDepth> stack;  // the first `depth`; the rest is never looked at
};

class Ring {
 public:
  // `words`: a power of two, at least 128.
  explicit Ring(std::uint64_t words)
      : words_(std::make_unique_for_overwrite<std::uint64_t[]>(words)), mask_(words - 1) {}

  // False: no room. *half_full: the writer should come.
  bool push(const pool::Event& event, std::uint32_t pool, std::uint64_t ticks, const std::uint64_t* stack,
            unsigned depth, bool* half_full) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head + kMostHeadWords + depth - known_tail_ > mask_ + 1) {
      known_tail_ = tail_.load(std::memory_order_acquire);
      if (head + kMostHeadWords + depth - known_tail_ > mask_ + 1) {
        *half_full = true;
        return false;
      }
    }
    const std::uint64_t over = event.granted_bytes - event.requested_bytes;
    const std::uint64_t names = std::uint64_t{event.stream} << 32 | event.tag;
    const bool has_sizes = (event.requested_bytes | event.granted_bytes) != 0;
    const bool is_far = over >= kNear;
    std::uint64_t at = head;
    put(at++, std::uint64_t{pool} << 32 | (is_far ? 0 : over) << kOverShift | std::uint64_t{depth} << kDepthShift |
                  (has_sizes ? kHasSizes : 0) | (is_far ? kHasGranted : 0) | (names != 0 ? kHasNames : 0) |
                  static_cast<std::uint64_t>(event.op));
    put(at++, event.sequence);
    put(at++, ticks);
    put(at++, event.address);
    if (has_sizes) put(at++, event.requested_bytes);
    if (is_far) put(at++, event.granted_bytes);
    if (names != 0) put(at++, names);
    for (unsigned i = 0; i < depth; ++i) put(at++, stack[i]);
    head_.store(at, std::memory_order_release);
    *half_full = at - known_tail_ > (mask_ + 1) / 2;
    return true;
  }
  // The pushing thread is about to take a number above `newest` for an event, and has pushed (or given up) that event.
  // May be nested: the outermost counts.
  void announce(std::uint64_t newest) noexcept {
    if (announced_++ == 0) floor_.store(newest + 1, std::memory_order_relaxed);
  }
  void settle() noexcept {
    if (announced_ != 0 && --announced_ == 0) floor_.store(kNoFloor, std::memory_order_release);
  }
  static constexpr std::uint64_t kNoFloor = ~std::uint64_t{0};
  // The writer's: events of this thread below this number are in the ring, or will never be. Whoever has seen a number
  // in use, and then asks this, and then pops, misses no event up to it.
  std::uint64_t floor() const noexcept { return floor_.load(std::memory_order_acquire); }

  void count_dropped() noexcept {
    dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // The writer's end: visit(RawEvent) for the oldest `most` events that are there. Room is given back as it goes.
  // Returns whether more is there.
  template <typename Visit>
  bool pop(unsigned most, RawEvent* raw, const Visit& visit) {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t at = tail_.load(std::memory_order_relaxed);
    for (unsigned count = 1; at != head && count <= most; ++count) {
      at = read(at, raw);
      if (count % kEventsPerRelease == 0) tail_.store(at, std::memory_order_release);
      visit(*raw);
    }
    tail_.store(at, std::memory_order_release);
    return at != head;
  }

  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  // The pushing thread has ended: what is in the ring is its last.
  void retire() noexcept { retired_.store(true, std::memory_order_release); }
  bool is_retired() const noexcept { return retired_.load(std::memory_order_acquire); }

 private:
  static constexpr unsigned kMostHeadWords = 7;
  static constexpr unsigned kEventsPerRelease = 256;
  // First word: operation (4 bits), what follows (3), depth (8), granted - requested (16), pool (32).
  static constexpr std::uint64_t kOpBits = 0x0F;
  static constexpr std::uint64_t kHasSizes = 0x10;
  static constexpr std::uint64_t kHasGranted = 0x20;
  static constexpr std::uint64_t kHasNames = 0x40;
  static constexpr unsigned kDepthShift = 8;
  static constexpr unsigned kOverShift = 16;
  static constexpr std::uint64_t kNear = 1U << 16;

  void put(std::uint64_t at, std::uint64_t word) noexcept { words_[at & mask_] = word; }
  std::uint64_t get(std::uint64_t at) const noexcept { return words_[at & mask_]; }

  std::uint64_t read(std::uint64_t at, RawEvent* out) const noexcept {
    const std::uint64_t first = get(at++);
    out->pool = static_cast<std::uint32_t>(first >> 32);
    out->depth = static_cast<unsigned>(first >> kDepthShift & 0xFF);
    out->event.op = static_cast<pool::EventOp>(first & kOpBits);
    out->event.sequence = get(at++);
    out->ticks = get(at++);
    out->event.address = get(at++);
    out->event.requested_bytes = (first & kHasSizes) != 0 ? get(at++) : 0;
    out->event.granted_bytes =
        (first & kHasGranted) != 0 ? get(at++) : out->event.requested_bytes + (first >> kOverShift & (kNear - 1));
    const std::uint64_t names = (first & kHasNames) != 0 ? get(at++) : 0;
    out->event.stream = static_cast<std::uint32_t>(names >> 32);
    out->event.tag = static_cast<std::uint32_t>(names);
    for (unsigned i = 0; i < out->depth; ++i) out->stack[i] = get(at++);
    return at;
  }

  std::unique_ptr<std::uint64_t[]> words_;
  std::uint64_t mask_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::uint64_t known_tail_ = 0;  // the pusher's; never ahead of the true one
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> floor_{kNoFloor};
  std::uint32_t announced_ = 0;  // the pusher's
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::atomic<bool> retired_{false};
};

}  // namespace cistern::trace
