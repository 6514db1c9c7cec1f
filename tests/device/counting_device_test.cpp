// The counting device: numbers that are nobody's memory, at any size, at a cost that lets replay make billions of
// calls.
#include "device/counting_device.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/units.hpp"
#include "device/process_probe.hpp"

namespace cistern::device::testing {
namespace {

using base::kGiB;
using base::kMiB;
using base::kTiB;

TEST(CountingDevice, SizesAreExactUnlessADriverIsImitated) {
  auto device = CountingDevice::create().take();
  (void)device->malloc(1).take();
  (void)device->malloc(3 * kMiB + 1).take();
  EXPECT_EQ(512 + 3 * kMiB + 512, device->counters().driver_bytes);
  auto imitating =
      CountingDevice::create({.ordinal = 1, .capacity_bytes = 0, .move_pages = true, .rounding = {}}).take();
  (void)imitating->malloc(3 * kMiB + 1).take();
  EXPECT_EQ(4 * kMiB, imitating->counters().driver_bytes);
}

TEST(CountingDevice, HasRoomForAnything) {
  auto device = CountingDevice::create().take();
  const Address base = device->reserve(8 * kTiB, 2 * kMiB).take();
  const Address allocation = device->malloc(2 * kTiB).take();
  EXPECT_TRUE(allocation >= base + 8 * kTiB || allocation + 2 * kTiB <= base);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(device->map(base + i * 8 * kGiB, device->create_page(2 * kMiB).take()).is_ok());
  }
  EXPECT_EQ(2 * kTiB + 1000 * 2 * kMiB, device->counters().driver_bytes);
  EXPECT_EQ(nullptr, device->host_alias(allocation));
  EXPECT_EQ(base::StatusCode::unsupported, device->copy(base, allocation, 16).code());
}

TEST(CountingDevice, AddressesAreNobodysAndRepeat) {
  auto first = CountingDevice::create().take();
  auto second = CountingDevice::create().take();
  const Address one = first->malloc(kMiB).take();
  const Address other = second->malloc(kMiB).take();
  EXPECT_NE(one, other);
  EXPECT_GE(one, std::uint64_t{1} << 47);  // above what mmap gives
  EXPECT_LT(other, std::uint64_t{1} << 53);
  first.reset();
  auto third = CountingDevice::create().take();
  EXPECT_EQ(one, third->malloc(kMiB).value());
}

TEST(CountingDevice, WindowsAreGivenBackAndRunOutClearly) {
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(CountingDevice::create().is_ok());
  std::vector<std::shared_ptr<CountingDevice>> open;
  for (;;) {
    auto device = CountingDevice::create();
    if (!device.is_ok()) {
      EXPECT_EQ(base::StatusCode::out_of_memory, device.status().code());
      break;
    }
    open.push_back(device.take());
    ASSERT_LE(open.size(), 1000U);
  }
  EXPECT_GE(open.size(), 100U);
  open.pop_back();
  EXPECT_TRUE(CountingDevice::create().is_ok());
}

TEST(CountingDevice, TouchesNoMemory) {
  auto device = CountingDevice::create().take();
  const std::uint64_t before = status_bytes("VmRSS");
  for (int i = 0; i < 20000; ++i) {
    const Address address = device->malloc(64 * kMiB).take();
    ASSERT_TRUE(device->free(address).is_ok());
  }
  EXPECT_LE(status_bytes("VmRSS"), before + 32 * kMiB);  // less than one of them
  EXPECT_EQ(20000U, device->counters().mallocs);
  EXPECT_EQ(64 * kMiB, device->counters().peak_driver_bytes);
}

}  // namespace
}  // namespace cistern::device::testing
