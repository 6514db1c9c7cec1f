// Ring: events on their way from one thread to the writer, as words in a circle.
//
// One thread pushes, the writer's pops, neither waits for the other. What finds no room is dropped and counted.
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

  // False: dropped. *half_full: the writer should come.
  bool push(const pool::Event& event, std::uint32_t pool, std::uint64_t ticks, const std::uint64_t* stack,
            unsigned depth, bool* half_full) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    const std::uint64_t end = head + kHeadWords + depth;
    if (end - known_tail_ > mask_ + 1) {
      known_tail_ = tail_.load(std::memory_order_acquire);
      if (end - known_tail_ > mask_ + 1) {
        dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        *half_full = true;
        return false;
      }
    }
    std::uint64_t at = head;
    put(at++, std::uint64_t{pool} << 32 | std::uint64_t{depth} << 8 | static_cast<std::uint64_t>(event.op));
    put(at++, event.sequence);
    put(at++, ticks);
    put(at++, event.address);
    put(at++, event.requested_bytes);
    put(at++, event.granted_bytes);
    put(at++, std::uint64_t{event.stream} << 32 | event.tag);
    for (unsigned i = 0; i < depth; ++i) put(at++, stack[i]);
    head_.store(at, std::memory_order_release);
    *half_full = at - known_tail_ > (mask_ + 1) / 2;
    return true;
  }

  // The writer's end. False: nothing there.
  bool pop(RawEvent* out) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_.load(std::memory_order_acquire)) return false;
    std::uint64_t at = tail;
    const std::uint64_t first = get(at++);
    out->pool = static_cast<std::uint32_t>(first >> 32);
    out->depth = static_cast<unsigned>(first >> 8 & 0xFF);
    out->event.op = static_cast<pool::EventOp>(first & 0xFF);
    out->event.sequence = get(at++);
    out->ticks = get(at++);
    out->event.address = get(at++);
    out->event.requested_bytes = get(at++);
    out->event.granted_bytes = get(at++);
    const std::uint64_t last = get(at++);
    out->event.stream = static_cast<std::uint32_t>(last >> 32);
    out->event.tag = static_cast<std::uint32_t>(last);
    for (unsigned i = 0; i < out->depth; ++i) out->stack[i] = get(at++);
    tail_.store(at, std::memory_order_release);
    return true;
  }

  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  // The pushing thread has ended: what is in the ring is its last.
  void retire() noexcept { retired_.store(true, std::memory_order_release); }
  bool is_retired() const noexcept { return retired_.load(std::memory_order_acquire); }

 private:
  static constexpr unsigned kHeadWords = 7;
  void put(std::uint64_t at, std::uint64_t word) noexcept { words_[at & mask_] = word; }
  std::uint64_t get(std::uint64_t at) const noexcept { return words_[at & mask_]; }

  std::unique_ptr<std::uint64_t[]> words_;
  std::uint64_t mask_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::uint64_t known_tail_ = 0;  // the pusher's; never ahead of the true one
  std::atomic<std::uint64_t> dropped_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::atomic<bool> retired_{false};
};

}  // namespace cistern::trace
