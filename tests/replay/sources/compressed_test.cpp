// Compressed files: several members read as one, a cut file is never taken for a whole one, and what unpacks to far
// more than it is, is refused before it fills the memory.
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <vector>

#include "replay/sources/byte_source.hpp"
#include "replay/sources/read_trace.hpp"
#include "replay/sources/trace_text.hpp"

namespace cistern::replay {
namespace {

std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd_packed(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1);
  EXPECT_EQ(ZSTD_isError(size), 0U);
  packed.resize(size);
  return packed;
}

const std::string kText = "op,id,size,time_ns,stream\na,1,64,0,0\na,2,32,1,0\nf,1,,2,0\n";
constexpr const char* kEvents = "a0 64 @0 s0 | a1 32 @1 s0 | f0 @2 s0";

using Packer = std::string (*)(const std::string&);
class Compressed : public testing::TestWithParam<Packer> {};
INSTANTIATE_TEST_SUITE_P(Forms, Compressed, testing::Values(gzipped, zstd_packed));

TEST_P(Compressed, SeveralMembersAreOneFile) {
  const std::string packed = GetParam()(kText.substr(0, 33)) + GetParam()("") + GetParam()(kText.substr(33));
  const auto read = read_trace_bytes(packed);
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(text_of(read.value()), kEvents);
}

TEST_P(Compressed, EveryCutIsSeen) {
  const std::string packed = GetParam()(kText);
  ASSERT_TRUE(read_trace_bytes(packed).is_ok());
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(read_trace_bytes(packed.substr(0, size)).is_ok()) << size;
  }
}

TEST_P(Compressed, DamageIsSeen) {
  std::string packed = GetParam()(kText);
  packed.resize(packed.size() - 1);
  packed += "xyz";
  const auto read = read_trace_bytes(packed);
  ASSERT_FALSE(read.is_ok());
  EXPECT_NE(read.status().text().find("fetch or record"), std::string_view::npos) << read.status().to_string();
}

TEST_P(Compressed, ManyZerosAreRefusedAtTheFirstLine) {
  const std::string bomb = GetParam()("op,id,size,time_ns,stream\n" + std::string(32 << 20, '\0'));
  ASSERT_LT(bomb.size(), 200'000U);
  const auto read = read_trace_bytes(bomb);
  ASSERT_FALSE(read.is_ok());
  EXPECT_NE(read.status().text().find("line 2: is longer than 1048576 bytes"), std::string_view::npos)
      << read.status().to_string();
}

TEST_P(Compressed, ReadsInSmallPartsGiveTheSameBytes) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += std::to_string(i * 7919 % 10'007) + ",";
  auto source = open_bytes(GetParam()(text)).take();
  std::string back;
  std::vector<char> part(977);
  for (;;) {
    const auto count = source->read(part.data(), part.size());
    ASSERT_TRUE(count.is_ok()) << count.status().to_string();
    if (count.value() == 0) break;
    back.append(part.data(), count.value());
  }
  EXPECT_EQ(back, text);
}

}  // namespace
}  // namespace cistern::replay
