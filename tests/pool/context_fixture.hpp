// Several contexts on one device, sharing its pages: what the tests of contexts begin with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pool/context.hpp"
#include "pool/pool_fixture.hpp"

namespace cistern::pool {

struct TestDevice {
  std::shared_ptr<device::Device> device;
  std::shared_ptr<device::PagePool> pages;
  std::shared_ptr<ContextSet> contexts;

  explicit TestDevice(std::shared_ptr<device::Device> on)
      : device(std::move(on)),
        pages(std::make_shared<device::PagePool>(*device, kTestPage)),
        contexts(ContextSet::of(device)) {}
  TestDevice(const std::string& kind, std::uint64_t capacity_bytes) : TestDevice(make_device(kind, capacity_bytes)) {}

  base::Result<std::unique_ptr<Pool>> make(PoolOptions options) const {
    options.page_bytes = options.growth == Growth::expandable ? kTestPage : 0;
    return Pool::create(device, pages, options, compact::rescue_steps(options.on_miss), nullptr, contexts);
  }
  base::Result<std::unique_ptr<Pool>> make(const std::string& name, std::uint64_t minimum, std::uint64_t maximum = 0,
                                           Growth growth = Growth::expandable) const {
    PoolOptions options;
    options.name = name;
    options.minimum_bytes = minimum;
    options.limit_bytes = maximum;
    options.growth = growth;
    return make(options);
  }
  // The sum over the contexts, which is what the device has given less what waits unmapped.
  std::uint64_t reserved() const {
    std::uint64_t sum = 0;
    for (const ContextView& each : contexts->views()) sum += each.reserved_bytes;
    return sum;
  }
  std::uint64_t given_by_device() const {
    return device->counters().driver_bytes - pages->counts().kept * pages->page_bytes();
  }
};

}  // namespace cistern::pool
