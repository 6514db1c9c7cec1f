// Threads on one device: each moves its own pages about while others do, and one maps and unmaps memory of its own all
// the time, which would take any address that a moving page left unreserved for an instant.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "device/device_cases.hpp"
#include "device/page_pool.hpp"

namespace cistern::device::testing {
namespace {

using base::kKiB;

constexpr std::uint64_t kPage = 64 * kKiB;
constexpr std::uint64_t kSlots = 32;
constexpr int kThreads = 3;
constexpr int kRounds = 30;

// Takes pages, maps them somewhere, stamps, checks, moves, parks, gives back. Returns what went wrong, or nothing.
std::string wander(Device& device, PagePool& pool, AccountId account) {
  std::mt19937_64 random(account);
  auto reserved = device.reserve(kSlots * kPage, kPage);
  if (!reserved.is_ok()) return reserved.status().to_string();
  const Address base = reserved.value();
  for (int round = 0; round < kRounds; ++round) {
    std::vector<PageHandle> pages;
    if (base::Status status = pool.take(account, 1 + random() % 4, &pages); !status.is_ok()) return status.to_string();
    const std::uint64_t first = random() % (kSlots / 2 - 4);
    for (std::uint64_t i = 0; i < pages.size(); ++i) {
      Address at = base + (first + i) * kPage;
      const auto stamp = static_cast<std::uint8_t>(random());
      base::Status status = device.map(at, pages[i]);
      if (status.is_ok()) status = device.set_access(at, kPage, Access::read_write);
      if (status.is_ok() && device.info().capabilities.copy) status = device.set(at, stamp, kPage);
      const Address to = at + kSlots / 2 * kPage;
      if (status.is_ok()) status = device.unmap(at, pages[i]);
      if (status.is_ok()) status = device.map(to, pages[i]);
      if (status.is_ok()) status = device.set_access(to, kPage, Access::read_write);
      if (status.is_ok() && device.info().capabilities.copy) {
        std::vector<std::uint8_t> back(kPage);
        status = device.copy_to_host(back.data(), to, kPage);
        if (back != std::vector<std::uint8_t>(kPage, stamp)) return "contents changed";
      }
      if (status.is_ok()) status = device.unmap(to, pages[i]);
      if (!status.is_ok()) return status.to_string();
    }
    if (pool.charged_pages(account) != pages.size()) return "charged to the wrong account";
    pool.give(account, pages);
    auto address = device.malloc(3 * kKiB);
    if (!address.is_ok()) return address.status().to_string();
    if (base::Status status = device.free(address.value()); !status.is_ok()) return status.to_string();
    if (round % 16 == 0) (void)pool.trim(2);
  }
  return device.release(base, kSlots * kPage).to_string();
}

class DeviceThreads : public ::testing::TestWithParam<DeviceCase> {};

TEST_P(DeviceThreads, DoNotDisturbEachOther) {
  auto device = GetParam().make();
  PagePool pool(*device, kPage);
  std::atomic<bool> done{false};
  std::atomic<int> stolen{0};
  std::thread neighbour([&] {
    while (!done.load(std::memory_order_relaxed)) {
      auto* mine = static_cast<std::uint8_t*>(
          ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      if (mine == MAP_FAILED) continue;
      mine[0] = 0x3c;
      mine[kPage - 1] = 0x3c;
      std::this_thread::yield();
      if (mine[0] != 0x3c || mine[kPage - 1] != 0x3c) ++stolen;
      ::munmap(mine, kPage);
    }
  });
  std::vector<std::string> outcomes(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { outcomes[i] = wander(*device, pool, static_cast<AccountId>(i + 1)); });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  neighbour.join();
  EXPECT_EQ(std::vector<std::string>(kThreads, "ok"), outcomes);
  EXPECT_EQ(0, stolen.load());
  const PagePoolCounts counts = pool.counts();
  EXPECT_EQ(0U, counts.taken);
  EXPECT_EQ(counts.created - counts.destroyed, counts.kept);
  EXPECT_EQ(counts.kept * kPage, device->counters().driver_bytes);
  EXPECT_EQ(static_cast<std::uint64_t>(kThreads) * kRounds, device->counters().mallocs);
  EXPECT_EQ(device->counters().maps, device->counters().unmaps);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceThreads, ::testing::ValuesIn(bare_device_cases()), case_name);

}  // namespace
}  // namespace cistern::device::testing
