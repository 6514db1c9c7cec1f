// How long others wait beside a noisy neighbour: three contexts live within their minima while a fourth, with several
// threads, asks for everything that the device has.
//
// Each quiet context goes from nothing to its minimum in blocks of one page and back, and gives its pages back, so that
// every request is a miss that takes a page from the device: the slow path, where contexts meet. Requests come every
// 200 us, so what is timed is the request and not a queue of them. On the counting device: what is seen is locks, turns
// and the machine's scheduling, no driver. To tell the last apart, the same is done beside threads that only spin.
// Alone, beside spinning threads and beside the neighbour take turns.
//
// usage: bench_noisy_neighbour [ROUNDS] (default 20)
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "compact/stitcher.hpp"
#include "device/counting_device.hpp"
#include "pool/context.hpp"
#include "pool/pool.hpp"

namespace {

using namespace cistern;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPage = std::uint64_t{64} << 10;
constexpr std::uint64_t kMinimum = 64 * kPage;
constexpr unsigned kQuiet = 3;
constexpr unsigned kNoisyThreads = 2;
constexpr std::chrono::microseconds kEvery{200};

enum class Beside { nobody, spinning, noisy };

struct Waits {
  std::vector<double> us;
  std::uint64_t failed = 0;
};

class World {
 public:
  World() {
    device::CountingConfig config;
    config.capacity_bytes = (kQuiet * 64 + 256) * kPage;
    device_ = device::CountingDevice::create(config).take();
    pages_ = std::make_shared<device::PagePool>(*device_, kPage);
    noisy_ = make("noisy", 0);
    for (unsigned i = 0; i < kQuiet; ++i) quiet_.push_back(make("quiet", kMinimum));
  }

  Waits round(Beside beside) {
    done_ = false;
    std::vector<std::thread> neighbours;
    for (unsigned i = 0; beside != Beside::nobody && i < kNoisyThreads; ++i) {
      neighbours.emplace_back([this, beside, i] { beside == Beside::noisy ? be_noisy(i) : spin(); });
    }
    std::vector<Waits> waits(kQuiet);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kQuiet; ++i) threads.emplace_back([&, i] { waits[i] = live(*quiet_[i]); });
    for (std::thread& thread : threads) thread.join();
    done_ = true;
    for (std::thread& thread : neighbours) thread.join();
    Waits all;
    for (Waits& each : waits) {
      all.us.insert(all.us.end(), each.us.begin(), each.us.end());
      all.failed += each.failed;
    }
    return all;
  }

 private:
  std::unique_ptr<pool::Pool> make(const char* name, std::uint64_t minimum) {
    pool::PoolOptions options;
    options.name = name;
    options.minimum_bytes = minimum;
    options.page_bytes = kPage;
    return pool::Pool::create(device_, pages_, options, compact::stitch_steps(options.on_miss), nullptr,
                              pool::ContextSet::of(device_))
        .take();
  }

  void spin() {
    while (!done_) {
    }
  }

  void be_noisy(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<device::Address> blocks;
    while (!done_) {
      auto block = noisy_->allocate(kPage * (1 + random() % 16));
      if (block.is_ok()) blocks.push_back(block.value());
      while (!blocks.empty() && (!block.is_ok() || random() % 8 == 0)) {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        (void)noisy_->free(blocks.back());
        blocks.pop_back();
        if (random() % 2 == 0) break;
      }
    }
    for (const device::Address block : blocks) (void)noisy_->free(block);
  }

  static Waits live(pool::Pool& pool) {
    Waits waits;
    std::vector<device::Address> blocks;
    for (std::uint64_t n = 0; n < kMinimum / kPage; ++n) {
      std::this_thread::sleep_for(kEvery);
      const auto began = Clock::now();
      auto block = pool.allocate(kPage);
      waits.us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
      if (block.is_ok()) blocks.push_back(block.value());
      waits.failed += block.is_ok() ? 0 : 1;
    }
    for (const device::Address block : blocks) (void)pool.free(block);
    (void)pool.trim(0);
    return waits;
  }

  std::shared_ptr<device::Device> device_;
  std::shared_ptr<device::PagePool> pages_;
  std::unique_ptr<pool::Pool> noisy_;
  std::vector<std::unique_ptr<pool::Pool>> quiet_;
  std::atomic<bool> done_{false};
};

void print(const char* what, Waits waits) {
  std::sort(waits.us.begin(), waits.us.end());
  const auto at = [&](double share) { return waits.us[static_cast<std::size_t>(share * double(waits.us.size() - 1))]; };
  std::printf("%-24s %8zu %8llu %9.2f %9.2f %9.1f %9.1f\n", what, waits.us.size(),
              static_cast<unsigned long long>(waits.failed), at(0.5), at(0.99), at(0.999), at(1.0));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 20;
  World world;
  std::array<Waits, 3> all;
  for (int i = 0; i < rounds; ++i) {
    for (std::size_t beside = 0; beside < all.size(); ++beside) {
      const Waits more = world.round(static_cast<Beside>(beside));
      all[beside].us.insert(all[beside].us.end(), more.us.begin(), more.us.end());
      all[beside].failed += more.failed;
    }
  }
  std::printf("%-24s %8s %8s %9s %9s %9s %9s\n", "requests within minima", "number", "failed", "p50 us", "p99 us",
              "p99.9 us", "max us");
  print("alone", all[0]);
  print("beside spinning threads", all[1]);
  print("beside the neighbour", all[2]);
  return all[0].failed + all[1].failed + all[2].failed == 0 ? 0 : 1;
}
