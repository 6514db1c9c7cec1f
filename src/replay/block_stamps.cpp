#include "replay/block_stamps.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace cistern::replay {
namespace {

constexpr std::uint64_t kStampBytes = sizeof(std::uint64_t);

std::uint64_t mixed(std::uint64_t value) noexcept {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

// Calls visit(offset, length, stamp) for every stamp of a block, until it returns false.
template <typename Visit>
void for_each_stamp(std::uint64_t bytes, std::uint64_t stride_bytes, std::uint64_t block, const Visit& visit) {
  const std::uint64_t length = std::min(bytes, kStampBytes);
  const std::uint64_t last = bytes - length;
  for (std::uint64_t offset = 0; offset < last; offset += stride_bytes) {
    // The last stamp would overwrite a part of one so near to the end.
    if (offset + length <= last && !visit(offset, length, mixed(mixed(block) + offset))) return;
  }
  visit(last, length, mixed(mixed(block) + last));
}

}  // namespace

void BlockStamps::stamp(device::Address address, std::uint64_t bytes, std::uint64_t block) noexcept {
  auto* memory = static_cast<std::byte*>(device_.host_alias(address));
  for_each_stamp(bytes, stride_bytes_, block,
                 [memory](std::uint64_t offset, std::uint64_t length, std::uint64_t stamp) {
                   std::memcpy(memory + offset, &stamp, length);
                   return true;
                 });
}

std::optional<BlockStamps::Damage> BlockStamps::find_damage(device::Address address, std::uint64_t bytes,
                                                            std::uint64_t block) noexcept {
  const auto* memory = static_cast<const std::byte*>(device_.host_alias(address));
  std::optional<Damage> damage;
  for_each_stamp(bytes, stride_bytes_, block, [&](std::uint64_t offset, std::uint64_t length, std::uint64_t stamp) {
    Damage seen{offset, 0, 0};
    std::memcpy(&seen.expected, &stamp, length);
    std::memcpy(&seen.found, memory + offset, length);
    if (seen.found != seen.expected) damage = seen;
    return !damage.has_value();
  });
  return damage;
}

}  // namespace cistern::replay
