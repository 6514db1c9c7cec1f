#include "core/block_table.hpp"

namespace cistern::core {

base::Result<BlockTable> BlockTable::create(std::uint64_t capacity) noexcept {
  auto nodes = base::LazyTable<BlockNode>::create(capacity + 1);
  if (!nodes.is_ok()) return nodes.take_status();
  auto records = base::LazyTable<BlockRecord>::create(capacity + 1);
  if (!records.is_ok()) return records.take_status();
  BlockTable table;
  table.nodes_ = nodes.take();
  table.records_ = records.take();
  table.capacity_ = capacity;
  return table;
}

bool BlockTable::recycled_nodes_are_sound() const noexcept {
  std::uint64_t count = 0;
  const std::uint64_t expected = next_fresh_ - 1 - used_;
  for (BlockIndex block = recycled_; block != kNoBlock; block = nodes_[block].next_free) {
    if (!knows(block) || nodes_[block].state != BlockState::unused) return false;
    if (++count > expected) return false;  // a circle, or a node given back twice
  }
  return count == expected;
}

}  // namespace cistern::core
