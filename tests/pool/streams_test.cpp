// Memory in the order of streams: who gets freed memory when, how many events that takes, and what goes wrong well.
#include <gtest/gtest.h>

#include <vector>

#include "pool/stream_fixture.hpp"
#include "pool/stream_queues.hpp"

namespace cistern::pool {
namespace {

using base::StatusCode;

TEST(PoolStreams, OneStreamNeedsNoEvent) {
  StreamPool pool;
  const device::StreamHandle only = pool.stream();
  const device::Address first = pool.allocate(kMiB, only);
  for (int i = 0; i < 100; ++i) {
    const device::Address at = pool.allocate(2 * kMiB, only);
    pool.submit(only);
    pool.free(at, only);
    ASSERT_EQ(pool.awaiting(), 0u);
    ASSERT_EQ(at, pool.allocate(2 * kMiB, only)) << "its own memory is there at once";
    pool.free(at, only);
  }
  pool.free(first, only);
  EXPECT_EQ(pool.counters().events_created, 0u);
  EXPECT_EQ(pool.counters().stream_waits, 0u);
  EXPECT_EQ(pool->ledger().peak_reserved_bytes, 3 * kMiB);
}

TEST(PoolStreams, ASecondStreamMakesFreeMemoryPendingBehindOneEvent) {
  StreamPool pool;
  const device::StreamHandle first = pool.stream();
  const device::StreamHandle second = pool.stream();
  std::vector<device::Address> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(pool.allocate(kMiB, first));
  pool.submit(first);
  for (const device::Address at : blocks) pool.free(at, first);
  const device::Address other = pool.allocate(kMiB, second);
  EXPECT_EQ(std::find(blocks.begin(), blocks.end(), other), blocks.end());
  EXPECT_EQ(pool.counters().events_created, 1u);
  EXPECT_EQ(pool.counters().events_recorded, 1u);
  EXPECT_EQ(pool.awaiting(), 10 * kMiB);
  EXPECT_EQ(pool.allocate(10 * kMiB, first), blocks.front()) << "the first stream has it at once";
  pool.free(blocks.front(), first);
  pool.step(first);
  EXPECT_EQ(pool.allocate(10 * kMiB, second), blocks.front()) << "when its work is complete, everybody";
  EXPECT_EQ(pool->ledger().reserved_bytes, 11 * kMiB);
}

TEST(PoolStreams, CallsWithoutAStreamGetCompleteMemoryOnly) {
  StreamPool pool;
  const device::StreamHandle only = pool.stream();
  const device::Address at = pool.allocate(kMiB, only);
  pool.submit(only);
  pool.free(at, only);
  const device::Address plain = pool.allocate(kMiB);
  EXPECT_NE(plain, at);
  EXPECT_EQ(pool.awaiting(), kMiB);
  pool.step(only);
  EXPECT_EQ(pool.allocate(kMiB), at);
  EXPECT_TRUE(pool->free(plain).is_ok());
  EXPECT_EQ(pool.awaiting(), 0u) << "a free without a stream says that the work is complete";
}

TEST(PoolStreams, EventsAreBoundedByStreamsNotByBlocks) {
  StreamPool pool;
  std::vector<device::StreamHandle> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(pool.stream());
  for (int round = 0; round < 2000; ++round) {
    for (const device::StreamHandle stream : streams) {
      const device::Address at = pool.allocate(64 * kKiB, stream);
      pool.submit(stream);
      pool.free(at, stream);
    }
  }
  EXPECT_LE(pool.counters().events_created, 3 * StreamQueues::kMostInFlight);
  EXPECT_LE(pool.counters().events_recorded, 3 * 2000 / StreamQueues::kFreesPerBatch + 10);
  EXPECT_EQ(pool.counters().event_waits, 0u);
  pool.test.pool.reset();
  EXPECT_EQ(pool.device->counters().events_created, pool.device->counters().events_destroyed);
}

TEST(PoolStreams, ASlowStreamHoldsBackItsOwnMemoryOnly) {
  StreamPool pool(StreamPool::limited(4 * kMiB));
  const device::StreamHandle slow = pool.stream();
  const device::StreamHandle fast = pool.stream();
  const device::StreamHandle third = pool.stream();
  const device::Address held = pool.allocate(kMiB, slow);
  pool.submit(slow);
  pool.free(held, slow);
  const device::Address rest = pool.allocate(3 * kMiB, fast);
  pool.submit(fast);
  pool.free(rest, fast);
  pool.step(fast);
  EXPECT_EQ(pool.allocate(3 * kMiB, third), rest);
  EXPECT_EQ(pool.counters().event_waits, 0u) << "nobody waited";
  EXPECT_EQ(pool.awaiting(), kMiB);
}

TEST(PoolStreams, AtTheLimitTheOldestWorkIsWaitedForAndTheSearchBeginsAgain) {
  StreamPool pool(StreamPool::limited(4 * kMiB));
  const device::StreamHandle first = pool.stream();
  const device::StreamHandle second = pool.stream();
  (void)pool.allocate(64 * kKiB, second);  // two streams from here on
  std::vector<device::Address> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(pool.allocate(kMiB, first));
  for (const device::Address at : blocks) {
    pool.submit(first);
    pool.free(at, first);
  }
  const device::Address at = pool.allocate(3 * kMiB, second);
  EXPECT_EQ(at, blocks.front());
  EXPECT_GE(pool.counters().event_waits, 1u);
  EXPECT_EQ(pool.awaiting(), 0u);
}

TEST(PoolStreams, WaitingOnTheDeviceTakesMemoryOverWithoutGrowth) {
  PoolOptions options = StreamPool::limited(64 * kMiB);
  options.stream_waits = true;
  StreamPool pool(options);
  const device::StreamHandle first = pool.stream();
  const device::StreamHandle second = pool.stream();
  (void)pool.allocate(64 * kKiB, second);
  const device::Address at = pool.allocate(2 * kMiB, first);
  pool.submit(first);
  pool.free(at, first);
  const std::uint64_t reserved = pool->ledger().reserved_bytes;
  EXPECT_EQ(pool.allocate(2 * kMiB, second), at);
  EXPECT_EQ(pool->ledger().reserved_bytes, reserved);
  EXPECT_EQ(pool.counters().waits_inserted, 1u);
  pool.submit(second);
  EXPECT_FALSE(pool.device->step(second).value()) << "the second stream's work comes after the first's";
  pool.step(first);
  pool.step(second);
  pool.free(at, second);
  EXPECT_EQ(pool.allocate(2 * kMiB, first), at);
  EXPECT_EQ(pool.counters().waits_inserted, 2u) << "it was the second stream's memory, so back behind another wait";
}

TEST(PoolStreams, ABlockThatAnotherStreamUsesWaitsForBoth) {
  StreamPool pool;
  const device::StreamHandle owner = pool.stream();
  const device::StreamHandle reader = pool.stream();
  const device::Address at = pool.allocate(kMiB, owner);
  EXPECT_TRUE(pool->record_use(at, reader).is_ok());
  EXPECT_TRUE(pool->record_use(at, reader).is_ok()) << "again changes nothing";
  pool.submit(owner);
  pool.submit(reader);
  pool.free(at, owner);
  EXPECT_EQ(pool.awaiting(), kMiB);
  EXPECT_EQ(pool->ledger().live_blocks, 0u);
  EXPECT_NE(pool.allocate(kMiB, owner), at) << "its own stream neither";
  EXPECT_EQ(pool->free_async(at, owner).code(), StatusCode::double_free);
  EXPECT_EQ(pool->free(at).code(), StatusCode::double_free);
  EXPECT_EQ(pool->describe(at).status().code(), StatusCode::not_found);
  pool.step(reader);
  EXPECT_NE(pool.allocate(kMiB), at) << "the owner's work is not complete";
  EXPECT_EQ(pool.allocate(kMiB, owner), at) << "but that is in order with its own";
}

TEST(PoolStreams, AFreeWithoutAStreamHonoursRecordedUses) {
  PoolOptions options = StreamPool::limited(64 * kMiB);
  options.magazine_bytes = 8 * kMiB;
  StreamPool pool(options);
  const device::StreamHandle reader = pool.stream();
  const device::StreamHandle other = pool.stream();
  const device::Address at = pool.allocate(kMiB);
  EXPECT_TRUE(pool->record_use(at, reader).is_ok());
  (void)pool.allocate(64 * kKiB, other);
  pool.submit(reader);
  EXPECT_TRUE(pool->free(at).is_ok());
  EXPECT_EQ(pool.awaiting(), kMiB);
  EXPECT_NE(pool.allocate(kMiB, other), at);
  pool.step(reader);
  EXPECT_EQ(pool.allocate(kMiB, other), at);
}

TEST(PoolStreams, AForgottenStreamsMemoryComesBackWhenItsWorkIsComplete) {
  StreamPool pool;
  const device::StreamHandle gone = pool.stream();
  const device::StreamHandle other = pool.stream();
  const device::Address at = pool.allocate(kMiB, gone);
  pool.submit(gone);
  pool.submit(gone);
  pool.free(at, gone);
  EXPECT_TRUE(pool->forget_stream(gone).is_ok());
  EXPECT_EQ(pool.awaiting(), kMiB);
  EXPECT_NE(pool.allocate(kMiB, other), at);
  pool.step(gone);
  pool.step(gone);
  EXPECT_TRUE(pool.device->destroy_stream(gone).is_ok());
  EXPECT_EQ(pool.allocate(kMiB, other), at);
  EXPECT_TRUE(pool->forget_stream(4711).is_ok()) << "a stream that the pool never saw";
}

TEST(PoolStreams, AStreamDestroyedBehindThePoolsBackIsSurvived) {
  StreamPool pool(StreamPool::limited(2 * kMiB));
  const device::StreamHandle gone = pool.stream();
  const device::StreamHandle other = pool.stream();
  const device::Address at = pool.allocate(2 * kMiB, gone);
  pool.submit(gone);
  pool.free(at, gone);
  EXPECT_TRUE(pool.device->destroy_stream(gone).is_ok());
  EXPECT_EQ(pool.allocate(2 * kMiB, other), at) << "the whole device was waited for";
  EXPECT_EQ(pool.counters().stream_waits, 1u);
}

TEST(PoolStreams, StreamsThatComeAndGoShareSlots) {
  StreamPool pool;
  const device::StreamHandle steady = pool.stream();
  for (int i = 0; i < 200; ++i) {
    const device::StreamHandle each = pool.stream();
    const device::Address at = pool.allocate(64 * kKiB, each);
    pool.submit(each);
    pool.free(at, each);
    EXPECT_TRUE(pool->forget_stream(each).is_ok());
    pool.step(each);
    pool.free(pool.allocate(64 * kKiB, steady), steady);
  }
  EXPECT_EQ(pool.counters().stream_waits, 0u);
  EXPECT_LE(pool->ledger().reserved_bytes, 20 * 64 * kKiB);
}

TEST(PoolStreams, WithMoreBusyStreamsThanSlotsAFreeWaits) {
  StreamPool pool;
  std::vector<device::StreamHandle> streams;
  std::vector<device::Address> blocks;
  for (int i = 0; i < 20; ++i) {
    streams.push_back(pool.stream());
    blocks.push_back(pool.allocate(kMiB, streams.back()));
    pool.submit(streams.back());
    pool.free(blocks.back(), streams.back());
  }
  EXPECT_EQ(pool.awaiting(), 15 * kMiB);
  EXPECT_EQ(pool.counters().stream_waits, 5u);
  EXPECT_EQ(pool->record_use(pool.allocate(512), pool.stream()).code(), StatusCode::busy);
}

TEST(PoolStreams, PagesLeaveAPoolOfOneStreamOnlyAfterItsWork) {
  StreamPool pool(StreamPool::limited(4 * kMiB));
  const device::StreamHandle only = pool.stream();
  std::vector<device::Address> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(pool.allocate(kMiB, only));
  pool.free(blocks[0], only);
  pool.submit(only);
  pool.free(blocks[2], only);
  bool done = false;
  EXPECT_TRUE(pool.device->submit(only, {.duration_ns = 0, .body = [&] { done = true; }}).is_ok());
  EXPECT_NE(pool.allocate(2 * kMiB, only), 0u);  // stitched from two holes
  EXPECT_TRUE(done) << "pages moved while work could use them";
  EXPECT_EQ(pool->ledger().stitches, 1u);
  pool.free(blocks[1], only);
  EXPECT_EQ(pool.awaiting(), 0u) << "and then all is ready again";
  EXPECT_EQ(pool.counters().events_created, 1u);
  EXPECT_TRUE(pool.device->submit(only, {.duration_ns = 0, .body = [&] { done = false; }}).is_ok());
  EXPECT_GE(pool->trim(0).value(), kMiB);
  EXPECT_FALSE(done);
}

TEST(PoolStreams, QuarantineKeepsWhatIsFreedTooEarly) {
  PoolOptions options = StreamPool::limited(64 * kMiB);
  options.quarantine = true;
  options.magazine_bytes = 8 * kMiB;
  StreamPool pool(options);
  const device::StreamHandle stream = pool.stream();
  const device::Address at = pool.allocate(kMiB);
  pool.submit(0);  // work of the default stream that the pool is told nothing of
  EXPECT_TRUE(pool->free(at).is_ok());
  EXPECT_EQ(pool.awaiting(), kMiB);
  EXPECT_NE(pool.allocate(kMiB, stream), at);
  pool.step(0);
  EXPECT_EQ(pool.allocate(kMiB, stream), at);
  EXPECT_EQ(pool->free(at + 512).code(), StatusCode::invalid_argument);
}

TEST(PoolStreams, DirectAllocationsWaitLikeOthers) {
  PoolOptions options = StreamPool::limited(64 * kMiB);
  options.direct_bytes = 8 * kMiB;
  StreamPool pool(options);
  const device::StreamHandle first = pool.stream();
  const device::StreamHandle second = pool.stream();
  (void)pool.allocate(512, second);
  const device::Address at = pool.allocate(8 * kMiB, first);
  pool.submit(first);
  pool.free(at, first);
  EXPECT_EQ(pool.counters().frees, 0u);
  EXPECT_EQ(pool.awaiting(), 8 * kMiB);
  (void)pool->trim(0);
  EXPECT_EQ(pool.counters().frees, 0u) << "work may still use it";
  pool.step(first);
  EXPECT_GE(pool->trim(0).value(), 8 * kMiB);
  EXPECT_EQ(pool.counters().frees, 1u);
}

TEST(PoolStreams, BadFreesChangeNothing) {
  StreamPool pool;
  const device::StreamHandle stream = pool.stream();
  const device::Address at = pool.allocate(kMiB, stream);
  EXPECT_EQ(pool->free_async(at + 512, stream).code(), StatusCode::invalid_argument);
  EXPECT_EQ(pool->free_async(0x1000, stream).code(), StatusCode::not_found);
  EXPECT_EQ(pool->record_use(at + 512, stream).code(), StatusCode::not_found);
  pool.free(at, stream);
  EXPECT_EQ(pool->free_async(at, stream).code(), StatusCode::double_free);
  EXPECT_EQ(pool.awaiting(), 0u);
}

TEST(PoolStreams, APoolThatGoesWaitsForWorkOnItsMemory) {
  StreamPool pool;
  const device::StreamHandle first = pool.stream();
  const device::Address at = pool.allocate(kMiB, first);
  bool done = false;
  EXPECT_TRUE(pool.device->submit(first, {.duration_ns = 0, .body = [&] { done = true; }}).is_ok());
  pool.free(at, first);
  pool.test.pool.reset();
  EXPECT_TRUE(done);
  EXPECT_EQ(pool.counters().driver_bytes, 0u);
  EXPECT_EQ(pool.device->counters().events_created, pool.device->counters().events_destroyed);
}

TEST(PoolStreams, ARefusalTellsOfStreamsOnlyWhereThereAreSome) {
  StreamPool pool(StreamPool::limited(2 * kMiB));
  AllocationRequest request;
  request.bytes = 2 * kMiB;
  const device::Address rest = pool.allocate(kMiB);
  EXPECT_EQ(pool->allocate(request).status().text().find("wait for work"), std::string_view::npos);
  const device::StreamHandle first = pool.stream();
  const device::Address at = pool.allocate(kMiB, first);
  pool.submit(first);
  pool.free(at, first);
  const base::Status refused = pool->allocate(request).status();
  EXPECT_EQ(refused.code(), StatusCode::limit_exceeded);
  EXPECT_NE(refused.text().find("wait for work (nothing to do)"), std::string_view::npos) << refused.text();
  EXPECT_EQ(pool.counters().event_waits, 1u) << "before it was refused";
  EXPECT_TRUE(pool->free(rest).is_ok());
}

// Every call that streams make fails once: the request is served or refused as it would be, and nothing is lost.
TEST(PoolStreams, EveryDeviceCallFailingOnceLosesNothing) {
  const auto scenario = [](StreamPool& pool) {
    const device::StreamHandle first = pool.device->create_stream().take();
    const device::StreamHandle second = pool.device->create_stream().take();
    for (int round = 0; round < 3; ++round) {
      std::vector<std::pair<device::Address, device::StreamHandle>> blocks;
      for (int i = 0; i < 6; ++i) {
        const device::StreamHandle on = i % 2 == 0 ? first : second;
        const device::Address at = pool.allocate(400 * kKiB, on);
        if (at == 0) continue;
        blocks.emplace_back(at, on);
        pool.submit(on);
        if (i == 3) (void)pool->record_use(at, first);
      }
      for (const auto& [at, on] : blocks) pool.free(at, on);
      if (round == 1) (void)pool->forget_stream(first);
      const device::Address plain = pool.allocate(1500 * kKiB);
      EXPECT_TRUE(plain == 0 || pool->free(plain).is_ok());
      (void)pool->trim(kMiB);
      (void)pool.awaiting();
    }
  };
  PoolOptions options = StreamPool::limited(3 * kMiB);
  options.stream_waits = true;
  std::uint64_t calls = 0;
  {
    StreamPool pool(options);
    pool.faulty->plan().reset();
    scenario(pool);
    calls = pool.faulty->plan().calls();
  }
  ASSERT_GT(calls, 60u);
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth) + " of " + std::to_string(calls));
    StreamPool pool(options);
    pool.faulty->plan().reset();
    pool.faulty->plan().add({.operation = {}, .nth = nth});
    scenario(pool);
    pool.faulty->plan().reset();
    EXPECT_NE(pool.allocate(3 * kMiB), 0u) << "all memory is there again";
    EXPECT_EQ(pool.awaiting(), 0u);
    pool.test.pool.reset();
    EXPECT_EQ(pool.device->counters().events_created, pool.device->counters().events_destroyed);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace cistern::pool
