// Damaged traces: whatever byte is changed and wherever a file is cut, the reader says so and believes nothing behind.
#include <gtest/gtest.h>

#include "trace/binary_log.hpp"
#include "trace/trace_fixture.hpp"

namespace cistern::trace {
namespace {

std::string small_log() {
  TestDirectory directory;
  BinaryLog log(directory.file("a.trace"));
  Tables tables;
  tables.pools.push_back({1, "pool", "host:0"});
  tables.tags.push_back({1, 1, "tag"});
  tables.stacks.push_back({0x1000, 0x2000});
  tables.modules.push_back({0x1000, 0x3000, 0x1000, "/bin/program"});
  for (std::uint64_t i = 1; i <= 6; ++i) {
    TraceEvent event;
    event.sequence = i;
    event.time = i * 1000;
    event.address = 0x10000 * i;
    event.requested_bytes = event.granted_bytes = 512 * i;
    event.pool = event.tag = event.stack = 1;
    log.write(event, tables);
    if (i % 2 == 0) log.flush(i);
  }
  log.write_dropped(1, 3);
  log.end();
  return bytes_of(directory.file("a.trace"));
}

bool is_whole(const base::Result<Trace>& trace) {
  return trace.is_ok() && trace.value().ended && trace.value().damage.empty();
}

TEST(Damage, TheUndamagedLogIsWhole) {
  const auto trace = parse_trace(small_log());
  ASSERT_TRUE(is_whole(trace));
  EXPECT_EQ(trace.value().events.size(), 6U);
  EXPECT_EQ(trace.value().dropped, 3U);
  EXPECT_EQ(trace.value().events[5].requested_bytes, 3072U);
}

TEST(Damage, EveryChangedByteIsNoticed) {
  const std::string whole = small_log();
  const Trace truth = parse_trace(whole).take();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const auto read = parse_trace(damaged);
      EXPECT_FALSE(is_whole(read)) << "byte " << at << " changed by " << change;
      if (!read.is_ok()) continue;
      EXPECT_NE(read.value().damage, "") << "byte " << at;
      ASSERT_LT(read.value().events.size(), truth.events.size() + 1);
      for (std::size_t i = 0; i < read.value().events.size(); ++i) {
        EXPECT_EQ(read.value().events[i], truth.events[i]) << "byte " << at;
      }
    }
  }
}

TEST(Damage, EveryCutIsNoticed) {
  const std::string whole = small_log();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(is_whole(parse_trace(std::string_view(whole).substr(0, bytes)))) << bytes;
  }
}

TEST(Damage, MissingAndDoubledChunksAreNoticed) {
  const std::string whole = small_log();
  const std::size_t first = whole.find("CHNK");
  const std::size_t second = whole.find("CHNK", first + 1);
  ASSERT_NE(second, std::string::npos);
  const std::string chunk = whole.substr(first, second - first);
  EXPECT_FALSE(is_whole(parse_trace(whole.substr(0, first) + whole.substr(second))));
  EXPECT_FALSE(is_whole(parse_trace(whole.substr(0, second) + chunk + whole.substr(second))));
  EXPECT_FALSE(is_whole(parse_trace(whole + chunk)));
}

TEST(Damage, OtherFilesAreRefused) {
  for (const std::string& other :
       {std::string(), std::string("hello"), std::string("CISTRACE"), std::string(100, 'C')}) {
    EXPECT_FALSE(parse_trace(other).is_ok());
  }
  const auto missing = read_trace("/no/such/file");
  ASSERT_FALSE(missing.is_ok());
  EXPECT_EQ(missing.status().code(), base::StatusCode::io_error);
}

}  // namespace
}  // namespace cistern::trace
