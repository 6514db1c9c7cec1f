// LiveTable: the blocks that are live as the writer sees it, for the sizes of frees, new files and the report at exit.
//
// Events of several threads reach the writer nearly in order: a free may come before the allocation it ends, or after
// the next one at its address. Numbers decide, so the table is right once every event has come.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/trace.hpp"

namespace cistern::trace {

class LiveTable {
 public:
  // An allocation, free or pool end; others change nothing. A free gets sizes and tag of its allocation where known.
  void apply(TraceEvent* event);
  // By sequence.
  std::vector<TraceEvent> live() const;

 private:
  struct Key {
    std::uint64_t address;
    std::uint32_t pool;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return static_cast<std::size_t>((key.address >> 9 ^ std::uint64_t{key.pool} << 40) * 0x9E3779B97F4A7C15U);
    }
  };
  std::unordered_map<Key, TraceEvent, KeyHash> blocks_;          // the latest allocation at each address
  std::unordered_map<Key, std::uint64_t, KeyHash> early_frees_;  // frees whose allocation has not come
};

}  // namespace cistern::trace
