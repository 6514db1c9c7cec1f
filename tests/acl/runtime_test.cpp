// Beginning and ending, devices, contexts, streams, events, callbacks of the AscendCL library.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "acl/acl_fixture.hpp"

namespace cistern::test {
namespace {

class AclRuntime : public Acl {
 protected:
  aclrtStream stream() {
    aclrtStream made = nullptr;
    EXPECT_EQ(aclrtCreateStream(&made), ACL_SUCCESS) << recent();
    return made;
  }
};

void hold_until_set(void* user) {
  while (!static_cast<std::atomic<bool>*>(user)->load()) std::this_thread::yield();
}

void count_up(void* user) { ++*static_cast<std::atomic<int>*>(user); }

TEST_F(AclRuntime, BeginningsAreCounted) {
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  std::uint64_t left = 0;
  EXPECT_EQ(aclFinalizeReference(&left), ACL_SUCCESS);
  EXPECT_EQ(left, 1U);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_UNINITIALIZE);
  EXPECT_TRUE(contains(recent(), "after aclFinalize()")) << recent();
}

TEST_F(AclRuntime, AWrongEnvironmentIsNamed) {
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  ::setenv("CISTERN_ACL_DEVICES", "many", 1);
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_TRUE(contains(recent(), "CISTERN_ACL_DEVICES") && contains(recent(), "1..64")) << recent();
  ::setenv("CISTERN_ACL_DEVICES", "2", 1);
  EXPECT_EQ(aclInit("/nowhere/acl.json"), ACL_ERROR_INVALID_FILE);
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
}

TEST_F(AclRuntime, DevicesAreCountedAndEnd) {
  std::uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(aclrtSetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  std::int32_t current = -1;
  EXPECT_EQ(aclrtGetDevice(&current), ACL_SUCCESS);
  EXPECT_EQ(current, 1);
  EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDevice(&current), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDevice(&current), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtResetDevice(1), ACL_ERROR_RT_INVALID_DEVICEID);
  aclrtRunMode mode = ACL_DEVICE;
  EXPECT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_HOST);
}

TEST_F(AclRuntime, ContextsAreOfThreads) {
  aclrtContext first = nullptr;
  ASSERT_EQ(aclrtCreateContext(&first, 0), ACL_SUCCESS) << recent();
  aclrtContext current = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
  EXPECT_EQ(current, first);
  std::thread([&] {
    aclrtContext mine = nullptr;
    EXPECT_EQ(aclrtGetCurrentContext(&mine), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSetCurrentContext(first), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetCurrentContext(&mine), ACL_SUCCESS);
    EXPECT_EQ(mine, first);
  }).join();
  EXPECT_EQ(aclrtDestroyContext(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(first), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_TRUE(contains(recent(), "was destroyed")) << recent();
  EXPECT_EQ(aclrtSetCurrentContext(&first), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(AclRuntime, StreamsDoTheirWorkInOrder) {
  aclrtStream const made = stream();
  std::vector<char> sent(4096, 'x');
  std::vector<char> received(4096);
  void* const block = allocate(4096);
  std::atomic<bool> go{false};
  EXPECT_EQ(aclrtLaunchHostFunc(made, &hold_until_set, &go), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(block, 4096, sent.data(), 4096, ACL_MEMCPY_HOST_TO_DEVICE, made), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemsetAsync(block, 4096, 'y', 2048, made), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(received.data(), 4096, block, 4096, ACL_MEMCPY_DEVICE_TO_HOST, made), ACL_SUCCESS);
  aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
  EXPECT_EQ(aclrtStreamQuery(made, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(made, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(received[0], 0);
  go = true;
  EXPECT_EQ(aclrtSynchronizeStream(made), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclrtStreamQuery(made, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  EXPECT_EQ(received[2047], 'y');
  EXPECT_EQ(received[2048], 'x');
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(made), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(made), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(AclRuntime, MemoryFreedUnderWorkIsFound) {
  aclrtStream const made = stream();
  std::atomic<bool> go{false};
  void* const block = allocate(4096);
  EXPECT_EQ(aclrtLaunchHostFunc(made, &hold_until_set, &go), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemsetAsync(block, 4096, 1, 4096, made), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  go = true;
  EXPECT_EQ(aclrtSynchronizeStream(made), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(contains(recent(), "was freed before the stream came to the work")) << recent();
  EXPECT_EQ(aclrtSynchronizeStream(made), ACL_SUCCESS) << "said once";
  EXPECT_EQ(aclrtDestroyStreamForce(made), ACL_SUCCESS);
}

TEST_F(AclRuntime, EventsMarkAndMeasure) {
  aclrtStream const first = stream();
  aclrtStream const second = stream();
  aclrtEvent start = nullptr;
  aclrtEvent end = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&start), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEventWithFlag(&end, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE), ACL_SUCCESS);
  float ms = -1;
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  std::atomic<bool> go{false};
  std::atomic<int> count{0};
  EXPECT_EQ(aclrtRecordEvent(start, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchHostFunc(first, &hold_until_set, &go), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(end, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, end), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchHostFunc(second, &count_up, &count), ACL_SUCCESS);
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  EXPECT_EQ(aclrtQueryEventStatus(end, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_NOT_COMPLETE);
  EXPECT_EQ(aclrtSynchronizeEvent(start), ACL_SUCCESS);  // the stream may get to it late
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(count, 0);
  go = true;
  EXPECT_EQ(aclrtSynchronizeEvent(end), ACL_SUCCESS);
  EXPECT_EQ(aclrtQueryEventStatus(end, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_SUCCESS);
  EXPECT_GE(ms, 10.0F);
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(aclrtResetEvent(end, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtQueryEventStatus(end, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
  for (aclrtEvent event : {start, end}) EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  for (aclrtStream made : {first, second}) EXPECT_EQ(aclrtDestroyStream(made), ACL_SUCCESS);
}

// A program's thread that runs callbacks until it is told to stop.
class CallbackThread {
 public:
  CallbackThread()
      : thread_([this] {
          number_ = static_cast<std::uint64_t>(pthread_self());
          while (!stop_) static_cast<void>(aclrtProcessReport(10));
        }) {
    while (number_ == 0) std::this_thread::yield();
  }
  ~CallbackThread() {
    stop_ = true;
    thread_.join();
  }
  std::uint64_t number() const { return number_; }

 private:
  std::atomic<std::uint64_t> number_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(AclRuntime, BlockingCallbacksAreWaitedFor) {
  aclrtStream const made = stream();
  std::atomic<int> count{0};
  EXPECT_EQ(aclrtLaunchCallback(&count_up, &count, ACL_CALLBACK_BLOCK, made), ACL_ERROR_STREAM_NOT_SUBSCRIBE);
  {
    const CallbackThread thread;
    EXPECT_EQ(aclrtSubscribeReport(thread.number(), made), ACL_SUCCESS) << recent();
    EXPECT_EQ(aclrtSubscribeReport(thread.number(), made), ACL_ERROR_REPEAT_SUBSCRIBE);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(aclrtLaunchCallback(&count_up, &count, ACL_CALLBACK_BLOCK, made), ACL_SUCCESS);
    }
    EXPECT_EQ(aclrtSynchronizeStream(made), ACL_SUCCESS) << recent();
    EXPECT_EQ(count, 100);
    EXPECT_EQ(aclrtUnSubscribeReport(1, made), ACL_ERROR_THREAD_NOT_SUBSCRIBE);
    EXPECT_EQ(aclrtUnSubscribeReport(thread.number(), made), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_THREAD_NOT_SUBSCRIBE);
  EXPECT_EQ(aclrtDestroyStream(made), ACL_SUCCESS);
}

TEST_F(AclRuntime, ACallbackThatLosesItsThreadIsSaid) {
  aclrtStream const made = stream();
  const auto self = static_cast<std::uint64_t>(pthread_self());
  std::atomic<int> count{0};
  EXPECT_EQ(aclrtSubscribeReport(self, made), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_WAIT_TIMEOUT);
  EXPECT_EQ(aclrtLaunchCallback(&count_up, &count, ACL_CALLBACK_BLOCK, made), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnSubscribeReport(self, made), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(made), ACL_ERROR_STREAM_NOT_SUBSCRIBE);
  EXPECT_TRUE(contains(recent(), "a callback never ran")) << recent();
  EXPECT_EQ(count, 0);
  EXPECT_EQ(aclrtDestroyStream(made), ACL_SUCCESS);
}

TEST_F(AclRuntime, WhatIsLeftIsReportedByNameAndPlace) {
  static_cast<void>(stream());
  static_cast<void>(allocate(1000));
  aclrtContext other = nullptr;
  ASSERT_EQ(aclrtCreateContext(&other, 0), ACL_SUCCESS);
  void* host = nullptr;
  ASSERT_EQ(aclrtMallocHost(&host, 2000), ACL_SUCCESS);
  char byte = 0;
  ASSERT_NE(aclCreateDataBuffer(&byte, 1), nullptr);
  take_log();
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  const std::string log = take_log();
  EXPECT_TRUE(contains(log, "aclFinalize: the program had not given back")) << log;
  for (const char* what : {"stream ", "block of default context of device 0, 1000 B", "context ",
                           "host memory, 1.95 KiB", "data buffer", "AclRuntime_WhatIsLeft"}) {
    EXPECT_TRUE(contains(log, what)) << what << " is missing in:\n" << log;
  }
  EXPECT_EQ(aclrtFree(host), ACL_ERROR_UNINITIALIZE);
}

TEST_F(AclRuntime, AForgottenCallbackDoesNotHoldTheEnd) {
  aclrtStream const made = stream();
  std::atomic<int> count{0};
  EXPECT_EQ(aclrtSubscribeReport(static_cast<std::uint64_t>(pthread_self()), made), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchCallback(&count_up, &count, ACL_CALLBACK_BLOCK, made), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_TRUE(contains(take_log(), "a callback never ran"));
  EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace cistern::test
