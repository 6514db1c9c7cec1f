// Check sums have the published values, by table and by instruction, whatever the length and wherever they are split.
#include "base/crc32c.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace cistern::base {
namespace {

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("56789", crc32c("1234")), crc32c("123456789"));
}

TEST(Crc32c, TableAndInstructionAgree) {
  std::mt19937 random(1);
  for (std::size_t length = 0; length < 300; ++length) {
    std::string bytes(length, ' ');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(crc32c(bytes), crc32c_by_table(bytes)) << length;
    EXPECT_EQ(crc32c_by_table(bytes.substr(length / 3), crc32c_by_table(bytes.substr(0, length / 3))), crc32c(bytes));
  }
}

}  // namespace
}  // namespace cistern::base
