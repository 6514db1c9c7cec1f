// Many threads, one recorder: nothing is lost, the order is exact, and threads may come, go and free at their end.
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "trace/trace_fixture.hpp"

namespace cistern::trace {
namespace {

TEST(RecorderThreads, TheFileHasEveryEventInOrder) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 3000;
  TestDirectory directory;
  auto recorder = Recorder::start(record_to(directory.file("a.trace"), 0));
  RecordedPool pool(recorder);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const auto served = pool->allocate(4096);
        if (!served.is_ok() || !pool->free(served.value()).is_ok()) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  recorder->stop();
  const Trace trace = read_trace(directory.file("a.trace")).take();
  ASSERT_EQ(trace.dropped, 0U);
  std::map<std::uint64_t, bool> live;
  std::size_t frees = 0;
  for (const TraceEvent& event : trace.events) {
    if (event.op == EventOp::allocate) {
      ASSERT_FALSE(live[event.address]) << event.sequence;
      live[event.address] = true;
    } else if (event.op == EventOp::free) {
      ASSERT_TRUE(live[event.address]) << event.sequence;
      live[event.address] = false;
      ++frees;
    }
  }
  EXPECT_EQ(frees, std::size_t{kThreads} * kRounds);
}

// Frees in the destructor of a thread's own variable.
struct Keeper {
  ~Keeper() {
    if (pool != nullptr && !pool->free(block).is_ok()) std::abort();
  }
  pool::Pool* pool = nullptr;
  device::Address block = 0;
};
thread_local Keeper keeper;

TEST(RecorderThreads, ThreadsThatFreeAtTheirEnd) {
  TestDirectory directory;
  auto recorder = Recorder::start(record_to(directory.file("a.trace")));
  RecordedPool pool(recorder);
  for (int i = 0; i < 20; ++i) {
    std::thread([&] {
      keeper.pool = pool.pool.get();  // made before the recorder's own, destroyed after it
      keeper.block = pool::must_allocate(*pool.pool, 4096);
    }).join();
  }
  recorder->stop();
  const Trace trace = read_trace(directory.file("a.trace")).take();
  std::size_t frees = 0;
  for (const TraceEvent& event : trace.events) frees += event.op == EventOp::free ? 1 : 0;
  EXPECT_EQ(frees, 20U);
}

TEST(RecorderThreads, OneThreadAndSeveralRecorders) {
  TestDirectory directory;
  auto first = Recorder::start(record_to(directory.file("a.trace")));
  auto second = Recorder::start(record_to(directory.file("a.log")));
  RecordedPool one(first);
  RecordedPool two(second);
  for (int i = 0; i < 50; ++i) {
    pool::must_allocate(*one.pool, 512);
    pool::must_allocate(*two.pool, 1024);
  }
  first->stop();
  second->stop();
  for (const char* name : {"a.trace", "a.log"}) {
    std::size_t allocations = 0;
    const Trace trace = read_trace(directory.file(name)).take();
    for (const TraceEvent& event : trace.events) allocations += event.op == EventOp::allocate ? 1 : 0;
    EXPECT_EQ(allocations, 50U);
  }
}

}  // namespace
}  // namespace cistern::trace
