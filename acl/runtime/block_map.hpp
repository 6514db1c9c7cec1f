// BlockMap: every block and mapping that the program holds, by address: where it came from and who asked for it.
//
// It is what makes it possible to free in any context, to tell device memory from host memory, to check ranges, and to
// say at the end who forgot what.
//
// Thread-safety: all.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "acl/runtime/npu.hpp"

namespace cistern::acl {

enum class BlockKind : std::uint8_t { device, host, mapping };

struct Block {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // as asked for
  BlockKind kind = BlockKind::device;
  std::shared_ptr<DevicePool> pool;  // null for mappings
  std::shared_ptr<Npu> npu;          // null for host memory
  const void* caller = nullptr;
};

class BlockMap {
 public:
  void add(Block block);
  // The block that begins at `address`, which is the caller's now.
  std::optional<Block> take(std::uint64_t address);
  // The block that `address` lies in.
  std::optional<Block> find(std::uint64_t address) const;
  // The same, or the last one before it; for a signal handler: nullopt where the map is being changed.
  std::optional<Block> try_find_at_or_before(std::uint64_t address) const;

  template <typename Predicate>
  std::vector<Block> select(const Predicate& belongs) const {
    const std::shared_lock lock(mutex_);
    std::vector<Block> chosen;
    for (const auto& [address, block] : blocks_) {
      if (belongs(block)) chosen.push_back(block);
    }
    return chosen;
  }
  template <typename Predicate>
  void drop(const Predicate& belongs) {
    std::map<std::uint64_t, Block> dropped;  // ends without the lock: the last block of a pool ends the pool
    const std::unique_lock lock(mutex_);
    for (auto place = blocks_.begin(); place != blocks_.end();) {
      const auto next = std::next(place);
      if (belongs(place->second)) dropped.insert(blocks_.extract(place));
      place = next;
    }
  }

 private:
  std::map<std::uint64_t, Block>::const_iterator at_or_before(std::uint64_t address) const;

  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, Block> blocks_;
};

}  // namespace cistern::acl
