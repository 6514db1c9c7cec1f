// Snapshot: a consistent copy of a pool's whole structure, for people, reports and tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/suballocator.hpp"
#include "core/types.hpp"
#include "device/device.hpp"
#include "pool/context.hpp"
#include "pool/elastics.hpp"
#include "pool/ledger.hpp"
#include "pool/pauses.hpp"

namespace cistern::pool {

enum class ArenaKind : std::uint8_t { expandable, driver, direct };
std::string_view arena_kind_name(ArenaKind kind) noexcept;

// A live allocation, or what is known of one.
struct AllocationView {
  device::Address address = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t granted_bytes = 0;
  std::string tag;
  std::string name;
  std::uint32_t flags = 0;
};

// A live allocation that a handle stands for.
struct MovableView {
  AllocationView block;  // its address is the holder's only while it is pinned
  std::uint32_t pins = 0;
  std::uint64_t moves = 0;  // so far
};

struct BlockSnapshot {
  device::Address address = 0;
  std::uint64_t bytes = 0;
  core::BlockState state = core::BlockState::unused;
  bool is_cached = false;             // live for the arena, but nobody's: in a thread's magazine
  bool is_movable = false;            // a handle stands for it
  bool is_elastic = false;            // it is the part of an elastic buffer that has memory
  bool is_reserved = false;           // it is the rest of one: moving for the arena, without pages
  std::uint32_t pins = 0;             // of that handle
  std::uint64_t requested_bytes = 0;  // live blocks
  std::string tag;
  std::string name;
};

struct ExtentSnapshot {  // neighbouring mapped pages
  device::Address address = 0;
  std::uint64_t bytes = 0;
};

struct ArenaSnapshot {
  ArenaKind kind = ArenaKind::expandable;
  device::Address base = 0;
  std::uint64_t range_bytes = 0;      // addresses
  std::uint64_t mapped_bytes = 0;     // memory
  std::uint64_t page_bytes = 0;       // 0 for driver arenas
  std::vector<BlockSnapshot> blocks;  // ascending, tiling the range
  std::vector<core::BucketView> buckets;
  std::vector<ExtentSnapshot> extents;
};

struct TagSnapshot {
  std::string tag;
  std::uint64_t blocks = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t allocated_bytes = 0;
};

struct Snapshot {
  std::string pool;
  std::string device;
  Ledger ledger;
  std::vector<ArenaSnapshot> arenas;
  std::vector<TagSnapshot> tags;  // largest first
  // Where the pool stands on its device, and, where it shares that, the device and all contexts. Of a moment after the
  // rest.
  ContextView context;
  DeviceShare share;
  std::vector<ContextView> contexts;
  std::vector<ElasticView> elastics;  // in the order of their making

  std::uint64_t stitchable_bytes = 0;  // free, in whole pages that may move
  PauseCounts requester_pauses;
  PauseCounts other_pauses;
  // Of the free bytes; 0 when there are none.
  double stitchable_share() const noexcept {
    return ledger.free_bytes == 0 ? 0.0
                                  : static_cast<double>(stitchable_bytes) / static_cast<double>(ledger.free_bytes);
  }
};

}  // namespace cistern::pool
