// What is special about the simulated NPU: two views of its memory, sizes as its driver rounds them, modelled time.
#include "device/simulated_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "base/units.hpp"
#include "device/process_probe.hpp"

namespace cistern::device::testing {
namespace {

using base::kKiB;
using base::kMiB;
using base::StatusCode;

constexpr std::uint64_t kPage = 2 * kMiB;

SimulatedConfig small_config() {
  SimulatedConfig config;
  config.capacity_bytes = 64 * kMiB;
  return config;
}

std::shared_ptr<SimulatedDevice> simulated(const SimulatedConfig& config = small_config()) {
  auto device = SimulatedDevice::create(config);
  EXPECT_TRUE(device.is_ok()) << device.status().to_string();
  return device.take();
}

void must(const base::Status& status) { ASSERT_TRUE(status.is_ok()) << status.to_string(); }

TEST(SimulatedDevice, TheAliasIsAConstantDistanceAway) {
  for (const bool strict : {false, true}) {
    SimulatedConfig config = small_config();
    config.strict = strict;
    auto device = simulated(config);
    const Address allocation = device->malloc(3 * kMiB).take();
    const Address base = device->reserve(8 * kMiB, kPage).take();
    must(device->map(base + kPage, device->create_page(kPage).take()));
    must(device->set_access(base + kPage, kPage, Access::read_write));
    const auto distance = [&](Address at) { return reinterpret_cast<Address>(device->host_alias(at)) - at; };
    EXPECT_NE(0U, distance(allocation));
    EXPECT_EQ(distance(allocation), distance(base + kPage));
    EXPECT_EQ(distance(allocation), distance(allocation + 12345));
    std::memset(device->host_alias(base + kPage), 0x5a, kPage);
    std::uint8_t byte = 0;
    must(device->copy_to_host(&byte, base + 2 * kPage - 1, 1));
    EXPECT_EQ(0x5a, byte);
  }
}

TEST(SimulatedDevice, StrictDeviceAddressesTrapAndAliasesDoNot) {
  for (const bool strict : {false, true}) {
    SimulatedConfig config = small_config();
    config.strict = strict;
    auto device = simulated(config);
    EXPECT_EQ(!strict, device->info().capabilities.host_access);
    const Address allocation = device->malloc(8 * kKiB).take();
    EXPECT_EQ(!strict, readable(allocation));
    EXPECT_TRUE(readable(reinterpret_cast<Address>(device->host_alias(allocation))));

    const Address base = device->reserve(8 * kMiB, kPage).take();
    const PageHandle page = device->create_page(kPage).take();
    const auto alias = reinterpret_cast<Address>(device->host_alias(base));
    must(device->map(base, page));
    EXPECT_FALSE(readable(base));
    EXPECT_FALSE(readable(alias));
    must(device->set_access(base, kPage, Access::read_write));
    EXPECT_EQ(!strict, readable(base));
    EXPECT_TRUE(readable(alias));
    must(device->set_access(base, kPage, Access::none));
    EXPECT_FALSE(readable(base));
    EXPECT_FALSE(readable(alias));
    must(device->set_access(base, kPage, Access::read_write));
    must(device->unmap(base, page));
    EXPECT_FALSE(readable(base));
    EXPECT_FALSE(readable(alias));
    must(device->free(allocation));
    EXPECT_FALSE(readable(allocation));
  }
}

TEST(SimulatedDevice, CountsSizesAsItsDriverRoundsThem) {
  auto device = simulated();
  struct Case {
    std::uint64_t asked, given;
  };
  for (const auto& [asked, given] : {Case{1, 4096}, Case{4096, 4096}, Case{4097, 8192}, Case{kMiB - 1, kMiB},
                                     Case{kMiB, 2 * kMiB}, Case{2 * kMiB, 2 * kMiB}, Case{2 * kMiB + 1, 4 * kMiB}}) {
    const Address address = device->malloc(asked).take();
    EXPECT_EQ(given, device->counters().driver_bytes) << asked;
    EXPECT_EQ(64 * kMiB - given, device->memory().value().free_bytes);
    must(device->free(address));
    EXPECT_EQ(0U, device->counters().driver_bytes);
  }
  (void)device->malloc(63 * kMiB - 1).take();  // takes all 64 MiB
  const base::Status refusal = device->malloc(1).take_status();
  EXPECT_EQ(StatusCode::out_of_memory, refusal.code());
  EXPECT_EQ(207001, refusal.native_code());
}

TEST(SimulatedDevice, FreedMemoryIsGivenBackAndReadsAsZeros) {
  auto device = simulated();
  const Address first = device->malloc(8 * kMiB).take();
  const std::uint64_t before = status_bytes("RssShmem");
  must(device->set(first, 0xff, 8 * kMiB));
  EXPECT_GE(status_bytes("RssShmem"), before + 6 * kMiB);  // the kernel's sums are rough
  must(device->free(first));
  EXPECT_LE(status_bytes("RssShmem"), before + 2 * kMiB);
  // The same part of the file again: were its memory still there, so would be the contents.
  const Address second = device->malloc(8 * kMiB).take();
  std::vector<std::uint8_t> bytes(8 * kMiB, 1);
  must(device->copy_to_host(bytes.data(), second, bytes.size()));
  EXPECT_EQ(std::vector<std::uint8_t>(bytes.size(), 0), bytes);
}

TEST(SimulatedDevice, ItsEndLeavesNothing) {
  ASSERT_EQ(0U, open_files_named("cistern-simulated-device"));
  auto device = simulated();
  const Address allocation = device->malloc(4 * kMiB).take();
  const auto alias = reinterpret_cast<Address>(device->host_alias(allocation));
  const Address base = device->reserve(64 * kMiB, kPage).take();
  must(device->map(base, device->create_page(kPage).take()));
  EXPECT_EQ(1U, open_files_named("cistern-simulated-device"));
  EXPECT_LT(0U, mappings_named("cistern-simulated-device"));
  device.reset();
  EXPECT_EQ(0U, open_files_named("cistern-simulated-device"));
  EXPECT_EQ(0U, mappings_named("cistern-simulated-device"));
  for (const Address at : {allocation, alias, base}) EXPECT_FALSE(mapped(at, 4 * kMiB));
}

TEST(SimulatedDevice, SeveralAtOnceAreApart) {
  SimulatedConfig config = small_config();
  config.ordinal = 3;
  auto first = simulated();
  auto second = simulated(config);
  EXPECT_EQ(3U, second->info().ordinal);
  const Address one = first->malloc(4 * kMiB).take();
  const Address other = second->malloc(4 * kMiB).take();
  EXPECT_NE(one, other);
  must(first->set(one, 1, 4 * kMiB));
  must(second->set(other, 2, 4 * kMiB));
  std::uint8_t byte = 0;
  must(first->copy_to_host(&byte, one, 1));
  EXPECT_EQ(1, byte);
  EXPECT_EQ(StatusCode::not_found, first->free(other).code());
}

TEST(SimulatedDevice, WithoutBackingThereAreOnlyNumbers) {
  SimulatedConfig config;
  config.capacity_bytes = 512 * base::kGiB;
  config.backed = false;
  auto device = simulated(config);
  EXPECT_FALSE(device->info().capabilities.copy);
  const Address address = device->malloc(400 * base::kGiB).take();
  EXPECT_EQ(nullptr, device->host_alias(address));
  EXPECT_EQ(StatusCode::unsupported, device->set(address, 0, 16).code());
  EXPECT_EQ(0U, open_files_named("cistern-simulated-device"));
  EXPECT_EQ(400 * base::kGiB, device->counters().driver_bytes);
}

TEST(SimulatedDevice, RefusesConfigurationsThatMakeNoSense) {
  SimulatedConfig config = small_config();
  config.capacity_bytes = 0;
  EXPECT_EQ(StatusCode::invalid_argument, SimulatedDevice::create(config).status().code());
  config = small_config();
  config.rounding.small_bytes = 512;
  EXPECT_EQ(StatusCode::invalid_argument, SimulatedDevice::create(config).status().code());
  config.rounding.small_bytes = 5000;
  EXPECT_EQ(StatusCode::invalid_argument, SimulatedDevice::create(config).status().code());
}

TEST(SimulatedDevice, RefusesPagesBeforeTheKernelRunsOutOfMappings) {
  class LimitedSystem final : public HostSystem {
   public:
    std::uint64_t max_map_count() noexcept override { return limit; }
    std::uint64_t limit = HostSystem::map_count() + 1024 + 700;
  } system;
  auto device = SimulatedDevice::create(small_config(), system).take();
  const Address base = device->reserve(256 * kMiB, kPage).take();
  std::uint64_t mapped_pages = 0;
  base::Status refusal;
  for (; mapped_pages < 1000; ++mapped_pages) {
    const PageHandle page = device->create_page(64 * kKiB).take();
    refusal = device->map(base + 2 * mapped_pages * 64 * kKiB, page);
    if (!refusal.is_ok()) break;
  }
  EXPECT_EQ(StatusCode::out_of_memory, refusal.code()) << refusal.to_string();
  EXPECT_NE(std::string_view::npos, refusal.text().find("vm.max_map_count"));
  EXPECT_GT(mapped_pages, 50U);
  EXPECT_LE(HostSystem::real().map_count(), system.limit - 1024);
}

// --- Modelled time -----------------------------------------------------------------------------

TEST(LatencyModel, APairCostsWhatTheModelSaysAndRepeats) {
  std::vector<std::uint64_t> first_run;
  std::vector<std::uint64_t> second_run;
  for (auto* run : {&first_run, &second_run}) {
    auto device = simulated();
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t before = device->counters().modelled_ns;
      const Address address = device->malloc(i % 2 == 0 ? 1000 : 4 * kMiB).take();
      EXPECT_GT(device->counters().modelled_ns, before);
      must(device->free(address));
      run->push_back(device->counters().modelled_ns - before);
    }
    EXPECT_EQ(device->counters().modelled_ns, device->virtual_clock().now_ns());
  }
  EXPECT_EQ(first_run, second_run);
  const auto [least, most] = std::minmax_element(first_run.begin(), first_run.end());
  EXPECT_GE(*least, 500'000U);
  EXPECT_LE(*most, 2'000'000U);
  EXPECT_LT(*least, 550'000U);  // and they fill the range
  EXPECT_GT(*most, 1'950'000U);

  SimulatedConfig other_seed = small_config();
  other_seed.latency.seed = 2;
  auto device = simulated(other_seed);
  must(device->free(device->malloc(1000).take()));
  EXPECT_NE(first_run[0], device->counters().modelled_ns);
}

TEST(LatencyModel, SmallAllocationsHaveTheirOwnRange) {
  SimulatedConfig config = small_config();
  config.latency.small_malloc_free_pair_min_ns = 100;
  config.latency.small_malloc_free_pair_max_ns = 101;
  auto device = simulated(config);
  must(device->free(device->malloc(kMiB - 1).take()));
  const std::uint64_t small = device->counters().modelled_ns;
  EXPECT_TRUE(small == 100 || small == 101) << small;
  must(device->free(device->malloc(kMiB).take()));
  EXPECT_GE(device->counters().modelled_ns, 500'000U);
}

TEST(LatencyModel, EveryCallAddsItsCost) {
  SimulatedConfig config = small_config();
  config.move_pages = true;
  config.latency.reserve_ns = 1;
  config.latency.create_page_ns = 10;
  config.latency.map_ns = 100;
  config.latency.unmap_ns = 1'000;
  config.latency.set_access_ns = 10'000;
  config.latency.copy_bytes_per_second = 1'000'000'000;  // a byte a nanosecond
  auto device = simulated(config);
  const Address base = device->reserve(8 * kMiB, kPage).take();   // 1
  const PageHandle first = device->create_page(kPage).take();     // 10
  const PageHandle second = device->create_page(kPage).take();    // 10
  must(device->map(base, first));                                 // 100
  must(device->map(base + kPage, second));                        // 100
  must(device->set_access(base, 2 * kPage, Access::read_write));  // 10,000 for both
  EXPECT_EQ(10'221U, device->counters().modelled_ns);
  must(device->set(base, 1, 300'000));              // 300,000
  must(device->copy(base + kPage, base, 200'000));  // 200,000
  EXPECT_EQ(510'221U, device->counters().modelled_ns);
  must(device->move_page(base, base + 2 * kPage, first));  // 1,100
  must(device->unmap(base + kPage, second));               // 1,000
  must(device->destroy_page(second));                      // 10
  EXPECT_FALSE(device->destroy_page(second).is_ok());      // refused: nothing
  EXPECT_EQ(512'331U, device->counters().modelled_ns);
  EXPECT_EQ(512'331U, device->virtual_clock().now_ns());
}

TEST(LatencyModel, SwitchedOffItCostsNothing) {
  SimulatedConfig config = small_config();
  config.latency.enabled = false;
  auto device = simulated(config);
  must(device->free(device->malloc(kMiB).take()));
  EXPECT_EQ(0U, device->counters().modelled_ns);
}

TEST(LatencyModel, CanBeWaitedForForReal) {
  SimulatedConfig config = small_config();
  config.latency.wait_for_real = true;
  auto device = simulated(config);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) must(device->free(device->malloc(kMiB).take()));
  const auto waited = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start);
  EXPECT_GE(static_cast<std::uint64_t>(waited.count()), device->counters().modelled_ns);
}

}  // namespace
}  // namespace cistern::device::testing
