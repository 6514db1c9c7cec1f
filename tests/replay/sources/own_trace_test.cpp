// Cistern's own traces as a source: what a text trace of a few lines becomes, odd events, damage, and what is refused.
#include <gtest/gtest.h>

#include "replay/sources/read_trace.hpp"
#include "replay/sources/trace_text.hpp"

namespace cistern::replay {
namespace {

const std::string kHeader = "# cistern trace 1 text process=7\n";

TraceData read_own(const std::string& lines) {
  auto read = read_trace_bytes(kHeader + lines);
  EXPECT_TRUE(read.is_ok()) << read.status().to_string();
  return read.is_ok() ? read.take() : TraceData{};
}

std::string seconds(std::uint64_t ns) {
  const std::string rest = std::to_string(ns % 1'000'000'000);
  return std::to_string(ns / 1'000'000'000) + "." + std::string(9 - rest.size(), '0') + rest;
}

std::string allocation(std::uint64_t ns, int number, int address, int bytes, int pool = 1, int stream = 0) {
  return seconds(ns) + " " + std::to_string(number) + " alloc main+0x5 " + std::to_string(bytes) + " " +
         std::to_string(address) + " granted=512 pool=" + std::to_string(pool) +
         " thread=1 stream=" + std::to_string(stream) + "\n";
}

std::string event(std::uint64_t ns, int number, const std::string& op, int address, int pool = 1, int stream = 0) {
  return seconds(ns) + " " + std::to_string(number) + " " + op + " " + std::to_string(address) +
         " 0 granted=0 pool=" + std::to_string(pool) + " thread=1 stream=" + std::to_string(stream) + "\n";
}

TEST(OwnTraces, PoolsAndStreamsAreToldApartAndPageEventsLeftOut) {
  const TraceData trace = read_own("# pool 1 weights host:0\n# pool 2 cache host:0\n" + event(4000, 1, "fill", 4096) +
                                   allocation(5000, 2, 4096, 100) + allocation(5010, 3, 4096, 200, 2) +
                                   allocation(5020, 4, 8192, 300, 1, 3) + event(5030, 5, "free", 4096, 2) +
                                   event(5040, 6, "vacate", 4096) + event(5050, 7, "free", 4096) + "# end\n");
  EXPECT_EQ(text_of(trace), "a0 100 @1000 s0 | a1 200 @1010 s2 | a2 300 @1020 s1 | f1 @1030 s2 | f0 @1050 s0");
  EXPECT_EQ(text_of(trace.remarks), "");
  EXPECT_EQ(trace.format, "cistern");
  EXPECT_TRUE(trace.missing.empty());
}

TEST(OwnTraces, LinesInAnotherOrderThanTheNumbersAreSorted) {
  const TraceData trace =
      read_own(allocation(50, 3, 512, 30) + event(40, 2, "free", 512) + allocation(10, 1, 512, 10) + "# end\n");
  EXPECT_EQ(text_of(trace), "a0 10 @0 s0 | f0 @30 s0 | a1 30 @40 s0");
}

TEST(OwnTraces, WhatIsLiveWhenAPoolEndsIsFreedThen) {
  const TraceData trace =
      read_own(allocation(0, 1, 512, 10) + allocation(1, 2, 1024, 20) + allocation(2, 3, 512, 30, 2) +
               event(5, 4, "pool_end", 0) + allocation(6, 5, 1024, 40, 2) + "# end\n");
  EXPECT_EQ(text_of(trace), "a0 10 @0 s0 | a1 20 @1 s0 | a2 30 @2 s1 | f0 @5 s0 | f1 @5 s0 | a3 40 @6 s1");
  EXPECT_EQ(text_of(trace.remarks), "with pool 2");
}

TEST(OwnTraces, ABufferOfAnotherSizeIsFreedAndAskedForAgain) {
  std::string resize = event(2, 2, "resize", 512);
  resize.replace(resize.find(" 0 granted"), 2, " 90");
  const TraceData trace = read_own(allocation(1, 1, 512, 10) + resize + event(3, 3, "free", 512) + "# end\n");
  EXPECT_EQ(text_of(trace), "a0 10 @0 s0 | f0 @1 s0 | a1 90 @1 s0 | f1 @2 s0");
  EXPECT_EQ(text_of(trace.remarks), "");
}

TEST(OwnTraces, AMovedBlockIsTheSameBlock) {
  std::string move = event(2, 2, "move", 8192);
  move.replace(move.find(" 0 "), 3, " 4096 ");
  const TraceData trace = read_own(allocation(0, 1, 4096, 100) + move + allocation(3, 3, 4096, 200) +
                                   event(4, 4, "mark", 0, 0) + event(5, 5, "free", 8192) + "# end\n");
  EXPECT_EQ(text_of(trace), "a0 100 @0 s0 | a1 200 @3 s0 | f0 @5 s0");
  EXPECT_EQ(text_of(trace.remarks), "");
}

TEST(OwnTraces, OddEventsAreCounted) {
  const TraceData trace = read_own(event(0, 1, "free", 512) + allocation(1, 2, 512, 10) + allocation(2, 3, 512, 20) +
                                   allocation(3, 4, 1024, 0) + event(4, 5, "free", 1024) +
                                   event(5, 6, "out_of_memory", 0) + "# dropped 1 12\n# end\n");
  EXPECT_EQ(text_of(trace), "a0 10 @1 s0 | f0 @2 s0 | a1 20 @2 s0");
  EXPECT_EQ(text_of(trace.remarks), "unknown frees 1, repeated 1, zero 1, foreign 1, dropped 12");
  ASSERT_EQ(trace.missing.size(), 1U);
  EXPECT_NE(trace.missing[0].find("lacks 12 events"), std::string::npos);
}

// Threads take a number first and look at the clock then: small steps back are no oddity, large ones are.
TEST(OwnTraces, TimesOfThreadsMaySlip) {
  const TraceData trace =
      read_own(allocation(5'000'000'000, 1, 512, 10) + allocation(7'000'000'000, 2, 1024, 20) +
               allocation(6'500'000'000, 3, 2048, 30) + allocation(5'500'000'000, 4, 4096, 40) + "# end\n");
  EXPECT_EQ(text_of(trace), "a0 10 @0 s0 | a1 20 @2000000000 s0 | a2 30 @2000000000 s0 | a3 40 @2000000000 s0");
  EXPECT_EQ(text_of(trace.remarks), "back 1");
}

TEST(OwnTraces, ACutTraceSaysWhatIsMissing) {
  const TraceData open = read_own(allocation(0, 1, 512, 10));
  ASSERT_EQ(open.missing.size(), 2U);
  EXPECT_NE(open.missing[0].find("has no end"), std::string::npos);
  EXPECT_NE(open.missing[1].find("has every event that had happened"), std::string::npos);
  const TraceData cut = read_own(allocation(0, 1, 512, 10) + "# newest 9\n0.0000");
  EXPECT_EQ(cut.events.size(), 1U);
  ASSERT_EQ(cut.missing.size(), 2U);
  EXPECT_NE(cut.missing[1].find("lacks up to 8 events"), std::string::npos);
  EXPECT_EQ(cut.missing[0], "is read up to its damage only: line 4 is cut off; 6 bytes are not read");
  const TraceData strange = read_own(allocation(0, 1, 512, 10) + "hello\n" + event(1, 2, "free", 512));
  EXPECT_EQ(text_of(strange), "a0 10 @0 s0") << "nothing behind damage is believed";
}

TEST(OwnTraces, RefusalsSayWhy) {
  const auto refusal = [](const std::string& bytes, const ReadLimits& limits = {}) {
    auto read = read_trace_bytes(bytes, "cistern", limits);
    return read.is_ok() ? std::string() : read.status().to_string();
  };
  EXPECT_NE(refusal("hello\n").find("no trace of Cistern's"), std::string::npos);
  EXPECT_NE(refusal("CISTRACE").find("ends inside its header"), std::string::npos);
  EXPECT_NE(refusal(kHeader + "# end\n").find("the file has no allocation"), std::string::npos);
  ReadLimits limits;
  limits.own_trace_bytes = 100;
  EXPECT_NE(refusal(kHeader + std::string(100, '#') + "\n", limits).find("limit_exceeded"), std::string::npos);
  limits = {};
  limits.events = 1;
  EXPECT_NE(refusal(kHeader + allocation(0, 1, 512, 10) + allocation(1, 9, 1024, 20), limits).find("event 9"),
            std::string::npos);
  std::string huge = allocation(0, 1, 512, 10);
  huge.replace(huge.find(" 10 "), 4, " 72057594037927937 ");
  EXPECT_NE(refusal(kHeader + huge).find("larger than any memory"), std::string::npos);
}

}  // namespace
}  // namespace cistern::replay
