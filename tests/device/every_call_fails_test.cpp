// Every call of a scenario fails once, in turn, and the device is unharmed: the failed call has changed nothing, all
// contents are as they were, the same call succeeds when it is made again, and nothing is left at the end.
//
// Twice: calls refused by a fault plan in front of the device (any device), and kernel calls refused in the middle of
// a device's call (those that keep memory), which is where half-done work would show.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "device/device_cases.hpp"
#include "device/fault_device.hpp"
#include "device/host_device.hpp"
#include "device/process_probe.hpp"
#include "device/simulated_device.hpp"

namespace cistern::device::testing {
namespace {

using base::kKiB;
using base::kMiB;

// Uses all of a device, makes each failed call a second time, and checks everything in between.
class CarefulUser {
 public:
  // `probe` is the same memory without faults.
  CarefulUser(Device& device, Device& probe) : device_(device), probe_(probe) {}
  std::uint64_t failures() const { return failures_; }

  void run() {
    reserve_and_map();
    move_pages_about();
    allocate_and_copy();
    use_event();
    give_all_back();
    EXPECT_EQ(0U, probe_.counters().driver_bytes);
  }

 private:
  struct Stamp {
    Address at;
    std::uint8_t value;
  };
  static constexpr std::uint64_t kStamped = 64 * kKiB;
  static constexpr std::uint64_t kRange = 16 * kMiB;
  static constexpr std::uint64_t kPage = 2 * kMiB;

  template <typename Call>
  auto must(Call call) {
    const std::uint64_t given_out = probe_.counters().driver_bytes;
    auto result = call();
    if (!ok(result)) {
      ++failures_;
      EXPECT_EQ(given_out, probe_.counters().driver_bytes);
      check_contents();
      result = call();
      EXPECT_TRUE(ok(result)) << "the second try failed too";
    }
    return result;
  }
  static bool ok(const base::Status& status) { return status.is_ok(); }
  template <typename T>
  static bool ok(const base::Result<T>& result) {
    return result.is_ok();
  }

  void stamp(Address at, std::uint8_t value) {
    if (!device_.info().capabilities.copy) return;
    (void)must([&] { return device_.set(at, value, kStamped); });
    stamps_.push_back({at, value});
  }
  void moved(Address from, Address to) {
    for (Stamp& stamp : stamps_) {
      if (stamp.at == from) stamp.at = to;
    }
  }
  void check_contents() {
    std::vector<std::uint8_t> bytes(kStamped);
    for (const Stamp& stamp : stamps_) {
      if (stamp.at == 0 || hidden_) continue;
      ASSERT_TRUE(probe_.copy_to_host(bytes.data(), stamp.at, kStamped).is_ok());
      ASSERT_EQ(std::vector<std::uint8_t>(kStamped, stamp.value), bytes);
    }
  }

  void reserve_and_map() {
    base_ = must([&] { return device_.reserve(kRange, kPage); }).value();
    for (std::uint64_t i = 0; i < 3; ++i) {
      pages_.push_back(must([&] { return device_.create_page(kPage); }).value());
      (void)must([&] { return device_.map(base_ + i * kPage, pages_[i]); });
    }
    (void)must([&] { return device_.set_access(base_, 3 * kPage, Access::read_write); });
    for (std::uint64_t i = 0; i < 3; ++i) stamp(base_ + i * kPage, static_cast<std::uint8_t>(0x11 * (i + 1)));
  }

  void move_pages_about() {
    // Page 1 leaves its place, waits, and comes back elsewhere.
    (void)must([&] { return device_.unmap(base_ + kPage, pages_[1]); });
    moved(base_ + kPage, 0);
    (void)must([&] { return device_.map(base_ + 5 * kPage, pages_[1]); });
    (void)must([&] { return device_.set_access(base_ + 5 * kPage, kPage, Access::read_write); });
    moved(0, base_ + 5 * kPage);
    check_contents();
    if (device_.info().capabilities.move_pages) {
      (void)must([&] { return device_.move_page(base_, base_ + 4 * kPage, pages_[0]); });
    } else {
      moved(base_, 0);
      (void)must([&] { return device_.unmap(base_, pages_[0]); });
      (void)must([&] { return device_.map(base_ + 4 * kPage, pages_[0]); });
    }
    moved(base_, 0);
    (void)must([&] { return device_.set_access(base_ + 4 * kPage, 2 * kPage, Access::read_write); });
    moved(0, base_ + 4 * kPage);
    check_contents();
    // Access away and back, over two pages at once.
    (void)must([&] { return device_.set_access(base_ + 4 * kPage, 2 * kPage, Access::none); });
    hidden_ = true;
    (void)must([&] { return device_.set_access(base_ + 4 * kPage, 2 * kPage, Access::read_write); });
    hidden_ = false;
    check_contents();
  }

  void allocate_and_copy() {
    for (const std::uint64_t bytes : {100 * kKiB, 3 * kMiB}) {
      allocations_.push_back(must([&] { return device_.malloc(bytes); }).value());
    }
    if (!device_.info().capabilities.copy) return;
    (void)must([&] { return device_.copy(allocations_[0], base_ + 4 * kPage, kStamped); });
    stamps_.push_back({allocations_[0], 0x11});
    const std::vector<std::uint8_t> bytes(kStamped, 0x77);
    (void)must([&] { return device_.copy_from_host(allocations_[1], bytes.data(), kStamped); });
    stamps_.push_back({allocations_[1], 0x77});
    std::vector<std::uint8_t> back(kStamped);
    (void)must([&] { return device_.copy_to_host(back.data(), allocations_[1], kStamped); });
    EXPECT_EQ(bytes, back);
    check_contents();
  }

  void use_event() {
    const EventHandle event = must([&] { return device_.create_event(); }).value();
    const StreamHandle stream = must([&] { return device_.create_stream(); }).value();
    (void)must([&] { return device_.record_event(event, stream); });
    EXPECT_TRUE(must([&] { return device_.query_event(event); }).value());
    (void)must([&] { return device_.stream_wait_event(0, event); });
    (void)must([&] { return device_.wait_event(event); });
    (void)must([&] { return device_.wait_stream(stream); });
    (void)must([&] { return device_.wait_device(); });
    (void)must([&] { return device_.destroy_stream(stream); });
    (void)must([&] { return device_.destroy_event(event); });
    (void)must([&] { return device_.memory(); });
  }

  void give_all_back() {
    for (const Address address : allocations_) {
      (void)must([&] { return device_.free(address); });
      forget(address);
    }
    const Address places[] = {base_ + 4 * kPage, base_ + 5 * kPage, base_ + 2 * kPage};
    for (std::uint64_t i = 0; i < 3; ++i) {
      (void)must([&] { return device_.unmap(places[i], pages_[i]); });
      forget(places[i]);
      (void)must([&] { return device_.destroy_page(pages_[i]); });
    }
    (void)must([&] { return device_.release(base_, kRange); });
  }
  void forget(Address at) {
    std::erase_if(stamps_, [at](const Stamp& stamp) { return stamp.at == at; });
  }

  Device& device_;
  Device& probe_;
  std::uint64_t failures_ = 0;
  Address base_ = 0;
  std::vector<PageHandle> pages_;
  std::vector<Address> allocations_;
  std::vector<Stamp> stamps_;
  bool hidden_ = false;  // access is taken away on purpose
};

class EveryCallFails : public ::testing::TestWithParam<DeviceCase> {};

TEST_P(EveryCallFails, OnceAndTheDeviceIsUnharmed) {
  FaultInjectingDevice faultless(GetParam().make());
  CarefulUser first(faultless, faultless.behind());
  first.run();
  EXPECT_EQ(0U, first.failures());
  const std::uint64_t calls = faultless.plan().calls();
  ASSERT_GT(calls, 25U);
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth));
    FaultInjectingDevice device(GetParam().make());
    device.plan().add({.operation = {}, .nth = nth});
    CarefulUser user(device, device.behind());
    user.run();
    EXPECT_EQ(1U, user.failures());
    EXPECT_EQ(1U, device.plan().injected());
    EXPECT_EQ(calls + 1, device.plan().calls());
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryCallFails, ::testing::ValuesIn(bare_device_cases()), case_name);

// Kernel calls. `make` builds a device over a given system.
template <typename Make>
void refuse_every_kernel_call(Make make) {
  std::uint64_t calls = 0;
  {
    RefusingSystem system;
    auto device = make(system);
    CarefulUser user(*device, *device);
    user.run();
    calls = system.calls();
  }
  ASSERT_GT(calls, 15U);
  std::uint64_t noticed = 0;
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    SCOPED_TRACE("kernel call " + std::to_string(nth));
    RefusingSystem system(nth);
    auto device = make(system);
    if (device == nullptr) continue;  // it could not even be made
    CarefulUser user(*device, *device);
    user.run();
    EXPECT_LE(user.failures(), 1U);
    noticed += user.failures();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(noticed, calls / 3);  // the others have a second way: normal pages, protection instead of a new mapping
}

TEST(EveryKernelCallFails, OnceAndTheHostDeviceIsUnharmed) {
  refuse_every_kernel_call([](HostSystem& system) { return HostDevice::create({}, system).take(); });
}

TEST(EveryKernelCallFails, OnceAndTheSimulatedDeviceIsUnharmed) {
  for (const bool strict : {false, true}) {
    for (const bool move_pages : {false, true}) {
      refuse_every_kernel_call([&](HostSystem& system) -> std::shared_ptr<SimulatedDevice> {
        SimulatedConfig config;
        config.capacity_bytes = kCapacity;
        config.strict = strict;
        config.move_pages = move_pages;
        auto device = SimulatedDevice::create(config, system);
        return device.is_ok() ? device.take() : nullptr;
      });
    }
  }
}

}  // namespace
}  // namespace cistern::device::testing
