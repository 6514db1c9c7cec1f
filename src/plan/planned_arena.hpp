// PlannedArena: serves a run from one block of a pool, every tensor at the offset that a plan has fixed for it.
//
// Nothing is searched and nothing depends on what came before: a tensor that is no larger than planned gets its planned
// place whatever the sizes of the others are, also where the run skips some or frees late, as long as nobody is on that
// place. So a run that was measured with the largest shapes serves all smaller ones, which an allocator that places as
// it goes cannot promise (a smaller tensor there leaves another hole).
//
// What the plan cannot serve (a tensor it does not know, one that is larger than planned, one whose place is still
// taken because the run has another order) is counted, and is the pool's, or is refused, as asked for.
//
// Thread-safety: one thread at a time, as a run has; the pool below may have any number of arenas. Nothing throws.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "plan/offset_plan.hpp"
#include "pool/pool.hpp"

namespace cistern::plan {

enum class Unplanned : std::uint8_t {
  from_pool,  // the pool serves it
  refuse,     // limit_exceeded (too large), not_found (unknown) or busy (place taken), and the text says what and why
};

struct PlannedCounts {
  std::uint64_t planned = 0;  // served at the planned place
  std::uint64_t unknown = 0;  // the plan has no such tensor
  std::uint64_t too_large = 0;
  std::uint64_t place_taken = 0;
  std::uint64_t unplanned() const noexcept { return unknown + too_large + place_taken; }
  friend bool operator==(const PlannedCounts&, const PlannedCounts&) = default;
};

class PlannedArena {
 public:
  // Takes plan.bytes from `pool`, which must outlive the arena. The plan is checked first (check_plan, O(n log n)).
  // Errors: corrupted (a wrong plan), unsupported (the plan's alignment is coarser than any device allocation's:
  // above 1 GiB or no power of two), the pool's own.
  static base::Result<std::unique_ptr<PlannedArena>> create(pool::Pool* pool, const std::vector<Lifetime>& lifetimes,
                                                            const OffsetPlan& plan,
                                                            Unplanned unplanned = Unplanned::from_pool) noexcept;
  // Gives the block back. Blocks that the pool served for the arena stay the caller's.
  ~PlannedArena();
  PlannedArena(const PlannedArena&) = delete;
  PlannedArena& operator=(const PlannedArena&) = delete;

  // Tensor `tensor` of the plan, with `bytes` > 0. O(log(live tensors)).
  base::Result<device::Address> allocate(std::uint64_t tensor, std::uint64_t bytes) noexcept;
  // What allocate() returned, from the plan or from the pool. Errors: double_free or invalid_argument for an address of
  // the arena at which nothing is live or that is within a tensor; otherwise the pool's.
  base::Status free(device::Address address) noexcept;

  const PlannedCounts& counts() const noexcept { return counts_; }
  device::Address base() const noexcept { return base_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t live() const noexcept { return live_.size(); }  // tensors at planned places

 private:
  struct Place {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  struct Live {
    std::uint64_t end = 0;
    std::uint64_t tensor = 0;
  };
  using LiveTensors = std::map<std::uint64_t, Live>;  // by offset

  PlannedArena(pool::Pool* pool, device::Address base, std::uint64_t bytes, std::vector<Place> places,
               Unplanned unplanned)
      : pool_(pool), base_(base), bytes_(bytes), places_(std::move(places)), unplanned_(unplanned) {}

  // The live tensor that shares an address with [offset, end), or end().
  LiveTensors::const_iterator in_the_way(std::uint64_t offset, std::uint64_t end) const noexcept;
  base::Result<device::Address> unplanned(std::uint64_t bytes, base::Status why) noexcept;

  pool::Pool* pool_;
  device::Address base_;
  std::uint64_t bytes_;
  std::vector<Place> places_;
  Unplanned unplanned_;
  LiveTensors live_;
  PlannedCounts counts_;
};

}  // namespace cistern::plan
