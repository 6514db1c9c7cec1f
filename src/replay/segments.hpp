// Segments: the caching allocator of a deep-learning framework, as a baseline to set a pool beside.
//
// It takes segments from the driver and never gives one back. Requests are rounded up to 512 bytes; those of at most
// 1 MiB come from segments of 2 MiB, those below 10 MiB from segments of 20 MiB, larger ones from a segment of their
// own size rounded up to 2 MiB. Small and large requests have free blocks of their own; the tightest serves, at equal
// sizes the one with the lowest address. What is left of a block becomes a block again where it is at least 512 bytes
// (small) or more than 1 MiB (large). Neighbours in a segment merge when freed. All streams share one pool.
//
// Numbers only: a place is a block's number, there is no memory.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <vector>

#include "replay/replay_target.hpp"

namespace cistern::replay {

class Segments final : public ReplayTarget {
 public:
  // capacity_bytes 0: no limit
  explicit Segments(std::uint64_t capacity_bytes = 0) noexcept : capacity_bytes_(capacity_bytes) {}

  // limit_exceeded where no free block serves and another segment would pass the capacity.
  base::Result<device::Address> allocate(std::uint64_t bytes) noexcept override;
  base::Status free(device::Address place) noexcept override;
  pool::Ledger ledger() const noexcept override;
  device::DeviceCounters counters() const noexcept override;
  device::Device* memory() noexcept override { return nullptr; }  // a driver malloc for each segment

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};

  struct Block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t requested_bytes = 0;
    Index previous = kNone;  // in its segment
    Index next = kNone;
    bool is_small = false;
    bool is_live = false;
  };
  struct FreeBlock {
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
    Index block = kNone;
    auto operator<=>(const FreeBlock&) const = default;  // NOLINT(modernize-use-nullptr): not in it, clang-tidy 14 errs
  };
  using FreeBlocks = std::set<FreeBlock>;  // tightest first, then lowest address

  FreeBlocks& free_blocks_of(const Block& block) noexcept { return block.is_small ? small_ : large_; }
  Index take_free(bool is_small, std::uint64_t bytes);
  Index add_segment(bool is_small, std::uint64_t bytes);
  Index new_block();
  void split(Index front, std::uint64_t bytes);
  Index merge(Index front, Index back);

  std::uint64_t capacity_bytes_;
  std::vector<Block> blocks_;
  std::vector<Index> unused_;
  FreeBlocks small_;
  FreeBlocks large_;
  std::uint64_t next_address_ = 0;
  pool::Ledger counts_;
};

}  // namespace cistern::replay
