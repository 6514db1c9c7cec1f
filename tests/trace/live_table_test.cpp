// The writer's table of live blocks: right whatever the order of events, and the same as a plain map over many.
#include "trace/live_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace cistern::trace {
namespace {

TraceEvent event(EventOp op, std::uint64_t sequence, std::uint64_t address, std::uint64_t bytes = 0) {
  TraceEvent event;
  event.op = op;
  event.sequence = sequence;
  event.address = address;
  event.requested_bytes = bytes;
  event.pool = 1;
  return event;
}

TEST(LiveTable, IsRightInWhateverOrderEventsOfThreadsCome) {
  std::vector<TraceEvent> events = {event(EventOp::allocate, 1, 0x100, 10), event(EventOp::free, 2, 0x100),
                                    event(EventOp::allocate, 3, 0x100, 30), event(EventOp::free, 4, 0x100),
                                    event(EventOp::allocate, 5, 0x100, 50)};
  // Each thread's own events keep their order; here the frees may be one place early or late.
  const std::vector<std::vector<std::size_t>> orders = {{0, 1, 2, 3, 4}, {1, 0, 2, 3, 4}, {0, 2, 1, 3, 4},
                                                        {0, 1, 3, 2, 4}, {0, 1, 2, 4, 3}, {1, 0, 3, 2, 4}};
  for (const auto& order : orders) {
    LiveTable table;
    for (const std::size_t i : order) {
      TraceEvent each = events[i];
      table.apply(&each);
    }
    ASSERT_EQ(table.live().size(), 1U);
    EXPECT_EQ(table.live()[0].requested_bytes, 50U);
  }
}

TEST(LiveTable, AMoveTakesTheBlockAlong) {
  LiveTable table;
  for (TraceEvent each : {event(EventOp::allocate, 1, 0x100, 10), event(EventOp::move, 2, 0x300, 0x100),
                          event(EventOp::allocate, 3, 0x100, 20)}) {
    table.apply(&each);
  }
  TraceEvent freed = event(EventOp::free, 4, 0x300);
  table.apply(&freed);
  EXPECT_EQ(freed.requested_bytes, 10U);
  ASSERT_EQ(table.live().size(), 1U);
  EXPECT_EQ(table.live()[0].requested_bytes, 20U);
}

TEST(LiveTable, IsTheSameAsAMap) {
  std::mt19937 random(3);
  LiveTable table;
  std::map<std::pair<std::uint32_t, std::uint64_t>, TraceEvent> model;
  for (std::uint64_t sequence = 1; sequence <= 200'000; ++sequence) {
    // Few addresses, in a grid as those of blocks are, and more of them live as time goes by.
    TraceEvent each = event(EventOp::allocate, sequence, 512 * (random() % 30'000), 1 + random() % 1000);
    each.pool = 1 + static_cast<std::uint32_t>(random() % 3);
    const auto key = std::pair{each.pool, each.address};
    const auto known = model.find(key);
    if (known == model.end()) {
      model.emplace(key, each);
      table.apply(&each);
    } else {
      each.op = EventOp::free;
      each.requested_bytes = 0;
      table.apply(&each);
      ASSERT_EQ(each.requested_bytes, known->second.requested_bytes);
      model.erase(known);
    }
  }
  std::vector<TraceEvent> wanted;
  for (const auto& [key, block] : model) wanted.push_back(block);
  std::sort(wanted.begin(), wanted.end(),
            [](const auto& left, const auto& right) { return left.sequence < right.sequence; });
  EXPECT_EQ(table.live(), wanted);
  EXPECT_GT(wanted.size(), 20'000U);
}

}  // namespace
}  // namespace cistern::trace
