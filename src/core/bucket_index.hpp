// BucketIndex: holes grouped by size, so that one of at least a given size is found without a walk.
//
// Sizes up to 63 granules have a bucket each; above, every power of two is divided into 32 buckets, so sizes in a
// bucket differ by at most 1/32. Two levels of bitmaps say which buckets have holes: the next non-empty one is two bit
// scans away. A bucket is a list, last in first out, because the hole that was touched last is the one still in the
// cache. Holes are never rounded to a bucket: the grouping is for searching only. An index of all zeroes is an empty
// index.
#pragma once

#include <bit>
#include <cstdint>

#include "core/block_table.hpp"
#include "core/types.hpp"

namespace cistern::core {

using Bucket = std::uint32_t;

class BucketIndex {
 public:
  static constexpr Bucket kRows = 28;  // 32-bit lengths: one exact row, then 27 powers of two
  static constexpr Bucket kBuckets = kRows * 32;
  static constexpr Bucket kNoBucket = kBuckets;

  // The bucket that holes of `length` granules (> 0) belong to: the request's floor bucket.
  static constexpr Bucket bucket_of(std::uint32_t length) noexcept {
    if (length < 32) return length;
    const auto log = static_cast<Bucket>(std::bit_width(length) - 1);
    return ((log - 4) << 5) + ((length >> (log - 5)) & 31);
  }
  // The smallest length that belongs to `bucket`; bucket 0 is always empty.
  static constexpr std::uint32_t min_length(Bucket bucket) noexcept {
    if (bucket < 32) return bucket;
    const Bucket log = (bucket >> 5) + 4;
    return (32 + (bucket & 31)) << (log - 5);
  }

  BlockIndex head(Bucket bucket) const noexcept { return heads_[bucket]; }

  // The first non-empty bucket above `bucket`, or kNoBucket.
  Bucket next_non_empty(Bucket bucket) const noexcept {
    const Bucket row = bucket >> 5;
    const std::uint32_t later_in_row = columns_[row] & (~std::uint32_t{1} << (bucket & 31));
    if (later_in_row != 0) return (row << 5) + first_bit(later_in_row);
    const std::uint32_t later_rows = rows_ & (~std::uint32_t{1} << row);
    if (later_rows == 0) return kNoBucket;
    const Bucket next_row = first_bit(later_rows);
    return (next_row << 5) + first_bit(columns_[next_row]);
  }
  // Bucket 0 is always empty, so this begins a walk over all.
  Bucket first_non_empty() const noexcept { return next_non_empty(0); }
  // kNoBucket when the index is empty.
  Bucket last_non_empty() const noexcept {
    if (rows_ == 0) return kNoBucket;
    const Bucket row = last_bit(rows_);
    return (row << 5) + last_bit(columns_[row]);
  }

  // `block` becomes the head of its bucket.
  void insert(BlockTable& blocks, BlockIndex block, Bucket bucket) noexcept {
    BlockNode& node = blocks[block];
    const BlockIndex old_head = heads_[bucket];
    node.bucket = static_cast<std::uint16_t>(bucket);
    node.previous_free = kNoBlock;
    node.next_free = old_head;
    blocks[old_head].previous_free = block;
    heads_[bucket] = block;
    columns_[bucket >> 5] |= std::uint32_t{1} << (bucket & 31);
    rows_ |= std::uint32_t{1} << (bucket >> 5);
  }

  void remove(BlockTable& blocks, BlockIndex block) noexcept {
    const BlockNode& node = blocks[block];
    blocks[node.next_free].previous_free = node.previous_free;
    if (node.previous_free != kNoBlock) {
      blocks[node.previous_free].next_free = node.next_free;
      return;
    }
    const Bucket bucket = node.bucket;
    heads_[bucket] = node.next_free;
    if (node.next_free != kNoBlock) return;
    columns_[bucket >> 5] &= ~(std::uint32_t{1} << (bucket & 31));
    if (columns_[bucket >> 5] == 0) rows_ &= ~(std::uint32_t{1} << (bucket >> 5));
  }

  // Do the bitmaps say what the lists say? For validation.
  bool bitmaps_match_lists() const noexcept;

 private:
  static Bucket first_bit(std::uint32_t bits) noexcept { return static_cast<Bucket>(std::countr_zero(bits)); }
  static Bucket last_bit(std::uint32_t bits) noexcept { return static_cast<Bucket>(std::bit_width(bits) - 1); }

  std::uint32_t rows_;
  std::uint32_t columns_[kRows];
  BlockIndex heads_[kBuckets];
};

}  // namespace cistern::core
