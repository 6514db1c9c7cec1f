// A pool over a counting device whose streams do their work when the test steps them: any interleaving, without
// threads.
#pragma once

#include "pool/pool_fixture.hpp"

namespace cistern::pool {

struct StreamPool {
  std::shared_ptr<device::CountingDevice> device;
  std::shared_ptr<device::FaultInjectingDevice> faulty;
  TestPool test;

  explicit StreamPool(PoolOptions options = limited(64 * kMiB)) : StreamPool(stepped(), options) {}
  StreamPool(std::shared_ptr<device::CountingDevice> on, PoolOptions options)
      : device(on), faulty(std::make_shared<device::FaultInjectingDevice>(on)), test(faulty, options) {}

  static std::shared_ptr<device::CountingDevice> stepped() {
    device::CountingConfig config;
    config.capacity_bytes = 256 * kMiB;
    config.completion = device::Completion::stepped;
    return device::CountingDevice::create(config).take();
  }
  static PoolOptions limited(std::uint64_t bytes) {
    PoolOptions options;
    options.limit_bytes = bytes;
    return options;
  }

  Pool* operator->() const { return test.pool.get(); }
  device::StreamHandle stream() { return device->create_stream().take(); }
  device::Address allocate(std::uint64_t bytes, std::optional<device::StreamHandle> on = {}) {
    AllocationRequest request;
    request.bytes = bytes;
    request.stream = on;
    auto served = test->allocate(request);
    return served.is_ok() ? served.value() : 0;
  }
  void free(device::Address at, device::StreamHandle on) {
    const base::Status freed = test->free_async(at, on);
    EXPECT_TRUE(freed.is_ok()) << freed.to_string();
  }
  void submit(device::StreamHandle on) { EXPECT_TRUE(device->submit(on, {}).is_ok()); }
  void step(device::StreamHandle on) { EXPECT_TRUE(device->step(on).value()); }
  device::DeviceCounters counters() const { return faulty->counters(); }
  // Also says whether the sums add up.
  std::uint64_t awaiting() const {
    EXPECT_EQ(test->validate(), "");
    const Ledger ledger = test->ledger();
    EXPECT_EQ(ledger.reserved_bytes, ledger.allocated_bytes + ledger.cached_bytes + ledger.awaiting_free_bytes +
                                         ledger.free_bytes + ledger.moving_bytes);
    return ledger.awaiting_free_bytes;
  }
};

}  // namespace cistern::pool
