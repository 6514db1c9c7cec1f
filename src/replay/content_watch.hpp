// ContentWatch: whether the blocks of a replay keep their contents.
//
// Every block is stamped when it is served and looked at when it is freed, and all live ones are looked at whenever the
// pool has moved something. What is found is counted once for each block.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replay/block_stamps.hpp"
#include "replay/replay_target.hpp"

namespace cistern::replay {

struct DamagedBlock {
  std::uint64_t index = 0;  // the event that freed it, or before which it was seen; the number of events: at the end
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;    // of the first damaged stamp in the block
  std::uint64_t expected = 0;  // what was written there, up to eight bytes
  std::uint64_t found = 0;
};

struct ContentCheck {
  std::uint64_t blocks = 0;   // looked at when they were freed
  std::uint64_t looks = 0;    // at all live blocks, after moves
  std::uint64_t damaged = 0;  // blocks
  std::optional<DamagedBlock> first;
};

class ContentWatch {
 public:
  // The target's device needs host access or an alias. `slots`: blocks of the trace; `stride_bytes`: of the stamps.
  ContentWatch(ReplayTarget& target, std::uint64_t slots, std::uint64_t stride_bytes)
      : target_(target), stamps_(*target.memory(), stride_bytes), blocks_(slots) {}

  void begin(std::uint32_t slot, std::uint64_t bytes, device::Address place);
  void end(std::uint32_t slot, std::uint64_t event);
  void look_at_all(std::uint64_t event);
  const ContentCheck& found() const noexcept { return found_; }

 private:
  struct Block {
    device::Address place = 0;
    std::uint64_t bytes = 0;
    std::uint64_t position = 0;  // in live_
    bool damaged = false;
  };
  void look(std::uint32_t slot, std::uint64_t event);

  ReplayTarget& target_;
  BlockStamps stamps_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> live_;
  ContentCheck found_;
};

}  // namespace cistern::replay
