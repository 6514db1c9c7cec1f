// The pickle reader takes plain data only, names what it refuses, and never gets lost in what a hostile file claims.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "replay/sources/read_trace.hpp"
#include "replay/sources/trace_text.hpp"

namespace cistern::replay {
namespace {

const std::string kStart("\x80\x04", 2);

std::string text(std::string_view word) {
  return "\x8c" + std::string(1, static_cast<char>(word.size())) + std::string(word);
}

// A number as LONG1 of eight bytes.
std::string number(std::int64_t value) {
  std::string code("\x8a\x08", 2);
  for (int i = 0; i < 8; ++i) code += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
  return code;
}

std::string entry(std::string_view action, std::int64_t address, std::int64_t size) {
  return "}(" + text("action") + text(action) + text("addr") + number(address) + text("size") + number(size) + "u";
}

std::string snapshot(const std::string& entries, const std::string& segments = "]") {
  return kStart + "}(" + text("device_traces") + "](](" + entries + "ee" + text("segments") + segments + "u.";
}

std::string error_of(const std::string& bytes, const ReadLimits& limits = {}) {
  auto read = read_trace_bytes(bytes, "pytorch", limits);
  EXPECT_FALSE(read.is_ok());
  return read.is_ok() ? "" : read.status().to_string();
}

void expect_error(const std::string& bytes, const std::string& part, const ReadLimits& limits = {}) {
  const std::string error = error_of(bytes, limits);
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(Pickle, SmallestSnapshot) {
  const auto read = read_trace_bytes(snapshot(entry("alloc", 4096, 10) + entry("free_completed", 4096, 10)));
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(text_of(read.value()), "a0 10 @0 s0 | f0 @1000 s0");
}

TEST(Pickle, RefusesWhatRunsCodeByName) {
  expect_error(kStart + "cos\nsystem\n", "byte 2: the pickle uses GLOBAL, which is not carried out");
  expect_error(kStart + ")\x93.", "byte 3: the pickle uses STACK_GLOBAL");
  expect_error(kStart + "))R.", "byte 4: the pickle uses REDUCE");
  expect_error(kStart + "}b", "uses BUILD");
  expect_error(kStart + "\x82\x01", "uses EXT1");
  expect_error(kStart + "I01\n.", "uses INT");
  expect_error(kStart + "\xff", "byte 2: the pickle is malformed: 0xff is no opcode");
  expect_error("\x80\x01].", "its protocol is not 2 to 5");
  expect_error("(dp0\n.", "does not begin as a pickle");
}

TEST(Pickle, StackAndMemoAreChecked) {
  expect_error(kStart + ".", "takes more values than there are");
  expect_error(kStart + "a.", "takes more values than there are");
  expect_error(kStart + "(a.", "takes a mark for a value");
  expect_error(kStart + "]e.", "a mark is missing");
  expect_error(kStart + "K\x01K\x02\x61.", "appends to what is no list");
  expect_error(kStart + "](K\x01u.", "sets an item of no dictionary");
  expect_error(kStart + "}(K\x01u.", "a key has no value");
  expect_error(kStart + "h\x05.", "recalls what was never remembered");
  expect_error(kStart + "]r\xff\xff\xff\xff.", "its memo has gaps");
  expect_error(kStart + "\x94.", "remembers what is no value");
}

TEST(Pickle, LengthsAreNotBelieved) {
  using namespace std::string_literals;
  expect_error(kStart + "X\xff\xff\xff\xff" + "abc", "cut short");
  expect_error(kStart + "\x8d\xff\xff\xff\xff\xff\xff\xff\xff" + "abc", "cut short");
  expect_error(kStart + "\x95\xff\xff\xff\xff\xff\xff\xff\xff].", "the pickle holds no memory snapshot");
}

TEST(Pickle, CyclesEndAndSharedListsAreCounted) {
  // A list that is its own element stands for the list of traces.
  expect_error(kStart + "}(" + text("device_traces") + "]\x94h" + std::string(1, '\0') + "au.", "has no allocation");
  // One trace of 255 entries, held 255 times: 65,025 visits from a few kilobytes.
  std::string entries;
  for (int i = 0; i < 255; ++i) entries += entry("alloc", i + 1, 8);
  std::string bytes = kStart + "}(" + text("device_traces") + "](](" + entries + "e\x94";
  for (int i = 0; i < 254; ++i) bytes += std::string("h\0", 2);
  bytes += "eu.";
  ReadLimits limits;
  EXPECT_TRUE(read_trace_bytes(bytes, {}, limits).is_ok());
  limits.events = 60'000;
  expect_error(bytes, "the snapshot has more than 60000 entries", limits);
}

TEST(Pickle, ValuesAreLimited) {
  ReadLimits limits;
  limits.pickle_values = 1000;
  expect_error(kStart + "](" + std::string(1000, 'N') + "e.", "the pickle holds more than 1000 values", limits);
}

TEST(Pickle, EveryCutIsSeen) {
  std::ifstream file(CISTERN_TEST_DATA "/traces/snapshot_4.pickle", std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  ASSERT_TRUE(read_trace_bytes(whole).is_ok());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_trace_bytes(whole.substr(0, size), "pytorch").is_ok()) << size;
  }
}

TEST(Snapshot, MalformedPartsAreNamed) {
  expect_error(kStart + "].", "no dictionary with device_traces and segments");
  expect_error(kStart + "}" + text("segments") + "}s.", "segments is no list");
  expect_error(snapshot(entry("alloc", 4096, -1)), "entry 0 of device 0 has the size -1");
  expect_error(snapshot("}(" + text("action") + text("alloc") + "u"), "entry 0 of device 0 has no addr");
  expect_error(snapshot("", "](}e"), "a segment has no address or no list of blocks");
  expect_error(snapshot(entry("snapshot", 1, 1)), "has no allocation");
}

// Blocks of old versions carry no address: they tile the segment.
TEST(Snapshot, BlocksWithoutAddresses) {
  const auto block = [](std::string_view state, std::int64_t size) {
    return "}(" + text("size") + number(size) + text("state") + text(state) + "u";
  };
  const std::string segments = "](}(" + text("address") + number(4096) + text("blocks") + "](" +
                               block("active_allocated", 512) + block("inactive", 1024) +
                               block("active_awaiting_free", 2048) + "eue";
  // The trace frees the third block, which begins 1536 bytes in, and allocates nothing.
  const auto read = read_trace_bytes(snapshot(entry("free_requested", 5632, 2000), segments));
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(text_of(read.value()), "a0 512 @0 s0 | a1 2048 @0 s0");
  const auto freed = read_trace_bytes(snapshot(entry("free_completed", 5632, 2000), segments));
  ASSERT_TRUE(freed.is_ok()) << freed.status().to_string();
  EXPECT_EQ(text_of(freed.value()), "a0 512 @0 s0 | a1 2000 @0 s0 | f1 @0 s0");
  EXPECT_EQ(text_of(freed.value().remarks), "foreign 1, before 2");  // live in the segments though the trace freed it
}

}  // namespace
}  // namespace cistern::replay
