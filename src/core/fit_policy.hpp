// Fit policies: which hole serves a request.
//
// BEST_FIT looks at four holes of the request's floor bucket and takes the tightest that fits, else the first hole of
// the next non-empty bucket, in which all are large enough: constant time. Only when that finds nothing does it walk
// the floor bucket, so that "no hole" is always true. EXACT_BEST_FIT walks buckets for the tightest hole of all, lowest
// address among equals: slow and simple, the measure of the others. FIRST_FIT takes the lowest address, exactly, by the
// hole tree.
//
// With an alignment above 512 B a hole may be long enough and still not hold an aligned place; then holes that are
// longer by the alignment are sure to fit, and everything between is walked last.
#pragma once

#include <cstdint>

#include "core/address_table.hpp"
#include "core/block_table.hpp"
#include "core/bucket_index.hpp"
#include "core/hole_tree.hpp"

namespace cistern::core {

// A request in granules. `alignment` is a power of two, 1 for none.
struct FitRequest {
  std::uint32_t length = 0;
  std::uint64_t alignment = 1;

  // Where the request would begin in a hole at `offset`.
  std::uint64_t place_in(const BlockNode& hole) const noexcept {
    return (hole.offset + alignment - 1) & ~(alignment - 1);
  }
  bool fits(const BlockNode& hole) const noexcept { return place_in(hole) + length <= hole.end(); }
  // A hole of this length fits wherever it lies. May exceed 32 bits: then no hole is that long.
  std::uint64_t sure_length() const noexcept { return std::uint64_t{length} + (alignment - 1); }
};

// Holes of a bucket that BEST_FIT looks at.
inline constexpr unsigned kHolesTried = 4;

// BEST_FIT: the tightest of a few holes of the request's bucket, else one of the next bucket.
BlockIndex find_unaligned_best_fit(const BlockTable& blocks, const BucketIndex& holes, std::uint32_t length) noexcept;
BlockIndex find_aligned_best_fit(const BlockTable& blocks, const BucketIndex& holes,
                                 const FitRequest& request) noexcept;
BlockIndex find_exact_best_fit(const BlockTable& blocks, const BucketIndex& holes, const FitRequest& request) noexcept;
// Corrects the tree where it finds a promise broken.
BlockIndex find_first_fit(const BlockTable& blocks, const AddressTable& addresses, HoleTree& tree, ReadinessSlot slot,
                          const FitRequest& request) noexcept;
// The same answer without a tree, by a walk over all buckets that could hold the request.
BlockIndex find_lowest_fit(const BlockTable& blocks, const BucketIndex& holes, const FitRequest& request) noexcept;

// --- Inline, because most requests come here -------------------------------------------------------------------------

inline BlockIndex find_unaligned_best_fit(const BlockTable& blocks, const BucketIndex& holes,
                                          std::uint32_t length) noexcept {
  const Bucket floor_bucket = BucketIndex::bucket_of(length);
  BlockIndex best = kNoBlock;
  std::uint32_t best_length = ~std::uint32_t{0};
  BlockIndex hole = holes.head(floor_bucket);
  for (unsigned tries = kHolesTried; hole != kNoBlock && tries > 0; --tries) {
    const BlockNode& node = blocks[hole];
    if (node.length == length) return hole;
    if (node.length > length && node.length < best_length) {
      best = hole;
      best_length = node.length;
    }
    hole = node.next_free;
  }
  if (best != kNoBlock) return best;
  const Bucket above = holes.next_non_empty(floor_bucket);
  if (above != BucketIndex::kNoBucket) return holes.head(above);
  // Not among the first: any further one of the floor bucket.
  while (hole != kNoBlock && blocks[hole].length < length) hole = blocks[hole].next_free;
  return hole;
}

}  // namespace cistern::core
