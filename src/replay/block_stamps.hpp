// BlockStamps: proof that a pool keeps the contents of live blocks: every block is stamped when it is served and looked
// at when it is freed.
//
// A stamp is eight bytes that depend on the block and on where in it they are; they stand at both ends and every 64
// KiB, so every page and every piece that a pool could move carries some, and two blocks that overlap cannot both keep
// theirs.
#pragma once

#include <cstdint>
#include <optional>

#include "device/device.hpp"

namespace cistern::replay {

class BlockStamps {
 public:
  // The device needs host access or an alias.
  explicit BlockStamps(device::Device& device) noexcept : device_(device) {}

  void stamp(device::Address address, std::uint64_t bytes, std::uint64_t block) noexcept;
  // The offset of the first stamp that is not as it was written; none where all are.
  std::optional<std::uint64_t> find_damage(device::Address address, std::uint64_t bytes, std::uint64_t block) noexcept;

 private:
  device::Device& device_;
};

}  // namespace cistern::replay
