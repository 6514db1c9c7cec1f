// What is no clean event is counted, and the rest of the trace is read; what makes a file unreadable is refused with
// its place and what to do.
#include <gtest/gtest.h>

#include "replay/sources/numbers.hpp"
#include "replay/sources/read_trace.hpp"
#include "replay/sources/trace_text.hpp"

namespace cistern::replay {
namespace {

const std::string kHeader = "op,id,size,time_ns,stream\n";

TraceData read_csv(const std::string& rows) {
  auto read = read_trace_bytes(kHeader + rows);
  EXPECT_TRUE(read.is_ok()) << read.status().to_string();
  return read.is_ok() ? read.take() : TraceData{};
}

std::string error_of(const std::string& bytes, std::string_view format = {}, const ReadLimits& limits = {}) {
  auto read = read_trace_bytes(bytes, format, limits);
  EXPECT_FALSE(read.is_ok());
  return read.is_ok() ? "" : read.status().to_string();
}

void expect_error(const std::string& bytes, const std::string& part, std::string_view format = {}) {
  const std::string error = error_of(bytes, format);
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(OddEvents, FreeOfUnknownBlock) {
  const TraceData trace = read_csv("a,1,10,0,0\nf,2,,1,0\nf,1,,2,0\nf,1,,3,0\n");
  EXPECT_EQ(text_of(trace), "a0 10 @0 s0 | f0 @2 s0");
  EXPECT_EQ(text_of(trace.remarks), "unknown frees 2");
}

TEST(OddEvents, IdAllocatedWhileLive) {
  const TraceData trace = read_csv("a,1,10,0,0\na,1,20,5,1\nf,1,,6,1\n");
  EXPECT_EQ(text_of(trace), "a0 10 @0 s0 | f0 @5 s0 | a1 20 @5 s1 | f1 @6 s1");
  EXPECT_EQ(text_of(trace.remarks), "repeated 1");
}

TEST(OddEvents, ZeroSizeGoesWithItsFree) {
  const TraceData trace = read_csv("a,1,0,0,0\na,2,8,1,0\nf,1,,2,0\nf,2,,3,0\n");
  EXPECT_EQ(text_of(trace), "a0 8 @1 s0 | f0 @3 s0");
  EXPECT_EQ(text_of(trace.remarks), "zero 1");
}

TEST(OddEvents, TimeGoingBack) {
  const TraceData trace = read_csv("a,1,8,100,0\na,2,8,50,0\na,3,8,120,0\n");
  EXPECT_EQ(text_of(trace), "a0 8 @100 s0 | a1 8 @100 s0 | a2 8 @120 s0");
  EXPECT_EQ(text_of(trace.remarks), "back 1");
}

TEST(OddEvents, StreamsAreNumberedByTheirNumbers) {
  const TraceData trace = read_csv("a,1,8,0,9000000000\na,2,8,0,7\na,3,8,0,8\n");
  EXPECT_EQ(text_of(trace), "a0 8 @0 s2 | a1 8 @0 s0 | a2 8 @0 s1");
  EXPECT_EQ(trace.streams, 3U);
}

TEST(OddEvents, OtherColumnsOrderAndLineEndsAreFine) {
  const auto read = read_trace_bytes(
      "\xef\xbb\xbf# by a script\r\nstream,time_ns,note,size,id,op\r\n0,5,\"x,y\",64,3,a\r\n\r\n0,6,,,3,f");
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(text_of(read.value()), "a0 64 @5 s0 | f0 @6 s0");
}

TEST(OddEvents, LifetimesOfNoTime) {
  const auto read = read_trace_bytes("id,lower,upper,size\n1,5,5,100\n1,5,6,100\n");
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(text_of(read.value()), "a0 100 @5 s0 | f0 @6 s0");
  EXPECT_EQ(text_of(read.value().remarks), "zero 1");
}

TEST(Refusals, NameLineFieldAndReason) {
  expect_error(kHeader + "a,1,10,0,0\nb,1,10,0,0\n", "line 3: op: 'b' is neither a (allocate) nor f (free)");
  expect_error(kHeader + "a,one,10,0,0\n", "line 2: id: 'one' is no whole number below 2^64");
  expect_error(kHeader + "a,1,-10,0,0\n", "line 2: size: '-10' is no whole number");
  expect_error(kHeader + "a,1,18446744073709551616,0,0\n", "line 2: size: ");
  expect_error(kHeader + "a,1,72057594037927937,0,0\n", "larger than any memory");
  expect_error(kHeader + "a,1\n", "line 2: has 2 fields, but column 'size' is field 3");
  expect_error(kHeader + "a,1,\"10,0,0\n", "line 2: a quoted field has no end");
  expect_error("id,lower,upper,size\n1,6,5,100\n", "line 2: upper: '5' lies before lower");
  expect_error("Thread,Time,Action,Pointer,Size,Stream\n1,noon,free,0x1,1,0\n", "Time: 'noon' is no time of day");
  expect_error("{\"event\":\"allocate\",\"result\":{\"memory_ptr\":\"0x1\"}}\n", "line 1: the event has no timestamp");
  expect_error("{\"event\":\n", "line 1: is no JSON object");
}

TEST(Refusals, ManyLargeBlocksDoNotOverflow) {
  std::string rows = kHeader;
  for (int id = 0; id < 129; ++id) rows += "a," + std::to_string(id) + ",72057594037927936,0,0\n";
  expect_error(rows, "line 130: more than 2^63 bytes are live at once");
}

TEST(Refusals, WhatIsNoTrace) {
  expect_error("", "the file is empty");
  expect_error("hello\n", "its content is of no known format; it begins with 'hello' (formats: csv, lifetimes,");
  expect_error("PK\x03\x04xyz", "zip archive");
  expect_error("Component,Timestamp(us),Total Allocated(MB)\n", "give operator_memory.csv");
  expect_error(kHeader, "the file has no allocation");
  expect_error("a,1\n", "line 1: the header has no column 'op'", "csv");
  expect_error(kHeader, "no trace format 'pytorhc'; did you mean pytorch?", "pytorhc");
  const auto missing = read_trace("/no/such/file.csv");
  ASSERT_FALSE(missing.is_ok());
  EXPECT_EQ(missing.status().to_string(),
            "not_found: /no/such/file.csv: the file can't be opened: No such file or directory");
}

TEST(Refusals, MoreEventsThanTheLimit) {
  ReadLimits limits;
  limits.events = 2;
  const std::string error = error_of(kHeader + "a,1,8,0,0\na,2,8,0,0\na,3,8,0,0\n", {}, limits);
  EXPECT_NE(error.find("limit_exceeded: csv: line 4: the trace has more than 2 events"), std::string::npos) << error;
}

// Formats that are put in order first are held whole, and limited by their rows.
TEST(Refusals, MoreRowsThanTheLimit) {
  ReadLimits limits;
  limits.events = 2;
  const std::string error = error_of("id,lower,upper,size\n1,0,1,8\n2,0,1,8\n", {}, limits);
  EXPECT_NE(error.find("limit_exceeded: lifetimes: line 3: more lifetimes than are read (1)"), std::string::npos)
      << error;
}

TEST(Refusals, JsonWithoutEnd) {
  expect_error("{\"event\":" + std::string(1000, '[') + "\n", "line 1: is no JSON object");
  std::string many = "{\"event\":1";
  for (int i = 0; i < 300; ++i) many += ",\"k\":1";
  expect_error(many + "}\n", "line 1: is no JSON object");
}

TEST(Numbers, ScaledIsExactWhereDoubleIsNot) {
  EXPECT_EQ(parse_scaled("1764246877074330.301", 1000), 1764246877074330301U);
  EXPECT_EQ(parse_scaled("0.5", 1024), 512U);
  EXPECT_EQ(parse_scaled("4304.95751953125", 1024 * 1024), 4514075136U);
  EXPECT_EQ(parse_scaled("18446744073709551615", 2), std::nullopt);
  EXPECT_EQ(parse_scaled("1.x", 2), std::nullopt);
  EXPECT_EQ(parse_scaled("", 2), std::nullopt);
  EXPECT_EQ(parse_pointer("(nil)"), 0U);
  EXPECT_EQ(parse_pointer("0x"), std::nullopt);
  EXPECT_EQ(parse_time_of_day("00:00:01.5"), 1'500'000'000U);
  EXPECT_EQ(parse_time_of_day("00:00:01:000002"), 1'000'002'000U);
  EXPECT_EQ(parse_time_of_day("24:00:00"), std::nullopt);
  EXPECT_EQ(parse_time_of_day("00:00:01."), std::nullopt);
}

}  // namespace
}  // namespace cistern::replay
