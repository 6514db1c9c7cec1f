#include "core/fit_policy.hpp"

#include <algorithm>
#include <limits>

namespace cistern::core {
namespace {

// The tightest that fits among the first `tries` holes of `bucket`.
BlockIndex tightest_of(const BlockTable& blocks, const BucketIndex& holes, Bucket bucket, const FitRequest& request,
                       unsigned tries) noexcept {
  BlockIndex best = kNoBlock;
  std::uint32_t best_length = std::numeric_limits<std::uint32_t>::max();
  BlockIndex hole = holes.head(bucket);
  for (; hole != kNoBlock && tries > 0; --tries) {
    const BlockNode& node = blocks[hole];
    if (node.length < best_length && request.fits(node)) {
      best = hole;
      best_length = node.length;
      if (best_length == request.length) break;
    }
    hole = node.next_free;
  }
  return best;
}

// Any hole that fits, by a walk of every bucket that could have one. Only after the quick ways.
BlockIndex any_fit(const BlockTable& blocks, const BucketIndex& holes, Bucket floor_bucket,
                   const FitRequest& request) noexcept {
  for (Bucket bucket = floor_bucket; bucket != BucketIndex::kNoBucket; bucket = holes.next_non_empty(bucket)) {
    for (BlockIndex hole = holes.head(bucket); hole != kNoBlock; hole = blocks[hole].next_free) {
      if (request.fits(blocks[hole])) return hole;
    }
  }
  return kNoBlock;
}

// The quick ways beyond the floor bucket: a few holes of the next bucket, then a hole that is long enough wherever it
// lies.
BlockIndex fit_above(const BlockTable& blocks, const BucketIndex& holes, Bucket bucket,
                     const FitRequest& request) noexcept {
  const Bucket above = holes.next_non_empty(bucket);
  if (above == BucketIndex::kNoBucket) return kNoBlock;
  const BlockIndex hole = tightest_of(blocks, holes, above, request, kHolesTried);
  if (hole != kNoBlock) return hole;
  const std::uint64_t sure = request.sure_length();
  if (sure > std::numeric_limits<std::uint32_t>::max()) return kNoBlock;
  const Bucket sure_bucket = holes.next_non_empty(BucketIndex::bucket_of(static_cast<std::uint32_t>(sure)));
  return sure_bucket == BucketIndex::kNoBucket ? kNoBlock : holes.head(sure_bucket);
}

}  // namespace

BlockIndex find_aligned_best_fit(const BlockTable& blocks, const BucketIndex& holes,
                                 const FitRequest& request) noexcept {
  const Bucket floor_bucket = BucketIndex::bucket_of(request.length);
  BlockIndex hole = tightest_of(blocks, holes, floor_bucket, request, kHolesTried);
  if (hole == kNoBlock) hole = fit_above(blocks, holes, floor_bucket, request);
  if (hole == kNoBlock) hole = any_fit(blocks, holes, floor_bucket, request);
  return hole;
}

BlockIndex find_exact_best_fit(const BlockTable& blocks, const BucketIndex& holes, const FitRequest& request) noexcept {
  for (Bucket bucket = BucketIndex::bucket_of(request.length); bucket != BucketIndex::kNoBucket;
       bucket = holes.next_non_empty(bucket)) {
    BlockIndex best = kNoBlock;
    for (BlockIndex hole = holes.head(bucket); hole != kNoBlock; hole = blocks[hole].next_free) {
      const BlockNode& node = blocks[hole];
      if (!request.fits(node)) continue;
      const bool better = best == kNoBlock || node.length < blocks[best].length ||
                          (node.length == blocks[best].length && node.offset < blocks[best].offset);
      if (better) best = hole;
    }
    // Buckets ascend by size: a fit here is tighter than any above.
    if (best != kNoBlock) return best;
  }
  return kNoBlock;
}

BlockIndex find_first_fit(const BlockTable& blocks, const AddressTable& addresses, HoleTree& tree, ReadinessSlot slot,
                          const FitRequest& request) noexcept {
  std::uint64_t region = tree.find(slot, request.length, 0);
  while (region != HoleTree::kNone) {
    std::uint32_t longest = 0;
    for (BlockIndex block = addresses.first_in_region(region); block != kNoBlock;) {
      const BlockNode& node = blocks[block];
      if (region_of(node.offset) != region) break;
      if (node.state == BlockState::free && node.slot == slot) {
        if (request.fits(node)) return block;
        longest = std::max(longest, node.length);
      }
      block = node.next;
    }
    if (longest < tree.bound(slot, region)) tree.lower(slot, region, longest);
    // Whatever begins here does not fit: on to the next promise.
    region = tree.find(slot, request.length, region + 1);
  }
  return kNoBlock;
}

BlockIndex find_lowest_fit(const BlockTable& blocks, const BucketIndex& holes, const FitRequest& request) noexcept {
  BlockIndex lowest = kNoBlock;
  for (Bucket bucket = BucketIndex::bucket_of(request.length); bucket != BucketIndex::kNoBucket;
       bucket = holes.next_non_empty(bucket)) {
    for (BlockIndex hole = holes.head(bucket); hole != kNoBlock; hole = blocks[hole].next_free) {
      const bool lower = lowest == kNoBlock || blocks[hole].offset < blocks[lowest].offset;
      if (lower && request.fits(blocks[hole])) lowest = hole;
    }
  }
  return lowest;
}

}  // namespace cistern::core
