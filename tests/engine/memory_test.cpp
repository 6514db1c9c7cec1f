// The direct memory source over real devices: pointers the host can use, exact calls, exact clock, refusals passed on.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>

#include "device/counting_device.hpp"
#include "device/fault_device.hpp"
#include "device/host_device.hpp"
#include "device/simulated_device.hpp"
#include "engine/direct_memory.hpp"

namespace cistern::engine {
namespace {

using base::StatusCode;

std::shared_ptr<device::Device> simulated(bool strict) {
  device::SimulatedConfig config;
  config.capacity_bytes = std::uint64_t{1} << 30;
  config.strict = strict;
  auto made = device::SimulatedDevice::create(config);
  EXPECT_TRUE(made.is_ok()) << made.status().to_string();
  return made.take();
}

const ModelContext kModel{"m", {}};

void use_blocks(DirectMemory& memory) {
  std::vector<unsigned char*> blocks;
  for (unsigned i = 1; i <= 20; ++i) {
    auto block = memory.allocate(i * 1000, i % 2 == 0 ? MemoryUse::weights : MemoryUse::activations, kModel);
    ASSERT_TRUE(block.is_ok()) << block.status().to_string();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.value()) % 64, 0U);
    blocks.push_back(static_cast<unsigned char*>(block.value()));
    std::memset(blocks.back(), static_cast<int>(i), i * 1000);
  }
  for (unsigned i = 1; i <= 20; ++i) {
    EXPECT_EQ(blocks[i - 1][0], i);
    EXPECT_EQ(blocks[i - 1][i * 1000 - 1], i);
    EXPECT_TRUE(memory.free(blocks[i - 1]).is_ok());
  }
}

TEST(DirectMemory, HostPointersOnEveryDeviceThatHasThem) {
  const std::shared_ptr<device::Device> devices[] = {device::HostDevice::create().take(), simulated(false),
                                                     simulated(true)};
  for (const auto& device : devices) {
    SCOPED_TRACE(device->info().kind);
    DirectMemory memory(device);
    use_blocks(memory);
    EXPECT_EQ(device->counters().mallocs, 20U);
    EXPECT_EQ(device->counters().frees, 20U);
    EXPECT_EQ(device->counters().driver_bytes, 0U);
  }
}

TEST(DirectMemory, TheModelledTimeOfAThreadIsThatOfItsOwnCalls) {
  auto device = simulated(false);
  DirectMemory memory(device);
  const std::uint64_t before = memory.modelled_ns();
  use_blocks(memory);
  const std::uint64_t own = memory.modelled_ns() - before;
  EXPECT_EQ(own, device->counters().modelled_ns);
  // 20 pairs of 0.5 to 2 ms.
  EXPECT_GE(own, 10'000'000U);
  EXPECT_LE(own, 40'000'000U);
  std::uint64_t others = 0;
  std::thread([&] {
    use_blocks(memory);
    others = memory.modelled_ns();
  }).join();
  EXPECT_EQ(own + others, device->counters().modelled_ns);
  EXPECT_EQ(memory.modelled_ns() - before, own) << "another thread's calls are not this one's";
}

TEST(DirectMemory, ADeviceThatTheHostCannotReachIsUnsupportedAndKeepsNothing) {
  std::shared_ptr<device::Device> device = device::CountingDevice::create().take();
  DirectMemory memory(device);
  const auto status = memory.allocate(1000, MemoryUse::weights, kModel).status();
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_NE(status.text().find("counting"), std::string_view::npos);
  EXPECT_EQ(device->counters().driver_bytes, 0U);
}

TEST(DirectMemory, RefusalsOfTheDriverArePassedOn) {
  auto device = std::make_shared<device::FaultInjectingDevice>(simulated(false));
  DirectMemory memory(device);
  device->plan().add(
      {.operation = device::Operation::malloc, .code = StatusCode::out_of_memory, .native_code = 207001});
  const auto status = memory.allocate(1000, MemoryUse::weights, kModel).status();
  EXPECT_EQ(status.code(), StatusCode::out_of_memory);
  EXPECT_EQ(status.native_code(), 207001);
  auto block = memory.allocate(1000, MemoryUse::weights, kModel);
  ASSERT_TRUE(block.is_ok());
  device->plan().add({.operation = device::Operation::free});
  EXPECT_EQ(memory.free(block.value()).code(), StatusCode::device_error);
  EXPECT_TRUE(memory.free(block.value()).is_ok());
  EXPECT_FALSE(memory.free(block.value()).is_ok()) << "freed twice";
}

TEST(DirectMemory, ManyThreads) {
  auto device = simulated(true);
  DirectMemory memory(device);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&memory] { use_blocks(memory); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device->counters().mallocs, 80U);
  EXPECT_EQ(device->counters().driver_bytes, 0U);
}

}  // namespace
}  // namespace cistern::engine
