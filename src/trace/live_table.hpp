// LiveTable: the blocks that are live as the writer sees it, for the sizes of frees, new files and the report at exit.
//
// Events of several threads reach the writer nearly in order: a free may come before the allocation it ends, or after
// the next one at its address. Numbers decide, so the table is right once every event has come.
//
// The writer asks it for every event, so it is one open table of small entries (address, pool, place of the event) with
// linear probing; a block that goes lets its neighbours move up, so that no entry is ever dead.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/trace.hpp"

namespace cistern::trace {

class LiveTable {
 public:
  LiveTable();

  // An allocation, free, move or resize (of two events at one address the newer counts); others change nothing. A free
  // gets sizes and tag of its allocation where known.
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
      const std::uint64_t mixed = (key.address >> 9 ^ std::uint64_t{key.pool} << 44) * 0x9E3779B97F4A7C15U;
      return static_cast<std::size_t>(mixed ^ mixed >> 32);
    }
  };
  struct Entry {
    Key key{};
    std::uint32_t place = kNone;  // of the allocation in events_
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::size_t home_of(const Key& key) const noexcept { return KeyHash()(key) & (entries_.size() - 1); }
  std::size_t next(std::size_t at) const noexcept { return (at + 1) & (entries_.size() - 1); }
  // Where the key is, or would be put.
  std::size_t find(const Key& key) const noexcept;
  void put(const TraceEvent& block);
  void erase(std::size_t at) noexcept;
  void grow();

  void add(const TraceEvent& block);
  void end(TraceEvent* free);
  void move(const TraceEvent& move);

  std::vector<Entry> entries_;  // a power of two, at most half full
  std::vector<TraceEvent> events_;
  std::vector<std::uint32_t> unused_;                            // places in events_
  std::unordered_map<Key, std::uint64_t, KeyHash> early_frees_;  // frees whose allocation has not come
};

}  // namespace cistern::trace
