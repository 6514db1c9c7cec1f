#include "base/crc32c.hpp"

#include <array>
#include <cstring>

namespace cistern::base {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected
constexpr std::size_t kWord = 8;

// tables[k][b]: the sum of byte b with k zero bytes behind it.
using Tables = std::array<std::array<std::uint32_t, 256>, kWord>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = sum;
  }
  for (std::size_t behind = 1; behind < kWord; ++behind) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[behind - 1][byte];
      tables[behind][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}
constexpr Tables kTables = make_tables();

std::uint64_t word_at(const char* at) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kWord; ++i) word |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::string_view bytes, std::uint32_t seed) noexcept {
  std::uint64_t sum = ~seed;
  while (bytes.size() >= kWord) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), kWord);
    sum = __builtin_ia32_crc32di(sum, word);
    bytes.remove_prefix(kWord);
  }
  auto rest = static_cast<std::uint32_t>(sum);
  for (const char byte : bytes) rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(byte));
  return ~rest;
}

bool has_instruction() noexcept {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t seed) noexcept {
  std::uint32_t sum = ~seed;
  for (; bytes.size() >= kWord; bytes.remove_prefix(kWord)) {
    const std::uint64_t word = word_at(bytes.data()) ^ sum;
    sum = 0;
    for (std::size_t i = 0; i < kWord; ++i) sum ^= kTables[kWord - 1 - i][word >> (8 * i) & 0xFF];
  }
  for (const char byte : bytes) sum = (sum >> 8) ^ kTables[0][(sum ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~sum;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) noexcept {
#if defined(__x86_64__)
  if (has_instruction()) return by_instruction(bytes, seed);
#endif
  return crc32c_by_table(bytes, seed);
}

}  // namespace cistern::base
