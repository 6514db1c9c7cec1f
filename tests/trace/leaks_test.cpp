// Leaks and growth, on traces written by hand and on one that was recorded.
#include "trace/leaks.hpp"

#include <gtest/gtest.h>

#include "trace/places.hpp"
#include "trace/trace_fixture.hpp"

namespace cistern::trace {
namespace {

TraceEvent event(EventOp op, std::uint64_t sequence, std::uint64_t address, std::uint64_t bytes = 0,
                 std::uint32_t stack = 0) {
  TraceEvent made;
  made.op = op;
  made.sequence = sequence;
  made.time = 1'000'000'000 + sequence;
  made.address = address;
  made.requested_bytes = bytes;
  made.pool = 1;
  made.stack = stack;
  return made;
}

TEST(Leaks, WhatIsLiveAtTheEndByPlaceOldestFirst) {
  TestDirectory directory;
  for (const char* name : {"a.trace", "a.log"}) {
    auto recorder = Recorder::start(record_to(directory.file(name)));
    RecordedPool pool(recorder);
    place_of_weights(pool.pool.get(), 4096);
    for (std::uint64_t i = 0; i < 3; ++i) place_of_requests(pool.pool.get(), 100 + i);
    deallocate_place(pool.pool.get(), place_of_requests(pool.pool.get(), 50));
    place_of_weights(pool.pool.get(), 1000);
    recorder->stop();
    CallSites sites;
    const LeakReport report = find_leaks(read_trace(directory.file(name)).take(), &sites);
    EXPECT_EQ(report.blocks, 5U);
    EXPECT_EQ(report.bytes, 5096U + 303U);
    EXPECT_EQ(report.unmatched_frees, 0U);
    ASSERT_EQ(report.groups.size(), 2U);
    EXPECT_EQ(report.groups[0].site.substr(0, 19), "place_of_weights+0x");
    EXPECT_EQ(report.groups[0].tag, "weights");
    EXPECT_EQ(report.groups[0].pool, "test");
    EXPECT_EQ(report.groups[0].bytes, 5096U);
    EXPECT_EQ(report.groups[0].blocks, 2U);
    EXPECT_GT(report.groups[0].newest_ns, report.groups[0].oldest_ns);
    EXPECT_GE(report.groups[0].call_stack.size(), 2U);
    EXPECT_EQ(report.groups[1].bytes, 303U);
    EXPECT_EQ(find_leaks(recorder->live(), &sites).bytes, report.bytes) << "the report at exit says the same";
    EXPECT_NE(leak_summary(report, 20).find("tag weights: place_of_weights+0x"), std::string::npos);
  }
}

TEST(Leaks, BlocksOfADestroyedPoolAreLeaksAndSaidToBe) {
  Trace trace;
  trace.events = {event(EventOp::allocate, 1, 0x100, 10), event(EventOp::pool_end, 2, 0)};
  CallSites sites;
  const LeakReport report = find_leaks(trace, &sites);
  ASSERT_EQ(report.groups.size(), 1U);
  EXPECT_EQ(report.groups[0].of_ended_pools, 1U);
  EXPECT_EQ(report.groups[0].site, "-");
}

TEST(Leaks, AnAddressUsedAgainAndAFreeWithoutAllocation) {
  Trace trace;
  trace.events = {event(EventOp::free, 1, 0x100), event(EventOp::allocate, 2, 0x100, 10),
                  event(EventOp::allocate, 3, 0x100, 20)};  // the free between was dropped
  CallSites sites;
  const LeakReport report = find_leaks(trace, &sites);
  EXPECT_EQ(report.unmatched_frees, 1U);
  EXPECT_EQ(report.blocks, 1U);
  EXPECT_EQ(report.bytes, 20U);
}

TEST(Leaks, OnlyWhatClimbsIsGrowth) {
  Trace trace;
  trace.tables.stacks = {{0x1000}, {0x2000}, {0x3000}};
  std::uint64_t sequence = 0;
  std::uint64_t address = 0;
  const auto add = [&](std::uint64_t bytes, std::uint32_t stack) {
    address += 512;
    trace.events.push_back(event(EventOp::allocate, ++sequence, address, bytes, stack));
    return address;
  };
  const auto remove = [&](std::uint64_t block) { trace.events.push_back(event(EventOp::free, ++sequence, block)); };
  for (int i = 0; i < 20; ++i) add(1000, 1);  // weights: at the beginning only
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t block = add(5000, 2);  // balanced
    if (i % 4 == 0) add(10, 3);                // climbs
    remove(block);
  }
  CallSites sites;
  const auto growth = find_growth(trace, &sites);
  ASSERT_EQ(growth.size(), 1U);
  EXPECT_EQ(growth[0].site, "0x3000");
  ASSERT_EQ(growth[0].floors.size(), 16U);
  EXPECT_LE(growth[0].floors.back(), 1000U);
  EXPECT_GE(growth[0].floors.back(), 900U);
  EXPECT_GT(growth[0].bytes_per_second, 0.0);
}

TEST(Leaks, AnElasticBufferIsALeakOfTheSizeThatItHadLast) {
  TestDirectory directory;
  for (const char* name : {"a.trace", "a.log"}) {
    auto recorder = Recorder::start(record_to(directory.file(name)));
    RecordedPool pool(recorder);
    const pool::ElasticView left = pool->reserve_elastic(8 << 20, pool->intern_tag("kv")).take();
    const pool::ElasticView ended = pool->reserve_elastic(8 << 20).take();
    ASSERT_TRUE(pool->grow_elastic(left.id, 1000).is_ok());
    ASSERT_TRUE(pool->grow_elastic(ended.id, 5000).is_ok());
    ASSERT_TRUE(pool->grow_elastic(left.id, 3'000'000).is_ok());
    ASSERT_TRUE(pool->shrink_elastic(left.id, 70'000).is_ok());
    ASSERT_TRUE(pool->release_elastic(ended.id).is_ok());
    recorder->stop();
    const Trace trace = read_trace(directory.file(name)).take();
    std::uint64_t resized = 0;
    for (const TraceEvent& each : trace.events) resized += each.op == EventOp::resize ? each.requested_bytes : 0;
    EXPECT_EQ(resized, 3'070'000U);
    CallSites sites;
    const LeakReport report = find_leaks(trace, &sites);
    EXPECT_EQ(report.blocks, 1U);
    EXPECT_EQ(report.bytes, 70'000U);
    EXPECT_EQ(report.unmatched_frees, 0U);
    ASSERT_EQ(report.groups.size(), 1U);
    EXPECT_EQ(report.groups[0].tag, "kv");
    EXPECT_FALSE(report.groups[0].call_stack.empty());
    EXPECT_EQ(find_leaks(recorder->live(), &sites).bytes, 70'000U) << "the report at exit says the same";
    ASSERT_TRUE(pool->release_elastic(left.id).is_ok());
  }
}

TEST(Leaks, OfAWindowBetweenMarks) {
  Trace trace;
  trace.tables.tags = {{0, 1, "begin"}, {0, 2, "end"}};
  const auto mark = [&](std::uint64_t sequence, std::uint32_t tag) {
    TraceEvent each = event(EventOp::mark, sequence, 0);
    each.pool = 0;
    each.tag = tag;
    return each;
  };
  trace.events = {event(EventOp::allocate, 1, 0x100, 1),  // before
                  mark(2, 1),
                  event(EventOp::allocate, 3, 0x200, 20),  // live at the end of the window, freed after it
                  event(EventOp::allocate, 4, 0x300, 300),
                  event(EventOp::free, 5, 0x300),
                  event(EventOp::allocate, 6, 0x400, 4000),
                  event(EventOp::move, 7, 0x500, 0x400),  // and is at 0x500 now
                  mark(8, 2),
                  event(EventOp::free, 9, 0x200),
                  mark(10, 1),
                  event(EventOp::free, 11, 0x500),
                  mark(12, 2)};
  const auto window = window_between(trace, "begin", "end");
  ASSERT_TRUE(window.is_ok());
  CallSites sites;
  const LeakReport report = find_leaks(trace, &sites, window.value());
  EXPECT_EQ(report.blocks, 2U);
  EXPECT_EQ(report.bytes, 4020U);
  EXPECT_EQ(find_leaks(trace, &sites).bytes, 1U);
  EXPECT_EQ(window_between(trace, "begin", "begin").value().last, 10U);
  EXPECT_NE(window_between(trace, "middle", "end").status().text().find("its marks: 'begin', 'end'"),
            std::string::npos);
}

}  // namespace
}  // namespace cistern::trace
