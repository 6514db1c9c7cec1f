// Threads on real streams share a pool that is always at its limit; the work of each stamps blocks and looks at them
// again.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "device/host_device.hpp"
#include "pool/stream_fixture.hpp"

namespace cistern::pool {
namespace {

// -----------------------------------------------------------------------------------------

// Serves requests on a stream of its own: every block is stamped by the stream's work, and looked at by later work.
class Server {
 public:
  Server(TestPool& test, device::HostDevice& device, unsigned seed, std::atomic<int>& corrupted)
      : test_(test), device_(device), random_(seed), corrupted_(corrupted), stream_(device.create_stream().take()) {}

  void run(int requests) {
    for (int i = 0; i < requests; ++i) {
      serve(random_() % 8 == 0);
      if (i % 40 == 39) renew();
    }
    (void)test_->forget_stream(stream_);
    (void)device_.destroy_stream(stream_);
  }

 private:
  void serve(bool shared) {
    AllocationRequest request;
    request.bytes = 512 * (1 + random_() % 400);
    request.stream = stream_;
    auto served = test_->allocate(request);
    if (!served.is_ok()) return;
    auto* words = reinterpret_cast<std::uint64_t*>(served.value());
    const std::uint64_t count = request.bytes / 8;
    const std::uint64_t stamp = random_();
    submit([words, count, stamp] {
      for (std::uint64_t i = 0; i < count; i += 61) words[i] = stamp + i;
      words[count - 1] = stamp;
    });
    const auto check = [words, count, stamp, &corrupted = corrupted_] {
      for (std::uint64_t i = 0; i < count - 1; i += 61) {
        if (words[i] != stamp + i) ++corrupted;
      }
      if (words[count - 1] != stamp) ++corrupted;
    };
    if (shared) read_elsewhere(served.value(), check);
    submit(check);
    if (!test_->free_async(served.value(), stream_).is_ok()) ++corrupted_;
  }

  // Work of the default stream reads the block as well, some time.
  template <typename Check>
  void read_elsewhere(device::Address at, const Check& check) {
    auto event = device_.create_event();
    if (!test_->record_use(at, 0).is_ok()) ++corrupted_;
    if (!device_.record_event(event.value(), stream_).is_ok()) ++corrupted_;
    if (!device_.stream_wait_event(0, event.value()).is_ok()) ++corrupted_;
    if (!device_.submit(0, {.duration_ns = 20'000, .body = check}).is_ok()) ++corrupted_;
    (void)device_.destroy_event(event.value());
  }

  void renew() {
    if (!test_->forget_stream(stream_).is_ok()) ++corrupted_;
    if (!device_.destroy_stream(stream_).is_ok()) ++corrupted_;
    stream_ = device_.create_stream().take();
  }

  template <typename Body>
  void submit(const Body& body) {
    if (!device_.submit(stream_, {.duration_ns = random_() % 30'000, .body = body}).is_ok()) ++corrupted_;
  }

  TestPool& test_;
  device::HostDevice& device_;
  std::mt19937 random_;
  std::atomic<int>& corrupted_;
  device::StreamHandle stream_;
};

TEST(StreamThreads, ThreadsOnStreamsOfTheirOwnSeeTheirOwnStamps) {
  for (const bool waits : {false, true}) {
    auto device = device::HostDevice::create({.ordinal = 0, .capacity_bytes = 64 * kMiB}).take();
    PoolOptions options = StreamPool::limited(2 * kMiB);  // tight: misses, waits and stitches all the time
    options.stream_waits = waits;
    TestPool test(device, options);
    std::atomic<int> corrupted{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] { Server(test, *device, i + 1, corrupted).run(200); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(corrupted, 0);
    EXPECT_EQ(test->validate(), "");
    EXPECT_EQ(test->ledger().allocated_bytes, 0u);
    EXPECT_GT(test->ledger().misses, 10u);
    test.pool.reset();
    EXPECT_EQ(device->counters().events_created, device->counters().events_destroyed);
    EXPECT_EQ(device->counters().driver_bytes, 0u);
  }
}

}  // namespace
}  // namespace cistern::pool
