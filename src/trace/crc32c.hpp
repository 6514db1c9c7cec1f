// CRC-32C (Castagnoli), as in iSCSI and ext4: every change of up to 32 neighbouring bits of a chunk is found.
#pragma once

#include <cstdint>
#include <string_view>

namespace cistern::trace {

// `seed`: the sum of what came before.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0) noexcept;

}  // namespace cistern::trace
