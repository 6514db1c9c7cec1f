// Every device call failing, one at a time and for good, in a scenario that uses all a pool does: nothing is lost,
// nothing is served twice, the ledger stays exact, contents stay whole, and the healed pool serves on.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>

#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

constexpr std::uint64_t kStride = 65521;  // of the bytes that are stamped and verified: some in every page

using FaultSetup = std::tuple<const char*, Growth>;

// The scenario and the naive record of what must be true.
class Scenario {
 public:
  Scenario(TestPool& test) : test_(test), has_contents_(test.device->info().capabilities.host_alias) {}

  void run() {
    allocate(700 * kKiB);
    allocate(100);
    allocate(3 * kMiB);
    drop(0);
    drop(1);
    allocate(1900 * kKiB);  // grows
    allocate(600 * kKiB);
    allocate(5 * kMiB);  // direct
    drop(0);
    allocate(2 * kMiB);
    allocate(2500 * kKiB);  // stitches, or is refused by the limit
    (void)test_->trim(kMiB);
    check("trim");
    drop(2);
    drop(0);
    allocate(4 * kMiB, "last");
    (void)test_->trim(0);
    check("trim to nothing");
  }

  void allocate(std::uint64_t bytes, std::string_view name = {}) {
    AllocationRequest request;
    request.bytes = bytes;
    request.name = name;
    const auto served = test_->allocate(request);
    if (served.is_ok()) {
      const device::Address at = served.value();
      const auto above = live_.lower_bound(at);
      if (above != live_.end()) {
        EXPECT_LE(at + bytes, above->first) << "served twice";
      }
      if (above != live_.begin()) {
        EXPECT_LE(std::prev(above)->first + std::prev(above)->second, at) << "served twice";
      }
      live_[at] = bytes;
      stamp(at, bytes);
    }
    check("allocate");
  }

  // The n-th live block by address goes.
  void drop(std::size_t n) {
    if (live_.size() <= n) return;
    const auto victim = std::next(live_.begin(), static_cast<long>(n));
    verify(victim->first, victim->second);
    EXPECT_TRUE(test_->free(victim->first).is_ok()) << "a free must not fail because of the driver";
    live_.erase(victim);
    check("free");
  }

  void drop_all() {
    while (!live_.empty()) drop(0);
  }

  void check(const char* after) {
    EXPECT_EQ(test_->validate(), "") << "after " << after;
    std::uint64_t requested = 0;
    for (const auto& [at, bytes] : live_) {
      requested += bytes;
      verify(at, bytes);
    }
    const Ledger ledger = test_->ledger();
    EXPECT_EQ(ledger.requested_bytes, requested) << "after " << after;
    EXPECT_EQ(ledger.live_blocks, live_.size()) << "after " << after;
    EXPECT_LE(ledger.reserved_bytes, ledger.limit_bytes) << "after " << after;
    const device::DeviceCounters counters = test_.device->counters();
    EXPECT_GE(counters.driver_bytes, ledger.reserved_bytes) << "after " << after;
  }

 private:
  void stamp(device::Address at, std::uint64_t bytes) {
    if (!has_contents_) return;
    auto* memory = static_cast<unsigned char*>(test_.device->host_alias(at));
    for (std::uint64_t i = 0; i < bytes; i += kStride) memory[i] = static_cast<unsigned char>(at >> 9);
    memory[bytes - 1] = static_cast<unsigned char>(at >> 9);
  }
  void verify(device::Address at, std::uint64_t bytes) {
    if (!has_contents_) return;
    const auto* memory = static_cast<const unsigned char*>(test_.device->host_alias(at));
    ASSERT_NE(memory, nullptr);
    for (std::uint64_t i = 0; i < bytes; i += kStride) ASSERT_EQ(memory[i], at >> 9 & 0xff) << "contents lost";
    ASSERT_EQ(memory[bytes - 1], at >> 9 & 0xff) << "contents lost";
  }

  TestPool& test_;
  bool has_contents_;
  std::map<device::Address, std::uint64_t> live_;
};

class PoolFaults : public ::testing::TestWithParam<FaultSetup> {
 protected:
  static PoolOptions options() {
    PoolOptions options;
    options.growth = std::get<1>(GetParam());
    options.limit_bytes = 12 * kMiB;
    options.direct_bytes = 5 * kMiB;
    options.growth_bytes = kMiB;
    options.page_bytes = 256 * kKiB;
    options.on_miss = OnMiss::stitch_first;
    return options;
  }
  static std::shared_ptr<device::FaultInjectingDevice> make_faulty() {
    return std::make_shared<device::FaultInjectingDevice>(make_device(std::get<0>(GetParam()), 64 * kMiB));
  }
  // Calls of each kind that the scenario makes when nothing fails, creation included.
  static std::array<std::uint64_t, device::kOperations> calls_without_faults() {
    auto device = make_faulty();
    TestPool test(device, options());
    Scenario scenario(test);
    scenario.run();
    std::array<std::uint64_t, device::kOperations> calls{};
    for (std::size_t kind = 0; kind < device::kOperations; ++kind) {
      calls[kind] = device->plan().calls(static_cast<device::Operation>(kind));
    }
    return calls;
  }
  // One run with `fault`; then the device is well again, and the pool must be, too.
  static void run_with(const device::Fault& fault) {
    auto device = make_faulty();
    device->plan().add(fault);
    {
      TestPool test(device, options());
      if (test.pool) {
        Scenario scenario(test);
        scenario.run();
        device->plan().reset();
        scenario.allocate(kMiB);
        scenario.drop_all();
        EXPECT_TRUE(test->trim(0).is_ok());
        EXPECT_EQ(test->ledger().allocated_bytes, 0u);
        EXPECT_NE(must_allocate(*test.pool, 3 * kMiB), 0u) << "the healed pool serves on";
      } else {
        EXPECT_FALSE(test.creation.is_ok());
        device->plan().reset();
      }
    }
    EXPECT_EQ(device->behind().counters().driver_bytes, 0u) << "memory lost on the device";
  }
};

TEST_P(PoolFaults, EveryCallFailingOnceLosesNothing) {
  std::uint64_t calls = 0;
  for (const std::uint64_t of_kind : calls_without_faults()) calls += of_kind;
  ASSERT_GE(calls, 5u);
  for (std::uint64_t nth = 1; nth <= calls + 2; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth) + " of " + std::to_string(calls) + " fails");
    device::Fault fault;
    fault.nth = nth;
    run_with(fault);
    if (HasFailure()) return;
  }
}

// Two in a row hits the way back, too: what undoes a failed call fails itself.
TEST_P(PoolFaults, EveryKindOfCallFailingTwiceOrForGoodLosesNothingOnceTheDeviceIsWell) {
  const auto calls = calls_without_faults();
  for (std::size_t kind = 0; kind < device::kOperations; ++kind) {
    for (std::uint64_t nth = 1; nth <= calls[kind]; nth += 1 + nth / 8) {
      for (const std::uint64_t times : {std::uint64_t{2}, device::Fault::kForever}) {
        device::Fault fault;
        fault.operation = static_cast<device::Operation>(kind);
        fault.nth = nth;
        fault.times = times;
        SCOPED_TRACE(std::string(device::operation_name(*fault.operation)) + " fails from call " + std::to_string(nth) +
                     (times == 2 ? ", twice" : ", for good"));
        run_with(fault);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(PoolFaults, ADeviceThatRefusesTheFirstByteIsToldWithItsOwnCode) {
  auto device = make_faulty();
  device::Fault fault;
  fault.times = device::Fault::kForever;
  fault.code = base::StatusCode::out_of_memory;
  fault.native_code = 207001;
  device->plan().add(fault);
  PoolOptions with = options();
  with.initial_bytes = 4 * kMiB;
  TestPool test(device, with);
  ASSERT_FALSE(test.creation.is_ok());
  EXPECT_EQ(test.creation.native_code(), 207001);
  EXPECT_EQ(test.creation.code(), base::StatusCode::out_of_memory);
}

INSTANTIATE_TEST_SUITE_P(All, PoolFaults,
                         ::testing::Combine(::testing::Values("host", "simulated", "counting"),
                                            ::testing::Values(Growth::expandable, Growth::arenas)),
                         [](const ::testing::TestParamInfo<FaultSetup>& setup) {
                           return std::string(std::get<0>(setup.param)) + "_" +
                                  std::string(growth_name(std::get<1>(setup.param)));
                         });

}  // namespace
}  // namespace cistern::pool
