// Contents follow their page wherever it goes, whatever the device: pages are stamped, mapped, parked and moved at
// random, and every byte is checked against a model.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "device/device_cases.hpp"

namespace cistern::device::testing {
namespace {

using base::kKiB;
using base::kMiB;
using base::StatusCode;

class DeviceContents : public ::testing::TestWithParam<DeviceCase> {
 protected:
  void SetUp() override { device = GetParam().make(); }
  static void expect_ok(const base::Status& status) { ASSERT_TRUE(status.is_ok()) << status.to_string(); }

  std::shared_ptr<Device> device;
};

// Words that tell page and place in the page.
std::vector<std::uint64_t> pattern(std::uint64_t seed, std::uint64_t bytes) {
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
  for (std::uint64_t i = 0; i < words.size(); ++i) words[i] = (seed << 32) ^ (i * 0x9e3779b97f4a7c15);
  return words;
}

TEST_P(DeviceContents, CopiesArriveAndTheAliasShowsThem) {
  const std::uint64_t bytes = 300 * kKiB;
  const Address first = device->malloc(bytes).take();
  const Address second = device->malloc(bytes).take();
  const auto words = pattern(7, bytes);
  expect_ok(device->copy_from_host(first, words.data(), bytes));
  ASSERT_TRUE(device->info().capabilities.host_alias);
  EXPECT_EQ(0, std::memcmp(device->host_alias(first), words.data(), bytes));
  expect_ok(device->copy(second, first, bytes));
  auto back = pattern(0, bytes);
  expect_ok(device->copy_to_host(back.data(), second, bytes));
  EXPECT_EQ(words, back);
  expect_ok(device->set(second + 512, 0xab, 1024));
  const auto* alias = static_cast<const std::uint8_t*>(device->host_alias(second));
  EXPECT_EQ(0xab, alias[512]);
  EXPECT_EQ(0xab, alias[512 + 1023]);
  EXPECT_EQ(0, std::memcmp(alias + 512 + 1024, reinterpret_cast<const std::uint8_t*>(words.data()) + 1536, 1024));
  const DeviceCounters counters = device->counters();
  EXPECT_EQ(4U, counters.copies);
  EXPECT_EQ(3 * bytes + 1024, counters.bytes_copied);
  if (device->info().capabilities.host_access) {
    EXPECT_EQ(0, std::memcmp(reinterpret_cast<const void*>(first), words.data(), bytes));
  }
}

TEST_P(DeviceContents, CopiesOutsideTheirMemoryAreRefused) {
  const Address address = device->malloc(4 * kKiB).take();
  std::vector<std::uint8_t> bytes(8 * kKiB);
  EXPECT_EQ(StatusCode::invalid_argument, device->copy_from_host(address, bytes.data(), 4 * kKiB + 1).code());
  EXPECT_EQ(StatusCode::not_found, device->copy_to_host(bytes.data(), 0x1000, 16).code());
  EXPECT_EQ(StatusCode::invalid_argument, device->copy(address + 512, address, 1024).code());
  expect_ok(device->copy(address + 1024, address, 1024));
  expect_ok(device->copy(address, address, 0));

  const Address base = device->reserve(4 * kMiB, 2 * kMiB).take();
  const PageHandle page = device->create_page(2 * kMiB).take();
  EXPECT_EQ(StatusCode::invalid_argument, device->set(base, 1, 16).code());  // nothing there
  expect_ok(device->map(base, page));
  EXPECT_EQ(StatusCode::invalid_argument, device->set(base, 1, 16).code());  // no access
  expect_ok(device->set_access(base, 2 * kMiB, Access::read_write));
  expect_ok(device->set(base, 1, 2 * kMiB));
  EXPECT_EQ(StatusCode::invalid_argument, device->set(base + kMiB, 1, 2 * kMiB).code());  // ends beyond the page
  expect_ok(device->set_access(base, 2 * kMiB, Access::none));
  EXPECT_EQ(StatusCode::invalid_argument, device->set(base, 1, 16).code());
}

TEST_P(DeviceContents, ACopyMaySpanPages) {
  const Address base = device->reserve(4 * kMiB, 2 * kMiB).take();
  for (std::uint64_t i = 0; i < 4; ++i) {
    const PageHandle page = device->create_page(64 * kKiB).take();
    expect_ok(device->map(base + i * 64 * kKiB, page));
  }
  expect_ok(device->set_access(base, 256 * kKiB, Access::read_write));
  const auto words = pattern(3, 200 * kKiB);
  expect_ok(device->copy_from_host(base + 1024, words.data(), 200 * kKiB));
  auto back = pattern(0, 200 * kKiB);
  expect_ok(device->copy_to_host(back.data(), base + 1024, 200 * kKiB));
  EXPECT_EQ(words, back);
}

// Pages of mixed sizes wander through a range; a page's whole contents are checked whenever it can be seen.
class Wanderers {
 public:
  static constexpr std::uint64_t kRange = 128 * kMiB;
  struct Wanderer {
    PageHandle page;
    std::uint64_t bytes;
    Address at;
    std::vector<std::uint64_t> contents;
  };

  Wanderers(Device& device, std::uint64_t seed) : device_(device), random_(seed) {
    base_ = device_.reserve(kRange, 2 * kMiB).take();
    for (const std::uint64_t bytes :
         {64 * kKiB, 64 * kKiB, 128 * kKiB, 256 * kKiB, 512 * kKiB, kMiB, 2 * kMiB, 2 * kMiB, 2 * kMiB, 64 * kKiB}) {
      all_.push_back({device_.create_page(bytes).take(), bytes, 0, {}});
    }
  }

  void step() {
    Wanderer& one = all_[random_() % all_.size()];
    if (one.at == 0) {
      map(&one);
    } else if (device_.info().capabilities.move_pages && random_() % 2 == 0) {
      if (Address to = vacant(one.bytes)) {
        must(device_.move_page(one.at, to, one.page));
        one.at = to;
        show(&one);
      }
    } else {
      must(device_.unmap(one.at, one.page));
      one.at = 0;
    }
  }

  void finish() {
    for (Wanderer& one : all_) {
      if (one.at == 0) map(&one);
      must(device_.unmap(one.at, one.page));
      must(device_.destroy_page(one.page));
    }
    must(device_.release(base_, kRange));
  }

 private:
  static void must(const base::Status& status) { ASSERT_TRUE(status.is_ok()) << status.to_string(); }

  Address vacant(std::uint64_t bytes) {
    for (int tries = 0; tries < 100; ++tries) {
      const Address at = base_ + random_() % (kRange / bytes) * bytes;
      bool clear = true;
      for (const Wanderer& other : all_) {
        if (other.at != 0 && at < other.at + other.bytes && other.at < at + bytes) clear = false;
      }
      if (clear) return at;
    }
    return 0;
  }

  void map(Wanderer* one) {
    const Address to = vacant(one->bytes);
    ASSERT_NE(0U, to);
    must(device_.map(to, one->page));
    one->at = to;
    show(one);
  }

  // Checks what the page holds, then gives it something new to carry.
  void show(Wanderer* one) {
    must(device_.set_access(one->at, one->bytes, Access::read_write));
    if (!one->contents.empty()) {
      std::vector<std::uint64_t> back(one->contents.size());
      must(device_.copy_to_host(back.data(), one->at, one->bytes));
      ASSERT_EQ(one->contents, back) << "page of " << one->bytes;
    }
    one->contents = pattern(random_() & 0xffffffff, one->bytes);
    must(device_.copy_from_host(one->at, one->contents.data(), one->bytes));
  }

  Device& device_;
  std::mt19937_64 random_;
  Address base_ = 0;
  std::vector<Wanderer> all_;
};

TEST_P(DeviceContents, SurviveEveryWayOfMapAndUnmapAndMove) {
  Wanderers wanderers(*device, 20261130);
  for (int i = 0; i < 80 && !HasFailure(); ++i) wanderers.step();
  wanderers.finish();
  EXPECT_EQ(0U, device->counters().driver_bytes);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceContents, ::testing::ValuesIn(device_cases_with_contents()), case_name);

}  // namespace
}  // namespace cistern::device::testing
