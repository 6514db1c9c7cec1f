// Relocation: room for a request made by copying movable blocks out of a window of addresses.
//
// The last resort of a pool whose pages are used up, and the only one on devices without pages. The cheapest window is
// found on a picture of the pool, without the lock (evacuation.hpp). Then its holes are marked as moving, so that
// nobody else is served there, and its blocks are copied away one by one:
//   (lock) the destination becomes moving, the block is marked as being copied
//   (no lock) work on it that was enqueued while it was pinned ends; copies of 2 MiB, each after a look whether
//   somebody has pinned or freed the block (lock) nobody has: the destination is live, the handle points to it, the
//   source is moving until the window is empty; else: the destination is free again, the block is where it was
// Every block is live at exactly one place whenever the lock is free, so a failure anywhere loses nothing.
//
// Thread-safety: the pool's turn is held by whoever calls, and given up between two pieces when somebody waits for it;
// everything else goes on meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "compact/evacuation.hpp"
#include "compact/picture.hpp"
#include "device/device.hpp"
#include "pool/pool_core.hpp"
#include "pool/rescue.hpp"

namespace cistern::compact {

// A pin waits for one such piece at most.
inline constexpr std::uint64_t kCopyBytes = std::uint64_t{2} << 20;

// What one call may cost. A block is not begun that would pass the bytes; a copy is given up where the time ends.
struct RelocationBudget {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  std::uint64_t max_bytes = kUnlimited;
  std::uint64_t max_us = kUnlimited;  // and then work of the device is not waited for: a busy block stays
};

struct RelocationResult {
  bool made_room = false;  // a window is free now
  bool over_budget = false;
  bool busy = false;     // the device still works on a block
  base::Status failure;  // of the device
  std::uint64_t moves = 0;
  std::uint64_t bytes = 0;
};

class Relocator {
 public:
  // `clock`: of time budgets; null: the pool's.
  explicit Relocator(const base::Clock* clock = nullptr) noexcept : clock_(clock) {}
  ~Relocator();
  Relocator(const Relocator&) = delete;
  Relocator& operator=(const Relocator&) = delete;

  // Empties the cheapest window that holds `need`. What is begun and not ended counts for the next call: blocks stay
  // where they were moved to. `lock` holds the pool's lock on entry and return.
  RelocationResult make_room(pool::PoolCore& pool, const pool::Need& need, const RelocationBudget& budget,
                             pool::PoolLock& lock);

 private:
  class Run;
  struct Planned {
    PoolPicture picture;
    Evacuation plan;
  };

  // nullopt: nothing that moves would help.
  static std::optional<Planned> plan_room(pool::PoolCore& pool, const pool::Need& need, pool::PoolLock& lock);
  const base::Clock& clock_of(const pool::PoolCore& pool) const noexcept {
    return clock_ != nullptr ? *clock_ : *pool.clock;
  }

  const base::Clock* clock_;
  std::shared_ptr<device::Device> device_;  // that the event is of
  device::EventHandle event_ = 0;           // one, recorded again for every block; 0: not made yet
};

class RelocateStep final : public pool::RescueStep {
 public:
  std::string_view name() const noexcept override { return "relocate"; }
  pool::RescueOrder order() const noexcept override { return pool::RescueOrder::relocate; }
  pool::RescueResult run(pool::PoolCore& pool, const pool::Need& need, pool::PoolLock& lock) override;
  pool::BatchResult compact(pool::PoolCore& pool, const pool::Need& hole, const pool::BatchBudget& budget,
                            pool::PoolLock& lock) override;

 private:
  Relocator relocator_;
};

}  // namespace cistern::compact
