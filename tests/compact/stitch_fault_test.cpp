// Every driver call of a stitch and of a compaction failing, once, twice and for good, at every point: no byte of a
// live block changes, the ledger is exact, no page is lost, and once the device is well the memory is there again.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

constexpr std::uint64_t kTeeth = 12;

enum class Work { stitch, grow_and_stitch, compact, trim };

struct Totals {
  std::uint64_t runs = 0;
  std::uint64_t bytes_checked = 0;
  std::uint64_t bytes_corrupted = 0;
  std::uint64_t pages_lost = 0;
};

std::shared_ptr<device::Device> device_that(const std::string& kind, bool moves_pages) {
  if (kind == "host") return make_device("host", 64 * kMiB);
  device::SimulatedConfig config;
  config.capacity_bytes = 64 * kMiB;
  config.latency.enabled = false;
  config.move_pages = moves_pages;
  return device::SimulatedDevice::create(config).take();
}

// A pool of blocks of a page, of which every other one is free; what is live is stamped whole.
class Comb {
 public:
  Comb(const std::shared_ptr<device::FaultInjectingDevice>& faulty, bool may_grow)
      : device_(faulty), test_(faulty, options(may_grow)) {
    EXPECT_TRUE(test_->free(must_allocate(*test_.pool, 5 * kTestPage)).is_ok());
    for (std::uint64_t i = 0; i < kTeeth; ++i) blocks_.push_back(must_allocate(*test_.pool, kTestPage));
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (i % 2 == 0) {
        EXPECT_TRUE(test_->free(blocks_[i]).is_ok());
      } else {
        std::memset(memory(blocks_[i]), stamp(i), kTestPage);
      }
    }
  }
  static PoolOptions options(bool may_grow) {
    PoolOptions options;
    options.limit_bytes = (kTeeth + (may_grow ? 4 : 0)) * kTestPage;
    options.step_us = 100;  // several batches
    return options;
  }

  void run(Work work) {
    if (work == Work::compact) {
      (void)test_->compact({});
    } else if (work == Work::trim) {
      (void)test_->trim(0);
    } else {
      const std::uint64_t pages = work == Work::stitch ? 5 : 8;
      const device::Address made = must_allocate(*test_.pool, pages * kTestPage);
      if (made == 0) return;
      std::memset(memory(made), 0xEE, pages * kTestPage);
      made_ = made;
    }
  }

  // What must hold whatever failed, and after the device is well again.
  void check(Totals* totals) {
    EXPECT_EQ(test_->validate(), "");
    for (std::size_t i = 1; i < blocks_.size(); i += 2) {
      const unsigned char* bytes = memory(blocks_[i]);
      totals->bytes_checked += kTestPage;
      for (std::uint64_t at = 0; at < kTestPage; ++at) totals->bytes_corrupted += bytes[at] != stamp(i) ? 1 : 0;
    }
    const Ledger ledger = test_->ledger();
    EXPECT_EQ(ledger.requested_bytes,
              kTeeth / 2 * kTestPage + (made_ == 0 ? 0 : ledger.requested_bytes - kTeeth / 2 * kTestPage));
    EXPECT_LE(ledger.reserved_bytes, ledger.limit_bytes);
    const std::uint64_t known = ledger.reserved_bytes + test_.pages->counts().kept * kTestPage;
    const std::uint64_t held = test_.device->counters().driver_bytes;
    totals->pages_lost += (held - std::min(held, known)) / kTestPage;
    EXPECT_EQ(held, known) << "pages that nobody knows of";
  }

  void heal_and_use(Totals* totals) {
    device_->plan().reset();
    if (made_ != 0) {
      EXPECT_TRUE(test_->free(made_).is_ok());
    }
    made_ = must_allocate(*test_.pool, kTeeth / 2 * kTestPage);
    EXPECT_NE(made_, 0U) << "all that is free is usable again";
    if (made_ != 0) std::memset(memory(made_), 0xDD, kTeeth / 2 * kTestPage);
    check(totals);
  }

 private:
  unsigned char* memory(device::Address at) { return static_cast<unsigned char*>(test_.device->host_alias(at)); }
  static unsigned char stamp(std::size_t i) { return static_cast<unsigned char>(0x10 + i); }

  std::shared_ptr<device::FaultInjectingDevice> device_;
  TestPool test_;
  std::vector<device::Address> blocks_;
  device::Address made_ = 0;
};

using Setup = std::tuple<const char*, bool, Work>;

class StitchFaults : public ::testing::TestWithParam<Setup> {
 protected:
  static std::shared_ptr<device::FaultInjectingDevice> make_faulty() {
    return std::make_shared<device::FaultInjectingDevice>(
        device_that(std::get<0>(GetParam()), std::get<1>(GetParam())));
  }
  static Work work() { return std::get<2>(GetParam()); }
  static bool may_grow() { return work() == Work::grow_and_stitch; }

  // One run in which `fault` happens during the work.
  void run_with(const device::Fault& fault) {
    ++totals_.runs;
    auto device = make_faulty();
    {
      Comb comb(device, may_grow());
      device->plan().reset();
      device->plan().add(fault);
      comb.run(work());
      comb.check(&totals_);
      comb.heal_and_use(&totals_);
    }
    EXPECT_EQ(device->behind().counters().driver_bytes, 0U) << "memory left on the device";
  }

  Totals totals_;
};

TEST_P(StitchFaults, NoByteChangesAndNoPageIsLostWhateverFails) {
  std::array<std::uint64_t, device::kOperations> calls{};
  std::uint64_t all = 0;
  {
    auto device = make_faulty();
    Comb comb(device, may_grow());
    device->plan().reset();
    comb.run(work());
    for (std::size_t kind = 0; kind < calls.size(); ++kind) {
      calls[kind] = device->plan().calls(static_cast<device::Operation>(kind));
      all += calls[kind];
    }
    Totals unused;
    comb.check(&unused);
  }
  ASSERT_GE(all, 5U);
  for (std::uint64_t nth = 1; nth <= all && !HasFailure(); ++nth) {
    device::Fault fault;
    fault.nth = nth;
    SCOPED_TRACE("call " + std::to_string(nth) + " of " + std::to_string(all) + " fails");
    run_with(fault);
  }
  for (std::size_t kind = 0; kind < calls.size() && !HasFailure(); ++kind) {
    for (std::uint64_t nth = 1; nth <= calls[kind] && !HasFailure(); ++nth) {
      for (const std::uint64_t times : {std::uint64_t{2}, device::Fault::kForever}) {
        device::Fault fault;
        fault.operation = static_cast<device::Operation>(kind);
        fault.nth = nth;
        fault.times = times;
        SCOPED_TRACE(std::string(device::operation_name(*fault.operation)) + " fails from call " + std::to_string(nth));
        run_with(fault);
      }
    }
  }
  // Everything fails from some call on: what undoes a failure fails, too.
  for (std::uint64_t nth = 1; nth <= all && !HasFailure(); ++nth) {
    device::Fault fault;
    fault.nth = nth;
    fault.times = device::Fault::kForever;
    SCOPED_TRACE("everything fails from call " + std::to_string(nth));
    run_with(fault);
  }
  EXPECT_EQ(totals_.bytes_corrupted, 0U);
  EXPECT_EQ(totals_.pages_lost, 0U);
  std::printf("%llu runs: %llu bytes checked, %llu corrupted, %llu pages lost\n",
              static_cast<unsigned long long>(totals_.runs), static_cast<unsigned long long>(totals_.bytes_checked),
              static_cast<unsigned long long>(totals_.bytes_corrupted),
              static_cast<unsigned long long>(totals_.pages_lost));
}

std::string setup_name(const ::testing::TestParamInfo<Setup>& setup) {
  static const char* const kWorks[] = {"stitch", "grow_and_stitch", "compact", "trim"};
  return std::string(std::get<0>(setup.param)) + (std::get<1>(setup.param) ? "_moves_" : "_unmaps_") +
         kWorks[static_cast<int>(std::get<2>(setup.param))];
}

constexpr auto kAllWorks = {Work::stitch, Work::grow_and_stitch, Work::compact, Work::trim};
INSTANTIATE_TEST_SUITE_P(Host, StitchFaults,
                         ::testing::Combine(::testing::Values("host"), ::testing::Values(true),
                                            ::testing::ValuesIn(kAllWorks)),
                         setup_name);
INSTANTIATE_TEST_SUITE_P(Simulated, StitchFaults,
                         ::testing::Combine(::testing::Values("simulated"), ::testing::Bool(),
                                            ::testing::ValuesIn(kAllWorks)),
                         setup_name);

}  // namespace
}  // namespace cistern::pool
