// Words of the text log: they come back as they were, whatever is in them.
#include "trace/escape.hpp"

#include <gtest/gtest.h>

namespace cistern::trace {
namespace {

TEST(Escape, ComesBackWhateverIsInIt) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  for (const std::string& text : {all, std::string("alloc"), std::string("malloc alloc%20"), std::string()}) {
    EXPECT_EQ(unescaped(escaped(text)), text);
    EXPECT_EQ(unescaped(escaped_without_alloc(text)), text);
    EXPECT_EQ(escaped(text).find_first_of(" \t\n;"), std::string::npos);
    EXPECT_EQ(escaped_without_alloc(text).find("alloc"), std::string::npos);
  }
  EXPECT_EQ(escaped("plain_name+0x1f"), "plain_name+0x1f");
  EXPECT_EQ(unescaped("50%"), "50%");
  EXPECT_EQ(unescaped("%zz%4"), "%zz%4");
}

TEST(Escape, Hexadecimal) {
  EXPECT_EQ(hexadecimal(0), "0x0");
  EXPECT_EQ(hexadecimal(~std::uint64_t{0}), "0xffffffffffffffff");
}

}  // namespace
}  // namespace cistern::trace
