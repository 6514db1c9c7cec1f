// Streams: work in order, events, waits, time that passes when the test says so, and destruction with work pending;
// over every device that runs in this process, whoever does the work.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "device/counting_device.hpp"
#include "device/device_cases.hpp"
#include "device/fault_device.hpp"
#include "device/host_device.hpp"
#include "device/simulated_device.hpp"

namespace cistern::device::testing {
namespace {

using base::Status;
using base::StatusCode;

void must(const Status& status) { ASSERT_TRUE(status.is_ok()) << status.to_string(); }

struct StreamCase {
  std::string name;
  std::function<std::shared_ptr<TrackedDevice>()> make;
};

std::shared_ptr<TrackedDevice> counting(Completion completion) {
  CountingConfig config;
  config.completion = completion;
  return made(CountingDevice::create(config));
}

std::shared_ptr<SimulatedDevice> simulated(std::shared_ptr<WorkTime> time = nullptr) {
  SimulatedConfig config;
  config.capacity_bytes = kCapacity;
  config.work_time = std::move(time);
  return made(SimulatedDevice::create(config));
}

std::vector<StreamCase> stream_cases() {
  return {{"host", [] { return made(HostDevice::create()); }},
          {"simulated", [] { return simulated(); }},
          {"counting_immediate", [] { return counting(Completion::immediate); }},
          {"counting_stepped", [] { return counting(Completion::stepped); }},
          {"counting_threads", [] { return counting(Completion::threads); }}};
}

class Streams : public ::testing::TestWithParam<StreamCase> {
 protected:
  void SetUp() override { device = GetParam().make(); }
  StreamHandle stream() { return device->create_stream().take(); }
  EventHandle event() { return device->create_event().take(); }

  std::shared_ptr<TrackedDevice> device;
};

TEST_P(Streams, WorkIsDoneInOrder) {
  const StreamHandle first = stream();
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) must(device->submit(first, {.duration_ns = 0, .body = [&, i] { order.push_back(i); }}));
  must(device->wait_stream(first));
  ASSERT_EQ(100U, order.size());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(i, order[i]);
}

TEST_P(Streams, TheDefaultStreamIsAStream) {
  bool done = false;
  must(device->submit(0, {.duration_ns = 10, .body = [&] { done = true; }}));
  must(device->wait_device());
  EXPECT_TRUE(done);
}

TEST_P(Streams, AnEventStandsForWhatWasSubmittedBefore) {
  const StreamHandle first = stream();
  const EventHandle mark = event();
  int value = 0;
  must(device->submit(first, {.duration_ns = 0, .body = [&] { value = 1; }}));
  must(device->record_event(mark, first));
  must(device->wait_event(mark));
  EXPECT_EQ(1, value);
  EXPECT_TRUE(device->query_event(mark).value());
}

TEST_P(Streams, AStreamWaitsForAnothersEvent) {
  const StreamHandle first = stream();
  const StreamHandle second = stream();
  const EventHandle mark = event();
  for (int round = 0; round < 50; ++round) {
    int value = 0;
    int seen = -1;
    must(device->submit(first, {.duration_ns = 0, .body = [&] { value = round + 1; }}));
    must(device->record_event(mark, first));
    must(device->stream_wait_event(second, mark));
    must(device->submit(second, {.duration_ns = 0, .body = [&] { seen = value; }}));
    must(device->wait_stream(second));
    ASSERT_EQ(round + 1, seen);
  }
}

TEST_P(Streams, ADestroyedStreamFinishesWhatItHas) {
  const EventHandle mark = event();
  std::atomic<int> done{0};
  for (int round = 0; round < 20; ++round) {
    const StreamHandle first = stream();
    for (int i = 0; i < 5; ++i) must(device->submit(first, {.duration_ns = 0, .body = [&] { ++done; }}));
    must(device->record_event(mark, first));
    must(device->destroy_stream(first));
    EXPECT_EQ(StatusCode::not_found, device->submit(first, {}).code());
    must(device->wait_event(mark));
    ASSERT_EQ(5 * (round + 1), done.load());
  }
}

TEST_P(Streams, WaitDeviceWaitsForDestroyedStreamsToo) {
  std::atomic<int> done{0};
  const StreamHandle first = stream();
  for (int i = 0; i < 5; ++i) must(device->submit(first, {.duration_ns = 0, .body = [&] { ++done; }}));
  must(device->destroy_stream(first));
  must(device->wait_device());
  EXPECT_EQ(5, done.load());
}

TEST_P(Streams, WorkMaySubmitWorkAndRecordEvents) {
  const StreamHandle first = stream();
  const StreamHandle second = stream();
  std::vector<int> order;
  must(device->submit(
      first, {.duration_ns = 0, .body = [&] {
                order.push_back(1);
                EXPECT_TRUE(device->submit(first, {.duration_ns = 0, .body = [&] { order.push_back(2); }}).is_ok());
                EXPECT_TRUE(device->submit(second, {}).is_ok());
                const EventHandle mark = device->create_event().take();
                EXPECT_TRUE(device->record_event(mark, second).is_ok());
              }}));
  must(device->wait_stream(first));
  must(device->wait_device());
  EXPECT_EQ((std::vector<int>{1, 2}), order);
}

TEST_P(Streams, WorkThatWaitsForItselfIsRefused) {
  const StreamHandle first = stream();
  Status own;
  Status all;
  must(device->submit(first, {.duration_ns = 0, .body = [&] {
                                own = device->wait_stream(first);
                                all = device->wait_device();
                              }}));
  must(device->wait_stream(first));
  EXPECT_EQ(StatusCode::busy, own.code()) << own.to_string();
  EXPECT_EQ(StatusCode::busy, all.code()) << all.to_string();
}

TEST_P(Streams, ADeviceThatGoesDoesItsWorkBefore) {
  std::atomic<int> done{0};
  for (int i = 0; i < 3; ++i) {
    const StreamHandle each = stream();
    for (int j = 0; j < 10; ++j) {
      must(device->submit(each, {.duration_ns = 60'000'000'000, .body = [&] { ++done; }}));
    }
    if (GetParam().name == "host" && i == 0) must(device->destroy_stream(each));
  }
  device.reset();  // an hour of work: its time is not waited for
  EXPECT_EQ(30, done.load());
}

TEST_P(Streams, ThreadsDoNotDisturbEachOther) {
  constexpr int kThreads = 3;
  std::atomic<std::uint64_t> done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const StreamHandle mine = device->create_stream().take();
        const EventHandle mark = device->create_event().take();
        for (int i = 0; i < 3; ++i) {
          EXPECT_TRUE(device->submit(mine, {.duration_ns = 1, .body = [&] { ++done; }}).is_ok());
          EXPECT_TRUE(device->submit(0, {.duration_ns = 1, .body = [&] { ++done; }}).is_ok());
          EXPECT_TRUE(device->record_event(mark, mine).is_ok());
          EXPECT_TRUE(device->stream_wait_event(0, mark).is_ok());
          EXPECT_TRUE(device->query_event(mark).is_ok());
        }
        const Status waited = round % 2 == 0 ? device->wait_event(mark) : Status();
        EXPECT_TRUE(waited.is_ok());
        EXPECT_TRUE(device->destroy_event(mark).is_ok());
        EXPECT_TRUE(device->destroy_stream(mine).is_ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  must(device->wait_device());
  EXPECT_EQ(kThreads * 20U * 6U, done.load());
  const DeviceCounters counters = device->counters();
  EXPECT_EQ(counters.events_created, counters.events_destroyed);
}

INSTANTIATE_TEST_SUITE_P(Devices, Streams, ::testing::ValuesIn(stream_cases()),
                         [](const auto& of) { return of.param.name; });

// --- Time that the test owns -------------------------------------------------------------------

TEST(StreamTime, WorkEndsWhenItsTimeIsOver) {
  auto time = std::make_shared<ManualWorkTime>();
  auto device = simulated(time);
  const StreamHandle slow = device->create_stream().take();
  const StreamHandle fast = device->create_stream().take();
  const EventHandle slow_end = device->create_event().take();
  const EventHandle fast_end = device->create_event().take();
  must(device->submit(slow, {.duration_ns = 1000, .body = {}}));
  must(device->submit(slow, {.duration_ns = 1000, .body = {}}));
  must(device->record_event(slow_end, slow));
  must(device->submit(fast, {.duration_ns = 10, .body = {}}));
  must(device->record_event(fast_end, fast));
  EXPECT_FALSE(device->query_event(fast_end).value());
  time->advance(10);
  must(device->wait_event(fast_end));
  time->advance(1989);
  EXPECT_FALSE(device->query_event(slow_end).value());
  time->advance(1);  // 2000: both of the slow stream's, one after the other
  must(device->wait_event(slow_end));
  must(device->wait_device());
}

TEST(StreamTime, AnotherStreamsWorkBeginsAfterTheEvent) {
  auto time = std::make_shared<ManualWorkTime>();
  auto device = simulated(time);
  const StreamHandle first = device->create_stream().take();
  const StreamHandle second = device->create_stream().take();
  const EventHandle mark = device->create_event().take();
  const EventHandle end = device->create_event().take();
  must(device->submit(first, {.duration_ns = 500, .body = {}}));
  must(device->record_event(mark, first));
  must(device->stream_wait_event(second, mark));
  must(device->submit(second, {.duration_ns = 100, .body = {}}));
  must(device->record_event(end, second));
  time->advance(599);
  must(device->wait_event(mark));
  EXPECT_FALSE(device->query_event(end).value());  // 500 + 100
  time->advance(1);
  must(device->wait_event(end));
}

TEST(StreamTime, TheVirtualClockMovesToWhereWorkEnded) {
  auto device = simulated();
  const StreamHandle first = device->create_stream().take();
  const StreamHandle second = device->create_stream().take();
  const std::uint64_t begin = device->virtual_clock().now_ns();
  must(device->submit(first, {.duration_ns = 3'000'000, .body = {}}));
  must(device->submit(first, {.duration_ns = 4'000'000, .body = {}}));
  must(device->submit(second, {.duration_ns = 5'000'000, .body = {}}));
  must(device->wait_stream(first));
  EXPECT_EQ(begin + 7'000'000, device->virtual_clock().now_ns());
  must(device->wait_stream(second));  // ran beside it
  EXPECT_EQ(begin + 7'000'000, device->virtual_clock().now_ns());
}

TEST(StreamTime, RealWorkTakesItsTime) {
  auto device = made(HostDevice::create());
  const auto begin = std::chrono::steady_clock::now();
  must(device->submit(0, {.duration_ns = 5'000'000, .body = {}}));
  must(device->wait_stream(0));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(5));
}

TEST(StreamTime, RecordingAgainDoesNotDisturbWhoWaits) {
  auto time = std::make_shared<ManualWorkTime>();
  auto device = simulated(time);
  const EventHandle mark = device->create_event().take();
  const StreamHandle other = device->create_stream().take();
  std::promise<void> first_done;
  must(device->submit(0, {.duration_ns = 10, .body = {}}));
  must(device->record_event(mark, 0));
  must(device->stream_wait_event(other, mark));
  must(device->submit(other, {.duration_ns = 0, .body = [&] { first_done.set_value(); }}));
  must(device->submit(0, {.duration_ns = 1000, .body = {}}));
  must(device->record_event(mark, 0));
  time->advance(10);
  first_done.get_future().wait();  // would hang if it waited for the second record
  EXPECT_FALSE(device->query_event(mark).value());
}

// --- Stepping ----------------------------------------------------------------------------------

TEST(SteppedStreams, DoOneItemAtATime) {
  auto device = counting(Completion::stepped);
  const StreamHandle first = device->create_stream().take();
  const StreamHandle second = device->create_stream().take();
  const EventHandle mark = device->create_event().take();
  int done = 0;
  must(device->submit(first, {.duration_ns = 5, .body = [&] { ++done; }}));
  must(device->submit(first, {.duration_ns = 5, .body = [&] { ++done; }}));
  must(device->record_event(mark, first));
  must(device->stream_wait_event(second, mark));
  EXPECT_FALSE(device->step(second).value());  // waits for the first
  EXPECT_TRUE(device->step(first).value());
  EXPECT_EQ(1, done);
  EXPECT_FALSE(device->query_event(mark).value());
  EXPECT_TRUE(device->step(first).value());
  EXPECT_TRUE(device->query_event(mark).value());
  EXPECT_TRUE(device->step(second).value());
  EXPECT_FALSE(device->step(first).value());
  EXPECT_EQ(StatusCode::not_found, device->step(77).status().code());
  EXPECT_EQ(StatusCode::unsupported, counting(Completion::immediate)->step(0).status().code());
}

TEST(SteppedStreams, AWaitOfTheHostDoesWhatItWaitsForAndNoMore) {
  auto device = counting(Completion::stepped);
  const StreamHandle first = device->create_stream().take();
  const StreamHandle second = device->create_stream().take();
  const EventHandle mark = device->create_event().take();
  const EventHandle end = device->create_event().take();
  int before = 0;
  int after = 0;
  must(device->submit(first, {.duration_ns = 5, .body = [&] { ++before; }}));
  must(device->record_event(mark, first));
  must(device->submit(first, {.duration_ns = 5, .body = [&] { ++after; }}));
  must(device->stream_wait_event(second, mark));
  must(device->submit(second, {.duration_ns = 5, .body = [&] { before += 10; }}));
  must(device->record_event(end, second));
  must(device->wait_event(end));
  EXPECT_EQ(11, before);
  EXPECT_EQ(0, after);
  must(device->wait_device());
  EXPECT_EQ(1, after);
}

TEST(StreamFaults, EveryCallFailsAndNamesTheDevice) {
  FaultInjectingDevice device(counting(Completion::immediate));
  const StreamHandle stream = device.create_stream().take();
  const EventHandle event = device.create_event().take();
  const auto expect_fault = [&](Operation operation, const Status& status) {
    EXPECT_EQ(StatusCode::device_error, status.code());
    EXPECT_NE(std::string_view::npos, status.text().find(operation_name(operation))) << status.to_string();
    EXPECT_NE(std::string_view::npos, status.text().find("counting:0")) << status.to_string();
  };
  const std::vector<std::pair<Operation, std::function<Status()>>> calls = {
      {Operation::create_stream, [&] { return device.create_stream().status(); }},
      {Operation::wait_stream, [&] { return device.wait_stream(stream); }},
      {Operation::wait_device, [&] { return device.wait_device(); }},
      {Operation::stream_wait_event, [&] { return device.stream_wait_event(stream, event); }},
      {Operation::record_event, [&] { return device.record_event(event, stream); }},
      {Operation::query_event, [&] { return device.query_event(event).status(); }},
      {Operation::destroy_stream, [&] { return device.destroy_stream(stream); }}};
  for (const auto& [operation, call] : calls) {
    device.plan().add({.operation = operation});
    expect_fault(operation, call());
    EXPECT_TRUE(call().is_ok()) << operation_name(operation);
  }
}

}  // namespace
}  // namespace cistern::device::testing
