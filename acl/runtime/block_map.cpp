#include "acl/runtime/block_map.hpp"

#include <mutex>
#include <utility>

namespace cistern::acl {

void BlockMap::add(Block block) {
  const std::unique_lock lock(mutex_);
  const std::uint64_t address = block.address;
  blocks_.insert_or_assign(address, std::move(block));
}

std::optional<Block> BlockMap::take(std::uint64_t address) {
  const std::unique_lock lock(mutex_);
  auto node = blocks_.extract(address);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

std::map<std::uint64_t, Block>::const_iterator BlockMap::at_or_before(std::uint64_t address) const {
  const auto after = blocks_.upper_bound(address);
  return after == blocks_.begin() ? blocks_.end() : std::prev(after);
}

std::optional<Block> BlockMap::find(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const auto place = at_or_before(address);
  if (place == blocks_.end() || address - place->first >= place->second.bytes) return std::nullopt;
  return place->second;
}

std::optional<Block> BlockMap::try_find_at_or_before(std::uint64_t address) const {
  const std::shared_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return std::nullopt;
  const auto place = at_or_before(address);
  if (place == blocks_.end()) return std::nullopt;
  return place->second;
}

}  // namespace cistern::acl
