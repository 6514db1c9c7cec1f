// Fault plans: exactly the calls fail that the script names.
#include "device/fault_plan.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "base/units.hpp"
#include "device/counting_device.hpp"
#include "device/fault_device.hpp"

namespace cistern::device::testing {
namespace {

using base::kMiB;
using base::StatusCode;

std::shared_ptr<FaultInjectingDevice> faulty() {
  return std::make_shared<FaultInjectingDevice>(CountingDevice::create().take());
}

// One character a malloc: '.' served, 'x' failed.
std::string mallocs(Device& device, int count) {
  std::string outcome;
  for (int i = 0; i < count; ++i) outcome += device.malloc(512).is_ok() ? '.' : 'x';
  return outcome;
}

TEST(FaultPlan, TheNthCallFailsOnce) {
  auto device = faulty();
  device->plan().add({.operation = Operation::malloc, .nth = 3});
  (void)device->reserve(2 * kMiB, 2 * kMiB).take();  // of another kind: does not count
  EXPECT_EQ("..x....", mallocs(*device, 7));
}

TEST(FaultPlan, SeveralTimesOrForever) {
  auto device = faulty();
  device->plan().add({.operation = Operation::malloc, .nth = 2, .times = 3});
  device->plan().add({.operation = Operation::malloc, .nth = 7, .times = Fault::kForever});
  EXPECT_EQ(".xxx..xxxx", mallocs(*device, 10));
  EXPECT_EQ(7U, device->plan().injected());
}

TEST(FaultPlan, AnyKindOfCall) {
  auto device = faulty();
  device->plan().add({.operation = {}, .nth = 2});
  EXPECT_TRUE(device->memory().is_ok());
  EXPECT_FALSE(device->create_event().is_ok());
  EXPECT_TRUE(device->create_event().is_ok());
}

TEST(FaultPlan, CountsFromWhenTheFaultWasAdded) {
  auto device = faulty();
  EXPECT_EQ("...", mallocs(*device, 3));
  device->plan().add({.operation = Operation::malloc, .nth = 1});
  EXPECT_EQ("x.", mallocs(*device, 2));
  EXPECT_EQ(5U, device->plan().calls(Operation::malloc));
  EXPECT_EQ(5U, device->plan().calls());
  device->plan().reset();
  EXPECT_EQ(0U, device->plan().calls());
  EXPECT_EQ(0U, device->plan().injected());
  EXPECT_EQ("...", mallocs(*device, 3));
}

TEST(FaultPlan, TheFailureCarriesWhatTheScriptSays) {
  auto device = faulty();
  device->plan().add({.operation = Operation::malloc});
  device->plan().add({.operation = Operation::create_page,
                      .nth = 1,
                      .times = 1,
                      .code = StatusCode::out_of_memory,
                      .native_code = kAclErrorMemoryAllocation});
  const base::Status fault = device->malloc(512).take_status();
  EXPECT_EQ(StatusCode::device_error, fault.code());
  EXPECT_EQ(507899, fault.native_code());
  EXPECT_EQ("counting:0: scripted fault in call 1 of malloc", fault.text());
  const base::Status full = device->create_page(2 * kMiB).take_status();
  EXPECT_EQ(StatusCode::out_of_memory, full.code());
  EXPECT_EQ(207001, full.native_code());
}

TEST(FaultPlan, FailedCallsAreCountedByTheDeviceToo) {
  auto device = faulty();
  device->plan().add({.operation = {}, .nth = 1, .times = Fault::kForever});
  EXPECT_FALSE(device->malloc(512).is_ok());
  EXPECT_FALSE(device->free(512).is_ok());
  EXPECT_FALSE(device->reserve(2 * kMiB, 2 * kMiB).is_ok());
  EXPECT_FALSE(device->release(0, 2 * kMiB).is_ok());
  EXPECT_FALSE(device->create_page(2 * kMiB).is_ok());
  EXPECT_FALSE(device->destroy_page(1).is_ok());
  EXPECT_FALSE(device->map(0, 1).is_ok());
  EXPECT_FALSE(device->unmap(0, 1).is_ok());
  EXPECT_FALSE(device->set_access(0, 2 * kMiB, Access::none).is_ok());
  EXPECT_FALSE(device->move_page(0, 0, 1).is_ok());
  EXPECT_FALSE(device->set(0, 0, 1).is_ok());
  device->plan().reset();  // the device's own counters go on
  const DeviceCounters counters = device->counters();
  for (const std::uint64_t count : {counters.mallocs, counters.frees, counters.reserves, counters.releases,
                                    counters.pages_created, counters.pages_destroyed, counters.maps, counters.unmaps,
                                    counters.set_accesses, counters.pages_moved, counters.copies}) {
    EXPECT_EQ(1U, count);
  }
  EXPECT_EQ(0U, device->behind().counters().mallocs);
}

TEST(FaultPlan, ThreadsShareTheCount) {
  auto device = faulty();
  device->plan().add({.operation = Operation::malloc, .nth = 101, .times = 50});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { (void)mallocs(*device, 100); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(400U, device->plan().calls(Operation::malloc));
  EXPECT_EQ(50U, device->plan().injected());
  EXPECT_EQ(400U, device->counters().mallocs);
  EXPECT_EQ(350U * 512, device->counters().driver_bytes);
}

}  // namespace
}  // namespace cistern::device::testing
