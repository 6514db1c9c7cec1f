// BlockTable: what is known of every block of an arena, apart from the memory it describes.
//
// A block is one 32-byte node, two to a cache line, named by a 32-bit index that never changes while the block lives.
// Nodes are linked twice: by address (every block, in one circle through node 0) and by the list a free or vacant block
// waits in. Node 0 is no block: it ends every list, so links are followed and written without asking whether there is a
// neighbour. Data that only the pool reads lies in a second table under the same index, out of the way of searches.
#pragma once

#include <cstdint>

#include "base/lazy_table.hpp"
#include "core/types.hpp"

namespace cistern::core {

struct alignas(32) BlockNode {
  std::uint32_t offset;  // granules
  std::uint32_t length;  // granules
  BlockIndex previous;   // by address
  BlockIndex next;
  BlockIndex previous_free;  // in the list of its bucket, or of vacant blocks
  BlockIndex next_free;
  std::uint16_t bucket;  // of a free block
  BlockState state;
  ReadinessSlot slot;   // of a free block
  std::uint32_t batch;  // of a pending free block

  std::uint64_t end() const noexcept { return std::uint64_t{offset} + length; }
  Range range() const noexcept {  // in bytes
    return {std::uint64_t{offset} << kGranuleShift, std::uint64_t{length} << kGranuleShift};
  }
};
static_assert(sizeof(BlockNode) == 32);

class BlockTable {
 public:
  BlockTable() noexcept = default;
  // Room for `capacity` blocks; memory is touched only as far as blocks exist.
  static base::Result<BlockTable> create(std::uint64_t capacity) noexcept;

  // Memory for the first `blocks` blocks now.
  void back(std::uint64_t blocks) noexcept {
    nodes_.back(0, blocks);
    records_.back(0, blocks);
  }

  BlockNode& operator[](BlockIndex block) noexcept { return nodes_[block]; }
  const BlockNode& operator[](BlockIndex block) const noexcept { return nodes_[block]; }
  BlockRecord& record(BlockIndex block) noexcept { return records_[block]; }
  const BlockRecord& record(BlockIndex block) const noexcept { return records_[block]; }

  // False for an index that has never been a block: its node must not be looked at.
  bool knows(BlockIndex block) const noexcept { return block < next_fresh_; }
  // Nodes that can still be taken.
  std::uint64_t spare() const noexcept { return capacity_ - used_; }
  std::uint64_t used() const noexcept { return used_; }

  // A node for a new block, the one given back last if there is one. spare() must not be 0.
  BlockIndex take() noexcept {
    ++used_;
    const BlockIndex block = recycled_;
    if (block == kNoBlock) return next_fresh_++;
    recycled_ = nodes_[block].next_free;
    return block;
  }
  void give(BlockIndex block) noexcept {
    BlockNode& node = nodes_[block];
    node.state = BlockState::unused;
    node.next_free = recycled_;
    recycled_ = block;
    --used_;
  }

  void link_before(BlockIndex successor, BlockIndex block) noexcept {
    const BlockIndex predecessor = nodes_[successor].previous;
    nodes_[block].previous = predecessor;
    nodes_[block].next = successor;
    nodes_[predecessor].next = block;
    nodes_[successor].previous = block;
  }
  void link_after(BlockIndex predecessor, BlockIndex block) noexcept { link_before(nodes_[predecessor].next, block); }
  void unlink(BlockIndex block) noexcept {
    const BlockNode& node = nodes_[block];
    nodes_[node.previous].next = node.next;
    nodes_[node.next].previous = node.previous;
  }

  // The nodes given back and not taken again, each still marked unused; used by validation.
  bool recycled_nodes_are_sound() const noexcept;

 private:
  base::LazyTable<BlockNode> nodes_;
  base::LazyTable<BlockRecord> records_;
  std::uint64_t capacity_ = 0;
  std::uint64_t used_ = 0;
  BlockIndex recycled_ = kNoBlock;  // head of the list of nodes given back
  BlockIndex next_fresh_ = 1;       // nodes from here on have never been taken
};

}  // namespace cistern::core
