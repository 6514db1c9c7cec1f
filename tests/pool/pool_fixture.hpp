// Pools over every kind of device, small enough for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "compact/stitcher.hpp"
#include "device/counting_device.hpp"
#include "device/fault_device.hpp"
#include "device/host_device.hpp"
#include "device/page_pool.hpp"
#include "device/simulated_device.hpp"
#include "pool/pool.hpp"

namespace cistern::pool {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kTestPage = 64 * kKiB;

inline std::shared_ptr<device::Device> make_device(const std::string& kind, std::uint64_t capacity_bytes) {
  if (kind == "counting") {
    device::CountingConfig config;
    config.capacity_bytes = capacity_bytes;
    return device::CountingDevice::create(config).take();
  }
  if (kind == "host") {
    device::HostConfig config;
    config.capacity_bytes = capacity_bytes;
    return device::HostDevice::create(config).take();
  }
  device::SimulatedConfig config;
  config.capacity_bytes = capacity_bytes;
  config.latency.enabled = false;
  return device::SimulatedDevice::create(config).take();
}

// A device, its pages and one pool, destroyed in the right order.
struct TestPool {
  std::shared_ptr<device::Device> device;
  std::shared_ptr<device::PagePool> pages;
  std::unique_ptr<Pool> pool;

  TestPool(std::shared_ptr<device::Device> on, PoolOptions options) : device(std::move(on)) {
    if (options.page_bytes == 0) options.page_bytes = kTestPage;
    if (options.growth == Growth::expandable) {
      pages = std::make_shared<device::PagePool>(*device, options.page_bytes);
    }
    auto made = Pool::create(device, pages, options, compact::rescue_steps(options.on_miss));
    if (made.is_ok()) {
      pool = made.take();
    } else {
      creation = made.take_status();
    }
  }

  Pool* operator->() const { return pool.get(); }
  base::Status creation;
};

inline device::Address must_allocate(Pool& pool, std::uint64_t bytes, std::uint64_t alignment = 0) {
  AllocationRequest request;
  request.bytes = bytes;
  request.alignment = alignment;
  auto served = pool.allocate(request);
  return served.is_ok() ? served.value() : 0;
}

inline std::string growth_param_name(const ::testing::TestParamInfo<Growth>& info) {
  return std::string(growth_name(info.param));
}

}  // namespace cistern::pool
