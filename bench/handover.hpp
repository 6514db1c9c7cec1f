// Handover: a bounded queue of places from one thread to another, so that what one allocates the other frees.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>

#include "bench/contenders/contender.hpp"

namespace cistern::bench {

class Handover {
 public:
  // By one thread. place != 0. Waits while the queue is full.
  void put(Place place) noexcept {
    std::atomic<Place>& cell = cells_[put_++ % kCells];
    wait_until([&cell] { return cell.load(std::memory_order_acquire) == 0; });
    cell.store(place, std::memory_order_release);
  }
  // By one other thread. Waits while it is empty.
  Place take() noexcept {
    std::atomic<Place>& cell = cells_[taken_++ % kCells];
    Place place = 0;
    wait_until([&] { return (place = cell.load(std::memory_order_acquire)) != 0; });
    cell.store(0, std::memory_order_release);
    return place;
  }

 private:
  static constexpr std::size_t kCells = 1024;

  // Not for ever at full speed: there may be fewer processors than threads.
  template <typename Condition>
  static void wait_until(Condition&& condition) noexcept {
    for (int tries = 0; !condition(); ++tries) {
      if (tries > 200) std::this_thread::yield();
    }
  }

  std::array<std::atomic<Place>, kCells> cells_{};
  alignas(64) std::size_t put_ = 0;
  alignas(64) std::size_t taken_ = 0;
};

}  // namespace cistern::bench
