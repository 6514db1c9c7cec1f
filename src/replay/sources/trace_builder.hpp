// TraceBuilder: turns what a file says happened into TraceData.
//
// Readers say "block K was allocated" and "block K was freed" as the file does; the builder gives slots, keeps times
// from running backwards, numbers streams, and counts what is no clean event. Every rule about odd events is here and
// so is the same for every format:
//
//   a free of a block that is not live       left out, counted
//   an allocation of a block that is live    the old block is freed first, counted
//   size zero                                left out with its free, counted
//   a time before the latest one             taken as the latest one, counted
//
// More events than the limit, or more live bytes than 2^63, end the reading with an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.hpp"
#include "replay/sources/read_limits.hpp"
#include "replay/trace_data.hpp"

namespace cistern::replay {

// What a file calls a block: an id or an address, and where that is unique only within a process or device, which.
struct BlockKey {
  std::uint64_t id = 0;
  std::uint64_t space = 0;
  bool operator==(const BlockKey&) const = default;
};

class TraceBuilder {
 public:
  explicit TraceBuilder(const ReadLimits& limits) : limits_(limits) {}

  // `stream` is any number that tells streams apart; finish() makes it 0, 1, ... in the order of these numbers.
  base::Status allocate(BlockKey key, std::uint64_t bytes, std::uint64_t time_ns, std::uint64_t stream);
  // Without a stream: that of the allocation.
  base::Status free(BlockKey key, std::uint64_t time_ns, std::optional<std::uint64_t> stream = std::nullopt);
  // All that is live in `space`, in the order of allocation, each on its own stream.
  base::Status free_space(std::uint64_t space, std::uint64_t time_ns);
  // The block is called otherwise from now on; where it is not live, nothing happens.
  void rename(BlockKey from, BlockKey to);
  // Live when the recording began. Only before the first allocate() or free().
  base::Status live_before_start(BlockKey key, std::uint64_t bytes, std::uint64_t stream);
  bool is_live(BlockKey key) const { return live_.count(key) != 0; }
  TraceRemarks& remarks() noexcept { return trace_.remarks; }

  // The trace, without a name yet.
  TraceData finish(std::string_view format) &&;

 private:
  struct KeyHash {
    std::size_t operator()(const BlockKey& key) const noexcept {
      const std::uint64_t mixed = (key.id ^ (key.space * 0x9e3779b97f4a7c15U)) * 0xff51afd7ed558ccdU;
      return static_cast<std::size_t>(mixed ^ (mixed >> 32));
    }
  };
  struct Live {
    std::uint64_t bytes = 0;  // 0: of size zero, and so no event
    std::uint32_t slot = 0;
    std::uint32_t stream = 0;
  };

  base::Status append(const TraceEvent& event);
  base::Status append_free(const Live& block, std::uint32_t stream);
  void advance_to(std::uint64_t time_ns) noexcept;
  std::uint32_t stream_index(std::uint64_t stream);
  void number_streams();

  ReadLimits limits_;
  TraceData trace_;
  std::unordered_map<BlockKey, Live, KeyHash> live_;
  std::unordered_map<std::uint64_t, std::uint32_t> streams_;  // by order of appearance, until finish()
  std::uint64_t now_ns_ = 0;
  std::uint64_t live_bytes_ = 0;
};

}  // namespace cistern::replay
