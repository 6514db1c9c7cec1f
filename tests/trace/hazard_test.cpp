// The detector finds planted faults of each of its kinds, tells who is concerned, and is silent in the right program.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "compact/stitcher.hpp"
#include "device/page_pool.hpp"
#include "device/simulated_device.hpp"
#include "pool/pool.hpp"
#include "trace/hazard_detector.hpp"
#include "trace/places.hpp"

namespace cistern::trace {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Two pools on one simulated device, watched. Work takes the time that the test lets pass.
class Hazards : public ::testing::Test {
 protected:
  struct Served {
    std::unique_ptr<pool::Pool> pool;
    std::uint64_t context = 0;
  };

  Hazards() : Hazards(std::make_shared<device::ManualWorkTime>()) {}
  explicit Hazards(std::shared_ptr<device::WorkTime> work_time)
      : manual(std::dynamic_pointer_cast<device::ManualWorkTime>(work_time)) {
    device::SimulatedConfig config;
    config.capacity_bytes = 64 * kMiB;
    config.latency.enabled = false;
    config.work_time = std::move(work_time);
    device = device::SimulatedDevice::create(config).take();
    device->observe_work(detector);
    pages = std::make_shared<device::PagePool>(*device, kMiB / 16);
    first = serve("first");
    second = serve("second");
  }

  // Pools wait for work on their memory when they go.
  void TearDown() override {
    if (manual != nullptr) manual->advance(1'000'000);
  }

  Served serve(const std::string& name, std::uint64_t limit_bytes = 8 * kMiB) {
    auto watched = detector->watch(name);
    pool::PoolOptions options;
    options.name = name;
    options.limit_bytes = limit_bytes;
    options.page_bytes = kMiB / 16;
    return {pool::Pool::create(device, pages, options, compact::rescue_steps(options.on_miss), watched.observer).take(),
            watched.context};
  }
  static device::Address allocate(pool::Pool& pool, std::uint64_t bytes, device::StreamHandle stream) {
    pool::AllocationRequest request;
    request.bytes = bytes;
    request.stream = stream;
    return pool.allocate(request).take();
  }
  void submit(device::StreamHandle stream, const std::string& name, device::Touch touch, std::uint64_t duration_ns = 0,
              std::uint64_t context = 0) {
    EXPECT_TRUE(
        device
            ->submit(
                stream,
                {.duration_ns = duration_ns, .body = nullptr, .touches = {touch}, .context = context, .name = name})
            .is_ok());
  }
  std::vector<Hazard> found() const { return detector->hazards(); }

  std::shared_ptr<device::ManualWorkTime> manual;
  std::shared_ptr<HazardDetector> detector = HazardDetector::create();
  std::shared_ptr<device::SimulatedDevice> device;
  std::shared_ptr<device::PagePool> pages;
  Served first;
  Served second;
};

TEST_F(Hazards, MemoryReusedBeforeItsWorkIsComplete) {
  const device::StreamHandle slow = device->create_stream().take();
  const device::StreamHandle other = device->create_stream().take();
  const device::Address at = place_of_requests(first.pool.get(), kMiB);
  submit(slow, "forward", {at, kMiB, true}, 1000);
  deallocate_place(first.pool.get(), at);  // too early
  ASSERT_EQ(place_of_weights(first.pool.get(), kMiB / 2), at);
  submit(other, "load", {at, kMiB / 2, true});
  ASSERT_TRUE(device->wait_stream(other).is_ok());
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::reused_too_early);
  EXPECT_EQ(hazards[0].work, "forward");
  EXPECT_EQ(hazards[0].stream, slow);
  ASSERT_EQ(hazards[0].blocks.size(), 2u);
  EXPECT_EQ(hazards[0].blocks[0].bytes, kMiB);
  EXPECT_EQ(hazards[0].blocks[1].bytes, kMiB / 2);
  EXPECT_LT(hazards[0].blocks[0].allocated.sequence, hazards[0].blocks[0].freed.sequence);
  EXPECT_LT(hazards[0].blocks[0].freed.sequence, hazards[0].blocks[1].allocated.sequence);
  const std::string text = hazards[0].text();
  for (const char* part : {"'forward'", "writes", "first", "place_of_requests", "deallocate_place", "place_of_weights",
                           "freed as event", "given to another owner"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
  }
}

TEST_F(Hazards, AFreeInTheStreamsOrderIsRight) {
  const device::StreamHandle slow = device->create_stream().take();
  const device::StreamHandle other = device->create_stream().take();
  const device::Address at = allocate(*first.pool, kMiB, slow);
  submit(slow, "forward", {at, kMiB, true}, 1000);
  ASSERT_TRUE(first.pool->free_async(at, slow).is_ok());
  ASSERT_EQ(allocate(*first.pool, kMiB, slow), at);
  submit(slow, "again", {at, kMiB, true}, 1000);
  const device::Address next = allocate(*first.pool, kMiB, other);
  submit(other, "load", {next, kMiB, true});
  ASSERT_TRUE(device->wait_stream(other).is_ok());
  EXPECT_TRUE(found().empty());
}

TEST_F(Hazards, AUseThatNobodyRecorded) {
  const device::StreamHandle owner = device->create_stream().take();
  const device::StreamHandle reader = device->create_stream().take();
  const device::Address at = allocate(*first.pool, kMiB, owner);
  submit(reader, "read", {at, kMiB, false}, 1000);
  ASSERT_TRUE(first.pool->free_async(at, owner).is_ok());
  ASSERT_EQ(allocate(*first.pool, kMiB, owner), at);
  submit(owner, "overwrite", {at, kMiB, true});
  ASSERT_TRUE(device->wait_stream(owner).is_ok());
  ASSERT_EQ(found().size(), 1u);
  EXPECT_EQ(found()[0].work, "read");
}

TEST_F(Hazards, ARecordedUseIsRight) {
  const device::StreamHandle owner = device->create_stream().take();
  const device::StreamHandle reader = device->create_stream().take();
  const device::Address at = allocate(*first.pool, kMiB, owner);
  ASSERT_TRUE(first.pool->record_use(at, reader).is_ok());
  submit(reader, "read", {at, kMiB, false}, 1000);
  ASSERT_TRUE(first.pool->free_async(at, owner).is_ok());
  const device::Address next = allocate(*first.pool, kMiB, owner);
  EXPECT_NE(next, at);
  submit(owner, "overwrite", {next, kMiB, true});
  ASSERT_TRUE(device->wait_stream(owner).is_ok());
  EXPECT_TRUE(found().empty());
}

TEST_F(Hazards, ABlockOfAnotherContext) {
  const device::Address mine = allocate(*first.pool, kMiB, 0);
  const device::Address theirs = allocate(*second.pool, kMiB, 0);
  submit(0, "right", {mine, kMiB, true}, 0, first.context);
  submit(0, "wrong", {theirs, 512, true}, 0, first.context);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::other_context);
  EXPECT_EQ(hazards[0].work, "wrong");
  ASSERT_EQ(hazards[0].blocks.size(), 1u);
  EXPECT_EQ(hazards[0].blocks[0].pool, "second");
}

TEST_F(Hazards, BytesPastTheEndOfABlock) {
  const device::Address at = allocate(*first.pool, kMiB, 0);
  const device::Address behind = allocate(*first.pool, kMiB, 0);
  ASSERT_EQ(behind, at + kMiB);
  submit(0, "whole", {at, kMiB, true});
  submit(0, "too far", {at + kMiB - 512, 513, false});
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::past_the_end);
  ASSERT_EQ(hazards[0].blocks.size(), 2u);
  EXPECT_EQ(hazards[0].blocks[1].address, behind);
  EXPECT_NE(hazards[0].text().find("reads"), std::string::npos);
}

TEST_F(Hazards, AnElasticBufferEndsWhereItEndsNow) {
  const pool::ElasticView buffer = first.pool->reserve_elastic(4 * kMiB).take();
  ASSERT_TRUE(first.pool->grow_elastic(buffer.id, kMiB).is_ok());
  const device::StreamHandle stream = device->create_stream().take();
  const device::StreamHandle other = device->create_stream().take();
  submit(stream, "whole", {buffer.address, kMiB, true}, 1000);
  ASSERT_TRUE(first.pool->grow_elastic(buffer.id, 2 * kMiB).is_ok());
  submit(other, "more", {buffer.address + kMiB - 512, kMiB, true});  // both parts are the same block
  EXPECT_TRUE(found().empty());
  manual->advance(2000);
  ASSERT_TRUE(device->wait_device().is_ok());
  ASSERT_TRUE(first.pool->shrink_elastic(buffer.id, kMiB).is_ok());
  submit(stream, "too far", {buffer.address, kMiB + 1, false});
  ASSERT_EQ(found().size(), 1u);
  EXPECT_EQ(found()[0].kind, HazardKind::past_the_end);
  EXPECT_EQ(found()[0].blocks[0].bytes, kMiB);
  EXPECT_EQ(found()[0].blocks[0].address, buffer.address);
  ASSERT_TRUE(first.pool->release_elastic(buffer.id).is_ok());
  submit(stream, "after", {buffer.address, 1, false});
  ASSERT_EQ(found().size(), 2u);
  EXPECT_EQ(found()[1].kind, HazardKind::not_live);
  EXPECT_TRUE(device->destroy_stream(stream).is_ok());
  EXPECT_TRUE(device->destroy_stream(other).is_ok());
}

TEST_F(Hazards, MemoryThatIsNobodys) {
  const device::Address at = allocate(*first.pool, kMiB, 0);
  ASSERT_TRUE(first.pool->free(at).is_ok());
  submit(0, "late", {at + 512, 512, true});
  submit(0, "wild", {0x1000, 512, true});
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 2u);
  EXPECT_EQ(hazards[0].kind, HazardKind::not_live);
  ASSERT_EQ(hazards[0].blocks.size(), 1u);
  EXPECT_EQ(hazards[0].blocks[0].address, at) << "who had it last";
  EXPECT_NE(hazards[0].blocks[0].freed.sequence, 0u);
  EXPECT_TRUE(hazards[1].blocks.empty());
}

// --- A right program of threads, and the same program without its order ------------------------

class BusyHazards : public Hazards {
 protected:
  BusyHazards() : Hazards(std::make_shared<device::RealWorkTime>()) {}

  void serve_requests(pool::Pool& pool, std::uint64_t context, unsigned seed, bool in_order) {
    std::mt19937 random(seed);
    const device::StreamHandle stream = device->create_stream().take();
    for (int i = 0; i < 150; ++i) {
      pool::AllocationRequest request;
      request.bytes = 512 * (1 + random() % 800);
      if (in_order) request.stream = stream;
      auto served = pool.allocate(request);
      if (!served.is_ok()) continue;
      const device::Address at = served.value();
      submit(stream, "write", {at, request.bytes, true}, random() % (in_order ? 20'000 : 200'000), context);
      if (random() % 4 == 0 && in_order && pool.record_use(at, 0).is_ok()) {
        const device::EventHandle written = device->create_event().take();
        (void)device->record_event(written, stream);
        (void)device->stream_wait_event(0, written);
        submit(0, "read", {at, request.bytes, false}, 10'000, context);
        (void)device->destroy_event(written);
      }
      EXPECT_TRUE((in_order ? pool.free_async(at, stream) : pool.free(at)).is_ok());
    }
    EXPECT_TRUE(!in_order || pool.forget_stream(stream).is_ok());
    (void)device->destroy_stream(stream);
  }
  void serve_from_threads(bool in_order) {
    Served shared = serve("shared", 2 * kMiB);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] { serve_requests(*shared.pool, shared.context, i + 1, in_order); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(device->wait_device().is_ok());
  }
};

TEST_F(BusyHazards, NothingIsFoundInTheRightProgram) {
  serve_from_threads(true);
  for (const Hazard& hazard : found()) ADD_FAILURE() << hazard.text();
}

TEST_F(BusyHazards, TheSameWithoutOrderIsFound) {
  serve_from_threads(false);
  ASSERT_FALSE(found().empty());
  for (const Hazard& hazard : found()) EXPECT_EQ(hazard.kind, HazardKind::reused_too_early) << hazard.text();
}

}  // namespace
}  // namespace cistern::trace
