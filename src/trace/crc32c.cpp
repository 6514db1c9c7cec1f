#include "trace/crc32c.hpp"

#include <array>

namespace cistern::trace {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
    table[byte] = sum;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) noexcept {
  std::uint32_t sum = ~seed;
  for (const char byte : bytes) sum = (sum >> 8) ^ kTable[(sum ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~sum;
}

}  // namespace cistern::trace
