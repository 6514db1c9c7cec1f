// Every device call failing, once and in every kind for good, while threads of several contexts lend and borrow: no
// content is lost, no memory either, and what the contexts hold adds up to what the device has given.
#include <atomic>
#include <random>
#include <thread>

#include "pool/context_fixture.hpp"

namespace cistern::pool {
namespace {

constexpr std::uint64_t kCapacity = 6 * kMiB;

struct Block {
  device::Address at = 0;
  std::uint64_t bytes = 0;
};

class Worker {
 public:
  Worker(Pool& pool, unsigned seed) : pool_(pool), random_(seed) {}

  void run() {
    for (int step = 0; step < 30; ++step) {
      if (random_() % 3 != 0) {
        add(512 * (1 + random_() % 3000));
      } else {
        drop();
      }
      if (random_() % 16 == 0) (void)pool_.trim(0);
    }
    while (!blocks_.empty()) drop();
  }
  std::uint64_t wrong() const { return wrong_; }

 private:
  unsigned char* memory(device::Address at) { return static_cast<unsigned char*>(pool_.device().host_alias(at)); }
  unsigned char stamp_of(const Block& block) const { return static_cast<unsigned char>((block.at >> 9) * 7 + 1); }
  void add(std::uint64_t bytes) {
    const Block block{must_allocate(pool_, bytes), bytes};
    if (block.at == 0) return;
    for (std::uint64_t i = 0; i < bytes; i += 16381) memory(block.at)[i] = stamp_of(block);
    blocks_.push_back(block);
  }
  void drop() {
    if (blocks_.empty()) return;
    std::swap(blocks_[random_() % blocks_.size()], blocks_.back());
    const Block block = blocks_.back();
    blocks_.pop_back();
    for (std::uint64_t i = 0; i < block.bytes; i += 16381) wrong_ += memory(block.at)[i] == stamp_of(block) ? 0 : 1;
    wrong_ += pool_.free(block.at).is_ok() ? 0 : 1;
  }

  Pool& pool_;
  std::mt19937 random_;
  std::vector<Block> blocks_;
  std::uint64_t wrong_ = 0;
};

// One run; the calls that the device got.
std::uint64_t run_with(const std::string& kind, Growth growth, const device::Fault* fault) {
  auto device = std::make_shared<device::FaultInjectingDevice>(make_device(kind, kCapacity));
  if (fault != nullptr) device->plan().add(*fault);
  std::uint64_t calls = 0;
  {
    const TestDevice on(device);
    std::vector<std::unique_ptr<Pool>> pools;
    for (int i = 0; i < 3; ++i) {
      auto made = on.make("context " + std::to_string(i), kMiB, 0, growth);
      if (made.is_ok()) pools.push_back(made.take());
    }
    std::vector<Worker> workers;
    workers.reserve(pools.size());
    for (unsigned i = 0; i < pools.size(); ++i) workers.emplace_back(*pools[i], i);
    std::vector<std::thread> threads;
    for (Worker& worker : workers) threads.emplace_back([&] { worker.run(); });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t kind_of = 0; kind_of < device::kOperations; ++kind_of) {
      calls += device->plan().calls(static_cast<device::Operation>(kind_of));
    }
    device->plan().reset();  // well again
    for (const Worker& worker : workers) EXPECT_EQ(worker.wrong(), 0u) << "content or block lost";
    for (const auto& pool : pools) {
      EXPECT_EQ(pool->validate(), "");
      EXPECT_EQ(pool->ledger().allocated_bytes, 0u);
    }
    // Drivers round their allocations up; of pages every byte is known.
    EXPECT_LE(on.reserved(), on.given_by_device());
    EXPECT_TRUE(growth == Growth::arenas || on.reserved() == on.given_by_device());
    for (const auto& pool : pools) EXPECT_TRUE(pool->trim(0).is_ok());
    EXPECT_EQ(on.contexts->share().reserved_bytes, 0u);
    EXPECT_EQ(device->behind().counters().driver_bytes, 0u);
    EXPECT_TRUE(pools.empty() || must_allocate(*pools[0], 3 * kMiB) != 0) << "the healed contexts serve on";
  }
  EXPECT_EQ(device->behind().counters().driver_bytes, 0u);
  return calls;
}

using FaultSetup = std::tuple<const char*, Growth>;
class ContextFaults : public ::testing::TestWithParam<FaultSetup> {};

TEST_P(ContextFaults, EveryCallFailingOnceLosesNothing) {
  const auto& [kind, growth] = GetParam();
  const std::uint64_t calls = run_with(kind, growth, nullptr);
  ASSERT_GT(calls, 20u);
  for (std::uint64_t nth = 1; nth <= calls; nth += 1 + calls / 15) {
    SCOPED_TRACE("call " + std::to_string(nth) + " of about " + std::to_string(calls) + " fails");
    device::Fault fault;
    fault.nth = nth;
    run_with(kind, growth, &fault);
    if (HasFailure()) return;
  }
}

TEST_P(ContextFaults, EveryKindOfCallFailingForGoodLosesNothingOnceTheDeviceIsWell) {
  const auto& [kind, growth] = GetParam();
  for (std::size_t kind_of = 0; kind_of < device::kOperations; ++kind_of) {
    device::Fault fault;
    fault.operation = static_cast<device::Operation>(kind_of);
    fault.nth = 3;
    fault.times = device::Fault::kForever;
    SCOPED_TRACE(std::string(device::operation_name(*fault.operation)) + " fails from its third call on");
    run_with(kind, growth, &fault);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ContextFaults,
                         ::testing::Combine(::testing::Values("host", "simulated"),
                                            ::testing::Values(Growth::expandable, Growth::arenas)),
                         [](const ::testing::TestParamInfo<FaultSetup>& setup) {
                           return std::string(std::get<0>(setup.param)) + "_" +
                                  std::string(growth_name(std::get<1>(setup.param)));
                         });

}  // namespace
}  // namespace cistern::pool
