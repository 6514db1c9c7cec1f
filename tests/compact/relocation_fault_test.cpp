// Every copy and event call failing, one at a time, twice and for good, at every point of a scenario that relocates: no
// byte is lost or changed, the ledger stays exact, and the healed pool relocates on.
#include <gtest/gtest.h>

#include <array>

#include "compact/movable_world.hpp"
#include "device/fault_device.hpp"

namespace cistern::compact {
namespace {

using device::Operation;

constexpr std::array kOperations = {Operation::copy, Operation::create_event, Operation::record_event,
                                    Operation::wait_event, Operation::query_event};

class RelocationFaults : public ::testing::TestWithParam<const char*> {
 protected:
  static pool::PoolOptions options() {
    WorldSetup setup;
    setup.limit_bytes = 12 * kMiB;
    return options_of(setup);
  }
  static std::shared_ptr<device::FaultInjectingDevice> make_faulty() {
    return std::make_shared<device::FaultInjectingDevice>(pool::make_device(GetParam(), 64 * kMiB));
  }
  // Blocks of one and of several pieces, requests of several windows, a quiet moment.
  static void scenario(MovableWorld& world) {
    std::vector<pool::MovableId> large;
    for (const std::uint64_t kib : {3000, 2300, 3000, 2500, 1400}) large.push_back(world.add(kib * kKiB));
    for (const std::size_t i : {0U, 2U, 3U}) world.drop(large[i]);
    (void)world.add(6000 * kKiB);  // the block of 2300, two pieces, stands in its way
    world.verify("the request of two holes");
    for (const pool::MovableId id : ids_of(world)) world.drop(id);
    std::vector<pool::MovableId> small;
    for (int i = 0; i < 24; ++i) small.push_back(world.add(500 * kKiB));
    for (std::size_t i = 0; i < small.size(); i += 2) world.drop(small[i]);
    (void)world.add(1000 * kKiB);
    (void)world.add(1500 * kKiB);
    world.verify("requests of small holes");
    pool::CompactionRequest request;
    request.max_us = 10'000'000;
    (void)world.pool().compact(request);
    world.verify("a quiet moment");
  }
  static std::vector<pool::MovableId> ids_of(const MovableWorld& world) {
    std::vector<pool::MovableId> ids;
    for (const auto& [id, block] : world.movables()) ids.push_back(id);
    return ids;
  }
  static void run_with(const device::Fault& fault) {
    auto device = make_faulty();
    {
      MovableWorld world(device, options());
      ASSERT_TRUE(world.is_made());
      device->plan().add(fault);
      scenario(world);
      device->plan().reset();
      for (const pool::MovableId id : ids_of(world)) world.drop(id);
      EXPECT_EQ(world.pool().ledger().allocated_bytes, 0U);
      world.checker(256 * kKiB);
      EXPECT_NE(world.add(kMiB), 0U) << "the healed pool relocates";
      world.verify("all faults");
    }
    EXPECT_EQ(device->behind().counters().driver_bytes, 0U) << "memory lost on the device";
  }
};

TEST_P(RelocationFaults, NoCallThatFailsLosesAByte) {
  std::array<std::uint64_t, device::kOperations> calls{};
  {
    auto device = make_faulty();
    MovableWorld world(device, options());
    device->plan().reset();
    scenario(world);
    EXPECT_GE(world.pool().ledger().moves, 3U);
    for (std::size_t kind = 0; kind < device::kOperations; ++kind) {
      calls[kind] = device->plan().calls(static_cast<Operation>(kind));
    }
  }
  ASSERT_GE(calls[static_cast<std::size_t>(Operation::copy)], 4U);
  ASSERT_GE(calls[static_cast<std::size_t>(Operation::record_event)], 3U);
  for (const Operation operation : kOperations) {
    for (std::uint64_t nth = 1; nth <= calls[static_cast<std::size_t>(operation)] + 1; ++nth) {
      for (const std::uint64_t times : {std::uint64_t{1}, std::uint64_t{2}, device::Fault::kForever}) {
        SCOPED_TRACE(std::string(device::operation_name(operation)) + " " + std::to_string(nth) + " fails " +
                     std::to_string(times) + " times");
        device::Fault fault;
        fault.operation = operation;
        fault.nth = nth;
        fault.times = times;
        run_with(fault);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(RelocationFaults, AFailureIsTold) {
  auto device = make_faulty();
  MovableWorld world(device, options());
  world.checker(64 * kKiB);
  device::Fault fault;
  fault.operation = Operation::copy;
  fault.times = device::Fault::kForever;
  fault.native_code = 507899;
  device->plan().add(fault);
  pool::AllocationRequest request;
  request.bytes = 512 * kKiB;
  const auto refused = world.pool().allocate(request);
  ASSERT_FALSE(refused.is_ok());
  EXPECT_EQ(refused.status().code(), base::StatusCode::limit_exceeded);
  EXPECT_NE(refused.status().text().find("relocate ("), std::string::npos) << refused.status().text();
  EXPECT_NE(refused.status().text().find("copy"), std::string::npos) << refused.status().text();
  device->plan().reset();
  EXPECT_NE(world.add(512 * kKiB), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, RelocationFaults, ::testing::Values("host", "simulated"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace cistern::compact
