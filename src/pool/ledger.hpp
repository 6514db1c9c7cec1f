// Ledger: where every byte of a pool is, as sums. Flat, versioned, no pointers: it can be copied, compared and shared.
//
// reserved = allocated + cached + awaiting_free + free + moving; allocated >= requested. peak_* are highest values
// since creation (or the last reset). All in bytes unless the name says otherwise.
// While other threads work, what passes through their magazines may be missing from peak_allocated and peak_requested,
// by at most what magazines may hold.
#pragma once

#include <cstdint>

namespace cistern::pool {

struct Ledger {
  std::uint32_t struct_size = sizeof(Ledger);
  std::uint32_t version = 1;

  std::uint64_t reserved_bytes = 0;       // physical memory this pool holds
  std::uint64_t allocated_bytes = 0;      // live blocks, rounded sizes
  std::uint64_t requested_bytes = 0;      // live blocks, as asked for
  std::uint64_t cached_bytes = 0;         // in magazines
  std::uint64_t awaiting_free_bytes = 0;  // freed, but work on them is not complete
  std::uint64_t free_bytes = 0;           // holes, ready to serve
  std::uint64_t moving_bytes = 0;         // holes whose pages are under way

  std::uint64_t peak_reserved_bytes = 0;
  std::uint64_t peak_allocated_bytes = 0;
  std::uint64_t peak_requested_bytes = 0;  // "peak live"

  std::uint64_t limit_bytes = 0;
  std::uint64_t largest_free_bytes = 0;  // largest hole
  std::uint64_t live_blocks = 0;
  std::uint64_t free_blocks = 0;

  std::uint64_t allocations = 0;  // served since creation
  std::uint64_t frees = 0;
  std::uint64_t magazine_hits = 0;       // of the allocations, those that a magazine served
  std::uint64_t failed_allocations = 0;  // ended in an error
  std::uint64_t misses = 0;              // needed the rescue list
  std::uint64_t growths = 0;             // times memory was taken from the device
  std::uint64_t trims = 0;               // times memory was given back
  std::uint64_t stitches = 0;            // times holes' pages were put together for a request
  std::uint64_t stitched_pages = 0;      // pages that moved in these

  std::uint64_t compactions = 0;        // times memory was moved with no request in need
  std::uint64_t compacted_bytes = 0;    // remapped and copied in these
  std::uint64_t longest_repair_ns = 0;  // a request waited for its own stitch
  std::uint64_t longest_hold_ns = 0;    // others can have waited for compaction at once; see pauses.hpp
  double exposure = 0;                  // share of the last 256 sizes that free memory holds in sum but in no hole
  std::uint64_t movable_blocks = 0;     // live blocks that a handle stands for
  std::uint64_t movable_bytes = 0;
  std::uint64_t pinned_bytes = 0;  // of these, where they are for now
  std::uint64_t moves = 0;         // times a block was copied elsewhere to make room
  std::uint64_t moved_bytes = 0;
  std::uint64_t void_moves = 0;  // copies given up because the block was pinned or freed meanwhile
  std::uint64_t overruns = 0;    // blocks that somebody wrote past the end of, as their red zones tell

  // 1 - largest hole / all holes; 0 when there are none.
  double fragmentation_rate() const noexcept {
    return free_bytes == 0 ? 0.0 : 1.0 - static_cast<double>(largest_free_bytes) / static_cast<double>(free_bytes);
  }
  // peak reserved over peak live; 0 before the first allocation.
  double overhead() const noexcept {
    return peak_requested_bytes == 0
               ? 0.0
               : static_cast<double>(peak_reserved_bytes) / static_cast<double>(peak_requested_bytes);
  }
};

}  // namespace cistern::pool
