// BlockStamps: proof that a pool keeps the contents of live blocks: every block is stamped when it is served and looked
// at when it is freed.
//
// A stamp is eight bytes that depend on the block and on where in it they are; they stand at both ends and at every
// stride. With the pool's page as the stride, every page that could be moved carries one, and two blocks that overlap
// cannot both keep theirs; more of them find nothing more, but each touches another page of this machine.
#pragma once

#include <cstdint>
#include <optional>

#include "device/device.hpp"

namespace cistern::replay {

class BlockStamps {
 public:
  // The device needs host access or an alias. `stride_bytes`: at least 8.
  explicit BlockStamps(device::Device& device, std::uint64_t stride_bytes = std::uint64_t{64} << 10) noexcept
      : device_(device), stride_bytes_(stride_bytes) {}

  void stamp(device::Address address, std::uint64_t bytes, std::uint64_t block) noexcept;
  // The first stamp that is not as it was written; none where all are.
  struct Damage {
    std::uint64_t offset = 0;
    std::uint64_t expected = 0;  // of blocks smaller than a stamp, its first bytes
    std::uint64_t found = 0;
  };
  std::optional<Damage> find_damage(device::Address address, std::uint64_t bytes, std::uint64_t block) noexcept;

 private:
  device::Device& device_;
  const std::uint64_t stride_bytes_;
};

}  // namespace cistern::replay
