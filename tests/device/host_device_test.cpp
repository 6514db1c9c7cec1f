// What is special about the host: huge pages and their fallback, addresses that stay reserved while memory moves,
// memory that really goes back, and the limit on mappings.
#include "device/host_device.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "base/bits.hpp"
#include "base/units.hpp"
#include "device/process_probe.hpp"

namespace cistern::device::testing {
namespace {

using base::kKiB;
using base::kMiB;
using base::StatusCode;

constexpr std::uint64_t kHuge = 2 * kMiB;
constexpr std::uint64_t kSmall = 64 * kKiB;

std::shared_ptr<HostDevice> host(const HostConfig& config = {}, HostSystem& system = HostSystem::real()) {
  auto device = HostDevice::create(config, system);
  EXPECT_TRUE(device.is_ok());
  return device.take();
}

void must(const base::Status& status) { ASSERT_TRUE(status.is_ok()) << status.to_string(); }

// The real kernel, except that it has no huge pages, or claims a limit on mappings.
class StingySystem final : public HostSystem {
 public:
  int advise(std::uint64_t address, std::uint64_t bytes, int advice) noexcept override {
    if (advice == MADV_HUGEPAGE) {
      ++huge_requests;
      if (!has_huge_pages) return EINVAL;
    }
    return HostSystem::advise(address, bytes, advice);
  }
  std::uint64_t map_count() noexcept override {
    ++counts;
    return HostSystem::map_count();
  }

  bool has_huge_pages = true;
  std::uint64_t huge_requests = 0;
  std::uint64_t counts = 0;
};

TEST(HostDevice, IsThisMachine) {
  auto device = host();
  const DeviceInfo& info = device->info();
  EXPECT_EQ("host", info.kind);
  EXPECT_EQ(HostSystem::real().physical_bytes(), info.total_bytes);
  EXPECT_TRUE(info.capabilities.host_access);
  const MemoryInfo memory = device->memory().take();
  EXPECT_GT(memory.free_bytes, 0U);
  EXPECT_LE(memory.free_bytes, HostSystem::real().available_bytes() + 64 * kMiB);
  const Address address = device->malloc(100).take();
  EXPECT_EQ(reinterpret_cast<void*>(address), device->host_alias(address));
  std::memset(device->host_alias(address), 1, 100);
}

TEST(HostDevice, AsksForHugePagesWhereOneFits) {
  StingySystem system;
  auto device = host({}, system);
  const Address large = device->malloc(5 * kMiB).take();
  EXPECT_TRUE(base::is_aligned(large, kHuge));
  EXPECT_EQ(1U, system.huge_requests);
  (void)device->malloc(kMiB).take();
  EXPECT_EQ(1U, system.huge_requests);
  const Address base = device->reserve(8 * kMiB, kHuge).take();
  must(device->map(base, device->create_page(kHuge).take()));
  EXPECT_EQ(2U, system.huge_requests);
  must(device->map(base + kHuge, device->create_page(kMiB).take()));
  EXPECT_EQ(2U, system.huge_requests);
  EXPECT_EQ(0U, device->huge_page_fallbacks());
}

TEST(HostDevice, FallsBackToNormalPagesAndWorks) {
  StingySystem system;
  system.has_huge_pages = false;
  auto device = host({}, system);
  const Address address = device->malloc(5 * kMiB).take();
  must(device->set(address, 7, 5 * kMiB));
  const Address base = device->reserve(8 * kMiB, kHuge).take();
  const PageHandle page = device->create_page(kHuge).take();
  must(device->map(base, page));
  must(device->set_access(base, kHuge, Access::read_write));
  must(device->set(base, 9, kHuge));
  must(device->move_page(base, base + kHuge, page));
  must(device->set_access(base + kHuge, kHuge, Access::read_write));
  EXPECT_EQ(9, *static_cast<std::uint8_t*>(device->host_alias(base + 2 * kHuge - 1)));
  EXPECT_EQ(2U, device->huge_page_fallbacks());
}

TEST(HostDevice, DoesNotAskWhenToldNotTo) {
  StingySystem system;
  HostConfig config;
  config.huge_pages = false;
  auto device = host(config, system);
  (void)device->malloc(5 * kMiB).take();
  EXPECT_EQ(0U, system.huge_requests);
}

TEST(HostDevice, AddressesWithoutAPageTrapAndStayReserved) {
  auto device = host();
  const Address base = device->reserve(8 * kMiB, kHuge).take();
  EXPECT_FALSE(readable(base));
  const PageHandle page = device->create_page(kHuge).take();
  must(device->map(base, page));
  EXPECT_FALSE(readable(base));  // a fresh page has no access yet
  must(device->set_access(base, kHuge, Access::read_write));
  EXPECT_TRUE(readable(base));
  EXPECT_TRUE(readable(base + kHuge - 1));
  EXPECT_FALSE(readable(base + kHuge));
  must(device->set_access(base, kHuge, Access::none));
  EXPECT_FALSE(readable(base));
  must(device->set_access(base, kHuge, Access::read_write));
  must(device->move_page(base, base + 2 * kHuge, page));
  EXPECT_FALSE(readable(base));
  EXPECT_TRUE(mapped(base, kHuge));
  must(device->unmap(base + 2 * kHuge, page));
  EXPECT_FALSE(readable(base + 2 * kHuge));
  EXPECT_TRUE(mapped(base + 2 * kHuge, kHuge));
  must(device->destroy_page(page));
  must(device->release(base, 8 * kMiB));
  EXPECT_FALSE(mapped(base, 8 * kMiB));
}

TEST(HostDevice, DestroyedPagesAndFreedAllocationsGiveMemoryBack) {
  auto device = host();
  const std::uint64_t bytes = 32 * kMiB;
  const std::uint64_t slack = 16 * kMiB;  // the test program's own, and the kernel's sums are rough
  const std::uint64_t before = status_bytes("RssAnon");
  const Address base = device->reserve(bytes, kHuge).take();
  std::vector<PageHandle> pages;
  for (std::uint64_t i = 0; i < bytes / kHuge; ++i) {
    pages.push_back(device->create_page(kHuge).take());
    must(device->map(base + i * kHuge, pages.back()));
  }
  must(device->set_access(base, bytes, Access::read_write));
  must(device->set(base, 1, bytes));
  EXPECT_GE(status_bytes("RssAnon"), before + bytes - slack / 4);
  for (std::uint64_t i = 0; i < pages.size(); ++i) must(device->unmap(base + i * kHuge, pages[i]));
  EXPECT_GE(status_bytes("RssAnon"), before + bytes - slack / 4);  // parked, not gone
  for (const PageHandle page : pages) must(device->destroy_page(page));
  EXPECT_LE(status_bytes("RssAnon"), before + slack);

  const Address address = device->malloc(bytes).take();
  must(device->set(address, 1, bytes));
  must(device->free(address));
  EXPECT_LE(status_bytes("RssAnon"), before + slack);
}

TEST(HostDevice, ItsEndGivesEverythingBack) {
  const std::uint64_t before = status_bytes("RssAnon");
  auto device = host();
  const Address allocation = device->malloc(32 * kMiB).take();
  must(device->set(allocation, 3, 32 * kMiB));
  const Address base = device->reserve(64 * kMiB, kHuge).take();
  const PageHandle mapped_page = device->create_page(kHuge).take();
  const PageHandle parked_page = device->create_page(kHuge).take();
  must(device->map(base, mapped_page));
  must(device->map(base + kHuge, parked_page));
  must(device->set_access(base, 2 * kHuge, Access::read_write));
  must(device->set(base, 3, 2 * kHuge));
  must(device->unmap(base + kHuge, parked_page));
  device.reset();
  EXPECT_FALSE(mapped(allocation, 32 * kMiB));
  EXPECT_FALSE(mapped(base, 64 * kMiB));
  EXPECT_LE(status_bytes("RssAnon"), before + 16 * kMiB);
}

// Pages shuffled at random for long must not leave mappings behind: every page is one at most, parked or mapped, and
// the gaps between them, and the slots.
TEST(HostDevice, MovingPagesAboutDoesNotPileUpMappings) {
  auto device = host();
  constexpr std::uint64_t kPages = 64;
  const Address base = device->reserve(2 * kPages * kSmall, kSmall).take();
  std::vector<PageHandle> pages;
  std::vector<Address> at(kPages, 0);
  std::mt19937_64 random(5);
  const std::uint64_t before = HostSystem::real().map_count();
  for (std::uint64_t i = 0; i < kPages; ++i) pages.push_back(device->create_page(kSmall).take());
  for (int step = 0; step < 3000; ++step) {
    const std::uint64_t i = random() % kPages;
    if (at[i] != 0) {
      must(device->unmap(at[i], pages[i]));
      at[i] = 0;
      continue;
    }
    Address to = base + random() % (2 * kPages) * kSmall;
    while (std::find(at.begin(), at.end(), to) != at.end()) to = base + random() % (2 * kPages) * kSmall;
    must(device->map(to, pages[i]));
    must(device->set_access(to, kSmall, Access::read_write));
    must(device->set(to, 1, 8));
    at[i] = to;
  }
  EXPECT_LE(HostSystem::real().map_count(), before + 4 * kPages + 8);
}

TEST(HostDevice, GrowingInOrderCostsNoMappings) {
  auto device = host();
  const Address base = device->reserve(64 * kMiB, kHuge).take();
  const std::uint64_t before = HostSystem::real().map_count();
  for (std::uint64_t i = 0; i < 512; ++i) {
    must(device->map(base + i * kSmall, device->create_page(kSmall).take()));
    must(device->set_access(base + i * kSmall, kSmall, Access::read_write));
    must(device->set(base + i * kSmall, 1, 8));
  }
  EXPECT_LE(HostSystem::real().map_count(), before + 4);
}

TEST(HostDevice, RefusesPagesBeforeTheKernelRunsOutOfMappings) {
  StingySystem system;
  HostConfig config;
  config.mapping_headroom = 64;
  config.max_mappings = HostSystem::real().map_count() + 400;
  auto device = host(config, system);
  const Address base = device->reserve(256 * kMiB, kHuge).take();
  // Every other page: no two neighbours that the kernel could join.
  std::vector<std::pair<Address, PageHandle>> pages;
  base::Status refusal;
  for (std::uint64_t i = 0; i < 2000 && refusal.is_ok(); ++i) {
    auto page = device->create_page(kSmall);
    if (!page.is_ok()) {
      refusal = page.take_status();
      break;
    }
    const Address at = base + 2 * i * kSmall;
    refusal = device->map(at, page.value());
    if (!refusal.is_ok()) break;
    must(device->set_access(at, kSmall, Access::read_write));
    pages.emplace_back(at, page.value());
  }
  EXPECT_EQ(StatusCode::out_of_memory, refusal.code()) << refusal.to_string();
  EXPECT_EQ(ENOMEM, refusal.native_code());
  EXPECT_NE(std::string_view::npos, refusal.text().find("vm.max_map_count")) << refusal.text();
  EXPECT_GE(pages.size(), 100U);
  EXPECT_LE(HostSystem::real().map_count(), config.max_mappings - config.mapping_headroom);
  EXPECT_LT(system.counts, 30U);  // the truth is asked for seldom

  // Refusals do not count all mappings each time.
  const std::uint64_t counts = system.counts;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(device->create_page(kSmall).is_ok());
  EXPECT_EQ(counts, system.counts);

  // Giving back always works, and then there is room again.
  for (const auto& [at, page] : pages) {
    must(device->unmap(at, page));
    must(device->destroy_page(page));
  }
  auto page = device->create_page(kSmall);
  EXPECT_TRUE(page.is_ok()) << page.status().to_string();
}

TEST(HostDevice, ReservesMoreAddressesThanThereIsMemory) {
  auto device = host();
  const std::uint64_t bytes = 8 * base::round_up(HostSystem::real().physical_bytes(), kHuge);
  auto base = device->reserve(bytes, kHuge);
  ASSERT_TRUE(base.is_ok()) << base.status().to_string();
  must(device->release(base.value(), bytes));
}

}  // namespace
}  // namespace cistern::device::testing
