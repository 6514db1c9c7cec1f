// Red zones: bytes behind every block that nobody may write, and a look at them when the block is freed.
//
// With CISTERN_RED_ZONE_BYTES each block is longer by so much than was asked for. Where the host can reach the device's
// memory, everything from the last requested byte to the block's end is painted with a pattern when the block is served
// and compared when it is freed; who wrote there wrote past the end, and the report says how far, of which block, its
// tag, and where it was allocated and freed. Where the host can't, the zone still keeps writes past a short end from
// reaching the next block.
//
// A write before a block's beginning lands in the zone of the block before it, or is not seen. What work on a stream
// writes after the free is not seen either. Movable and elastic blocks have zones that nobody looks at: a copy would
// have to carry them along, and growing would have to repaint.
//
// Thread-safety: all; the table's lock is its own and the lowest. Cost: painting and comparing the zone, one entry in a
// table for each block; nothing where it is off.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/result.hpp"
#include "device/device.hpp"

namespace cistern::pool {

struct PoolCore;
struct AllocationRequest;

// A block and what lies behind it.
struct ZonedBlock {
  device::Address address = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t granted_bytes = 0;  // the zone included
  std::uint32_t tag = 0;
  const void* caller = nullptr;  // who allocated it
};

class RedZones {
 public:
  explicit RedZones(device::Device& device) noexcept : device_(device) {}

  // The block has just been served, and is its caller's alone.
  void paint(const ZonedBlock& block);
  // A free of the block begins: it is forgotten. None: it is not one of these.
  std::optional<ZonedBlock> take(device::Address address);
  // The free was refused.
  void put_back(const ZonedBlock& block);
  // How far behind the last requested byte the last changed byte lies, itself included; 0: nobody wrote there.
  std::uint64_t overrun(const ZonedBlock& block) const noexcept;

 private:
  device::Device& device_;
  std::mutex mutex_;
  std::unordered_map<device::Address, ZonedBlock> blocks_;
};

// Pool::allocate, free and free_async of a pool that an observer or red zones watch. `caller` is who called them. No
// lock held.
base::Result<device::Address> allocate_watched(PoolCore& pool, const AllocationRequest& request, const void* caller);
base::Status free_watched(PoolCore& pool, device::Address address, std::optional<device::StreamHandle> stream,
                          const void* caller);

}  // namespace cistern::pool
