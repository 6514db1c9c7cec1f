// The words of the core: offsets, granules, blocks, fit policies.
//
// The core divides a range of offsets [0, range_bytes). It never sees an address, a device, a thread or a clock: the
// same code runs the live pool, replay, tuning and tests at sizes no test machine has.
#pragma once

#include <cstdint>

namespace cistern::core {

// Blocks begin and end on multiples of this. 512 B is what NPU and GPU kernels ask of a tensor's start, and it keeps
// offsets of up to 2 TiB in 32 bits.
inline constexpr std::uint64_t kGranuleBytes = 512;
inline constexpr unsigned kGranuleShift = 9;

// A block's number in its arena's block table; stable while the block lives. 0 is no block, so that zeroed tables are
// empty tables.
using BlockIndex = std::uint32_t;
inline constexpr BlockIndex kNoBlock = 0;

// How a hole is chosen. See docs/architecture.md for what each costs.
enum class FitPolicy : std::uint8_t {
  best_fit,        // up to four holes of the request's bucket, the tightest, else the next bucket: constant time
  first_fit,       // the hole with the lowest address, exactly
  exact_best_fit,  // the tightest hole, lowest address among equals, exactly: walks buckets; the oracle of tests
};

enum class BlockState : std::uint8_t {
  unused = 0,  // a node of the table that is no block now
  live,        // handed out
  free,        // has pages, waits to be handed out
  vacant,      // addresses without pages
  moving,      // pages or contents are under way, in the hands of somebody who has dropped the lock
};

// Which work must be complete before a free block may be reused by anybody: slot 0 is "none, ready"; slots 1..15 are
// streams with pending work, `batch` the number of that stream's batch of frees.
using ReadinessSlot = std::uint8_t;
inline constexpr ReadinessSlot kReadySlot = 0;
inline constexpr unsigned kMaxReadinessSlots = 16;

struct Readiness {
  ReadinessSlot slot = kReadySlot;
  std::uint32_t batch = 0;
};

// A range of offsets in bytes.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t end() const noexcept { return offset + bytes; }
  friend bool operator==(const Range&, const Range&) = default;
};

// What a reader may know of a block.
struct BlockView {
  BlockIndex index = kNoBlock;
  Range range;
  BlockState state = BlockState::unused;
  Readiness readiness;
};

// Cold data of a live block, written and read by the pool only; the core keeps it beside the block table.
struct BlockRecord {
  std::uint64_t requested_bytes;
  std::uint32_t tag;         // interned id, 0 = none
  std::uint32_t name;        // interned id of the unique name, 0 = none
  std::uint32_t movable;     // number of the handle that may move the block, 0 = none
  std::uint32_t generation;  // counts the uses of this table entry: tells a stale index from a fresh one
  std::uint32_t flags;       // the pool's allocation flags
  std::uint32_t magazine;    // the magazine of the pool's that has the block, 0 = none; read and written atomically
};
static_assert(sizeof(BlockRecord) == 32);

}  // namespace cistern::core
