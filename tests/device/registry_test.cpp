// The registry: one device of each identity while anybody uses it.
#include "device/registry.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "base/units.hpp"

namespace cistern::device::testing {
namespace {

using base::kMiB;
using base::StatusCode;

SimulatedConfig simulated(std::uint32_t ordinal, std::uint64_t capacity) {
  SimulatedConfig config;
  config.ordinal = ordinal;
  config.capacity_bytes = capacity;
  config.backed = false;
  return config;
}

TEST(DeviceRegistry, TheSameIdentityIsTheSameDevice) {
  DeviceRegistry registry;
  for (const std::string_view kind : DeviceRegistry::kinds()) {
    auto first = registry.open(kind, 0).take();
    auto second = registry.open(kind, 0).take();
    auto other = registry.open(kind, 1).take();
    EXPECT_EQ(first, second);
    EXPECT_NE(first, other);
    EXPECT_EQ(kind, first->info().kind);
    EXPECT_EQ(1U, other->info().ordinal);
  }
}

TEST(DeviceRegistry, ADeviceEndsWithItsLastUser) {
  DeviceRegistry registry;
  auto device = registry.open("counting", 0).take();
  (void)device->malloc(512).take();
  std::weak_ptr<Device> watch = device;
  device.reset();
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(0U, registry.open("counting", 0).value()->counters().mallocs);
}

TEST(DeviceRegistry, AnotherConfigurationOfAnOpenDeviceIsRefused) {
  DeviceRegistry registry;
  auto device = registry.open(simulated(2, 64 * kMiB)).take();
  EXPECT_EQ(device, registry.open(simulated(2, 64 * kMiB)).value());
  EXPECT_EQ(device, registry.open("simulated", 2).value());  // "whatever it is"
  const base::Status refusal = registry.open(simulated(2, 128 * kMiB)).take_status();
  EXPECT_EQ(StatusCode::invalid_argument, refusal.code());
  EXPECT_NE(std::string_view::npos, refusal.text().find("simulated:2"));
  EXPECT_NE(std::string_view::npos, refusal.text().find("64 MiB")) << refusal.text();
  EXPECT_NE(device, registry.open(simulated(3, 128 * kMiB)).value());
  device.reset();
  auto larger = registry.open(simulated(2, 128 * kMiB));
  ASSERT_TRUE(larger.is_ok());
  EXPECT_EQ(128 * kMiB, larger.value()->info().total_bytes);
}

TEST(DeviceRegistry, UnknownKindsAreNamedWithTheKnownOnes) {
  DeviceRegistry registry;
  const base::Status refusal = registry.open("quantum", 0).take_status();
  EXPECT_EQ(StatusCode::not_found, refusal.code());
  EXPECT_EQ("no kind of device is called 'quantum'; there are host, simulated, counting", refusal.text());
}

TEST(DeviceRegistry, AFailedOpenLeavesNothing) {
  DeviceRegistry registry;
  EXPECT_EQ(StatusCode::invalid_argument, registry.open(simulated(0, 0)).status().code());
  EXPECT_TRUE(registry.open(simulated(0, 64 * kMiB)).is_ok());
}

TEST(DeviceRegistry, PagePoolsAreSharedByDeviceAndPageSize) {
  DeviceRegistry registry;
  auto device = registry.open("counting", 0).take();
  auto other = registry.open("counting", 1).take();
  auto pool = registry.page_pool(device, 2 * kMiB).take();
  EXPECT_EQ(pool, registry.page_pool(device, 2 * kMiB).value());
  EXPECT_NE(pool, registry.page_pool(device, kMiB).value());
  EXPECT_NE(pool, registry.page_pool(other, 2 * kMiB).value());
  EXPECT_EQ(2 * kMiB, pool->page_bytes());
  EXPECT_EQ(StatusCode::invalid_argument, registry.page_pool(device, 3 * kMiB).status().code());
  EXPECT_EQ(StatusCode::invalid_argument, registry.page_pool(device, 4096).status().code());
}

TEST(DeviceRegistry, APagePoolKeepsItsDevice) {
  DeviceRegistry registry;
  auto device = registry.open("counting", 0).take();
  std::weak_ptr<Device> watch = device;
  auto pool = registry.page_pool(device, 2 * kMiB).take();
  device.reset();
  std::vector<PageHandle> pages;
  ASSERT_TRUE(pool->take(1, 3, &pages).is_ok());
  pool->give(1, pages);
  EXPECT_EQ(3U, registry.open("counting", 0).value()->counters().pages_created);
  pool.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(DeviceRegistry, TheProcessHasOne) { EXPECT_EQ(&DeviceRegistry::process(), &DeviceRegistry::process()); }

}  // namespace
}  // namespace cistern::device::testing
