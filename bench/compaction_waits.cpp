// How long others wait while a fragmented pool is compacted: a thread that serves, in three companies.
//
//   off            nobody compacts
//   stop the world the article's way: allocation stops while a compaction runs, which here is a gate that both pass
//   incremental    Pool::compact, in steps within the budget
//
// Requests come by the clock, one every 20 us, whether the one before was served or not, and a request's time counts
// from when it was due: a server that waits for the pool lets others wait behind it, and a loop that starts its next
// request only when the last is done would not see them. A request allocates and frees a small block. Ten times a
// second the other thread makes a comb of 1024 holes in a pool of half a GiB on the host, real pages, real mremap, and
// compacts it. Everything but the gate is the pool as it is. One line a company: requests, p50, p99, p99.9 and the
// longest, and what was moved.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "compact/stitcher.hpp"
#include "device/host_device.hpp"
#include "device/page_pool.hpp"
#include "pool/pool.hpp"

namespace {

using namespace cistern;

constexpr std::uint64_t kPage = std::uint64_t{256} << 10;
constexpr std::uint64_t kBlocks = 2048;  // of a page each, half a GiB
constexpr std::uint64_t kHole = 512 * kPage;
constexpr std::uint64_t kRequestNs = 20'000;     // from one to the next
constexpr std::uint64_t kCycleNs = 100'000'000;  // from one compaction to the next

enum class Company { off, stop_the_world, incremental };

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

struct World {
  std::shared_ptr<device::Device> device;
  std::shared_ptr<device::PagePool> pages;
  std::unique_ptr<pool::Pool> pool;
};

World make_world(std::uint64_t step_us) {
  World world;
  device::HostConfig config;
  config.huge_pages = false;
  world.device = device::HostDevice::create(config).take();
  world.pages = std::make_shared<device::PagePool>(*world.device, kPage);
  pool::PoolOptions options;
  options.page_bytes = kPage;
  options.limit_bytes = (kBlocks + 64) * kPage;
  options.step_us = step_us;
  world.pool = pool::Pool::create(world.device, world.pages, options, compact::rescue_steps(options.on_miss)).take();
  return world;
}

// Makes a large size recent, then leaves every other block free.
std::vector<device::Address> fragment(pool::Pool& pool) {
  auto large = pool.allocate(kHole);
  if (large.is_ok()) (void)pool.free(large.value());
  std::vector<device::Address> live;
  std::vector<device::Address> holes;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    auto block = pool.allocate(kPage);
    if (!block.is_ok()) break;
    (i % 2 == 0 ? holes : live).push_back(block.value());
  }
  for (const device::Address hole : holes) (void)pool.free(hole);
  return live;
}

void report(const char* name, std::vector<std::uint64_t>* ns, const pool::Ledger& ledger,
            const pool::PauseCounts& holds) {
  std::sort(ns->begin(), ns->end());
  const auto at = [&](double share) {
    return static_cast<double>((*ns)[static_cast<std::size_t>(share * static_cast<double>(ns->size() - 1))]) / 1000;
  };
  std::printf(
      "%-14s requests %7zu  us: p50 %.2f p99 %.2f p99.9 %.2f max %.0f | moved %.0f MiB in %llu compactions | holds p50 "
      "%.1f p99 %.1f max %.1f us\n",
      name, ns->size(), at(0.5), at(0.99), at(0.999), at(1), static_cast<double>(ledger.compacted_bytes) / (1 << 20),
      static_cast<unsigned long long>(ledger.compactions), static_cast<double>(holds.quantile_ns(0.5)) / 1000,
      static_cast<double>(holds.quantile_ns(0.99)) / 1000, static_cast<double>(holds.longest_ns) / 1000);
}

void run(const char* name, Company company, std::uint64_t step_us, double seconds) {
  World world = make_world(step_us);
  std::shared_mutex gate;
  std::atomic<bool> ending{false};
  std::vector<std::uint64_t> ns;
  ns.reserve(static_cast<std::size_t>(seconds * 1e9 / kRequestNs) + 1);
  std::thread server([&] {
    std::uint64_t size = 512;
    std::uint64_t due = now_ns();
    while (!ending.load(std::memory_order_relaxed)) {
      size = size * 5 % 65521 + 512;
      due += kRequestNs;
      while (now_ns() < due) {
      }
      {
        std::shared_lock<std::shared_mutex> pass(gate, std::defer_lock);
        if (company == Company::stop_the_world) pass.lock();
        auto block = world.pool->allocate(size);
        if (block.is_ok()) (void)world.pool->free(block.value());
      }
      if (ns.size() < ns.capacity()) ns.push_back(now_ns() - due);
    }
  });
  const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
  for (std::uint64_t cycle = now_ns(); cycle < end; cycle += kCycleNs) {
    std::this_thread::sleep_until(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(cycle)));
    const std::vector<device::Address> live = fragment(*world.pool);
    if (company == Company::stop_the_world) {
      const std::unique_lock<std::shared_mutex> stop(gate);
      pool::CompactionRequest request;
      request.rate_goal = 0.25;
      (void)world.pool->compact(request);
    } else if (company == Company::incremental) {
      pool::CompactionRequest request;
      request.rate_goal = 0.25;
      (void)world.pool->compact(request);
    }
    for (const device::Address block : live) (void)world.pool->free(block);
  }
  ending.store(true);
  server.join();
  report(name, &ns, world.pool->ledger(), world.pool->snapshot().other_pauses);
}

}  // namespace

int main(int arguments, char** values) {
  const double seconds = arguments > 1 ? std::atof(values[1]) : 5;
  run("off", Company::off, 500, seconds);
  run("stop the world", Company::stop_the_world, 500, seconds);
  run("incremental", Company::incremental, 500, seconds);
  run("budget 100 us", Company::incremental, 100, seconds);
  return 0;
}
