// What every pool does, whatever device it stands on, however it grows and whichever hole it prefers.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "base/bits.hpp"
#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

// Device, growth, policy, magazine bytes.
using Setup = std::tuple<const char*, Growth, core::FitPolicy, std::uint64_t>;

class PoolContract : public ::testing::TestWithParam<Setup> {
 protected:
  PoolOptions options() const {
    PoolOptions options;
    options.growth = std::get<1>(GetParam());
    options.policy = std::get<2>(GetParam());
    options.growth_is_required = true;
    options.magazine_bytes = std::get<3>(GetParam());
    return options;
  }
  TestPool make(PoolOptions options, std::uint64_t capacity = 64 * kMiB) const {
    return TestPool(make_device(std::get<0>(GetParam()), capacity), options);
  }
  TestPool make() const { return make(options()); }
};

TEST_P(PoolContract, StartsEmptyAndTakesNothing) {
  TestPool test = make();
  ASSERT_TRUE(test.creation.is_ok()) << test.creation.to_string();
  EXPECT_EQ(test->ledger().reserved_bytes, 0u);
  EXPECT_EQ(test.device->counters().driver_bytes, 0u);
  EXPECT_EQ(test->validate(), "");
}

TEST_P(PoolContract, ServesDistinctAlignedBlocksAndCountsThem) {
  TestPool test = make();
  std::map<device::Address, std::uint64_t> blocks;
  for (std::uint64_t bytes : {1u, 511u, 512u, 513u, 4096u, 100000u, 1048576u}) {
    const device::Address at = must_allocate(*test.pool, bytes);
    ASSERT_NE(at, 0u) << bytes;
    EXPECT_TRUE(base::is_aligned(at, 512)) << bytes;
    blocks[at] = base::round_up(bytes, 512);
  }
  device::Address end = 0;
  for (const auto& [at, bytes] : blocks) {
    EXPECT_GE(at, end);
    end = at + bytes;
  }
  const Ledger ledger = test->ledger();
  EXPECT_EQ(ledger.requested_bytes, 1u + 511 + 512 + 513 + 4096 + 100000 + 1048576);
  EXPECT_EQ(ledger.allocated_bytes, 512u + 512 + 512 + 1024 + 4096 + 100352 + 1048576);
  EXPECT_EQ(ledger.live_blocks, 7u);
  EXPECT_EQ(ledger.allocations, 7u);
  EXPECT_EQ(ledger.reserved_bytes, ledger.allocated_bytes + ledger.free_bytes + ledger.moving_bytes);
  EXPECT_EQ(test->validate(), "");
  for (const auto& [at, bytes] : blocks) EXPECT_TRUE(test->free(at).is_ok());
  EXPECT_EQ(test->ledger().allocated_bytes, 0u);
  EXPECT_EQ(test->ledger().requested_bytes, 0u);
  EXPECT_EQ(test->ledger().frees, 7u);
  EXPECT_EQ(test->validate(), "");
}

TEST_P(PoolContract, HonoursEveryAlignmentUpToTwoMiB) {
  TestPool test = make();
  for (std::uint64_t alignment = 1; alignment <= 2 * kMiB; alignment *= 2) {
    const device::Address at = must_allocate(*test.pool, 1536, alignment);
    ASSERT_NE(at, 0u) << alignment;
    EXPECT_TRUE(base::is_aligned(at, alignment)) << alignment;
  }
  EXPECT_EQ(test->validate(), "");
}

TEST_P(PoolContract, RefusesBadRequestsAndChangesNothing) {
  TestPool test = make();
  must_allocate(*test.pool, 4096);
  const Ledger before = test->ledger();
  AllocationRequest request;
  EXPECT_EQ(test->allocate(request).status().code(), base::StatusCode::invalid_argument);
  request.bytes = 512;
  request.alignment = 768;
  EXPECT_EQ(test->allocate(request).status().code(), base::StatusCode::invalid_argument);
  request.alignment = 0;
  request.flags = 0x80;
  EXPECT_EQ(test->allocate(request).status().code(), base::StatusCode::invalid_argument);
  for (std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 511, ~std::uint64_t{0} - 512}) {
    EXPECT_EQ(test->allocate(bytes).status().code(), base::StatusCode::limit_exceeded) << bytes;
  }
  Ledger after = test->ledger();
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
  EXPECT_EQ(after.allocated_bytes, before.allocated_bytes);
  EXPECT_EQ(after.failed_allocations, 3u);
  EXPECT_EQ(test->validate(), "");
}

TEST_P(PoolContract, DetectsMisuseAndKeepsEverything) {
  TestPool test = make();
  const device::Address at = must_allocate(*test.pool, 8192);
  const device::Address kept = must_allocate(*test.pool, 8192);
  EXPECT_EQ(test->free(at + 512).code(), base::StatusCode::invalid_argument);
  EXPECT_EQ(test->free(at + 1).code(), base::StatusCode::invalid_argument);
  EXPECT_NE(test->free(at + 512).text().find("512 bytes into a live block of 8192"), std::string::npos);
  EXPECT_EQ(test->free(0).code(), base::StatusCode::not_found);
  EXPECT_EQ(test->free(0x10).code(), base::StatusCode::not_found);
  EXPECT_TRUE(test->free(at).is_ok());
  EXPECT_EQ(test->free(at).code(), base::StatusCode::double_free);
  EXPECT_EQ(test->free(at + 4096).code(), base::StatusCode::double_free);
  EXPECT_EQ(test->ledger().live_blocks, 1u);
  EXPECT_TRUE(test->free(kept).is_ok());
  EXPECT_EQ(test->validate(), "");
}

TEST_P(PoolContract, NamesAreUniqueAndFindTheirBlock) {
  TestPool test = make();
  AllocationRequest request;
  request.bytes = 1000;
  request.name = "kv/layer0";
  request.tag = test->intern_tag("kv");
  const auto served = test->allocate(request);
  ASSERT_TRUE(served.is_ok());
  EXPECT_EQ(test->allocate(request).status().code(), base::StatusCode::invalid_argument);
  const auto found = test->find("kv/layer0");
  ASSERT_TRUE(found.is_ok());
  EXPECT_EQ(found.value().address, served.value());
  EXPECT_EQ(found.value().requested_bytes, 1000u);
  EXPECT_EQ(found.value().granted_bytes, 1024u);
  EXPECT_EQ(found.value().tag, "kv");
  EXPECT_EQ(test->find("kv/layer1").status().code(), base::StatusCode::not_found);
  EXPECT_TRUE(test->free_named("kv/layer0").is_ok());
  EXPECT_EQ(test->free_named("kv/layer0").code(), base::StatusCode::not_found);
  EXPECT_TRUE(test->allocate(request).is_ok()) << "a freed name is free again";
  EXPECT_EQ(test->validate(), "");
}

TEST_P(PoolContract, AFailedNamedRequestLeavesItsNameFree) {
  TestPool test = make();
  AllocationRequest request;
  request.name = "big";
  request.bytes = 1024 * kMiB;
  EXPECT_FALSE(test->allocate(request).is_ok());
  EXPECT_EQ(test->find("big").status().code(), base::StatusCode::not_found);
  request.bytes = 512;
  EXPECT_TRUE(test->allocate(request).is_ok());
}

TEST_P(PoolContract, DescribesInteriorAddresses) {
  TestPool test = make();
  const device::Address at = must_allocate(*test.pool, 70000);
  ASSERT_TRUE(test->describe(at + 69999).is_ok());
  EXPECT_EQ(test->describe(at + 69999).value().address, at);
  EXPECT_EQ(test->describe(at + 71000 * 1000).status().code(), base::StatusCode::not_found);
  EXPECT_TRUE(test->free(at).is_ok());
  EXPECT_EQ(test->describe(at).status().code(), base::StatusCode::not_found);
}

TEST_P(PoolContract, InitialMemoryIsTakenOnceAndServesWithoutTheDriver) {
  PoolOptions with = options();
  with.initial_bytes = 8 * kMiB;
  TestPool test = make(with);
  ASSERT_TRUE(test.creation.is_ok()) << test.creation.to_string();
  EXPECT_EQ(test->ledger().reserved_bytes, 8 * kMiB);
  const std::uint64_t before = test.device->counters().driver_allocations();
  for (int round = 0; round < 100; ++round) {
    const device::Address first = must_allocate(*test.pool, 3 * kMiB);
    const device::Address second = must_allocate(*test.pool, 4 * kMiB);
    ASSERT_NE(first, 0u);
    ASSERT_NE(second, 0u);
    EXPECT_TRUE(test->free(first).is_ok());
    EXPECT_TRUE(test->free(second).is_ok());
  }
  EXPECT_EQ(test.device->counters().driver_allocations(), before);
}

TEST_P(PoolContract, InitialMemoryStepsDownToWhatTheDeviceHas) {
  PoolOptions with = options();
  with.limit_bytes = 512 * kMiB;
  with.initial_bytes = 256 * kMiB;
  TestPool test = make(with, 64 * kMiB);
  ASSERT_TRUE(test.creation.is_ok()) << test.creation.to_string();
  EXPECT_GT(test->ledger().reserved_bytes, 16 * kMiB);
  EXPECT_LE(test->ledger().reserved_bytes, 64 * kMiB);
}

TEST_P(PoolContract, TheWholeLimitIsReachableWhateverTheInitialSize) {
  PoolOptions with = options();
  with.limit_bytes = 16 * kMiB;
  with.initial_bytes = 4 * kMiB;
  TestPool test = make(with);
  EXPECT_NE(must_allocate(*test.pool, 16 * kMiB), 0u) << "the idle initial memory must not stand in the way";
  EXPECT_EQ(test->ledger().reserved_bytes, 16 * kMiB);
}

TEST_P(PoolContract, NeverHoldsMoreThanItsLimit) {
  PoolOptions with = options();
  with.limit_bytes = 10 * kMiB;
  TestPool test = make(with);
  std::vector<device::Address> live;
  while (const device::Address at = must_allocate(*test.pool, kMiB)) live.push_back(at);
  EXPECT_LE(test->ledger().peak_reserved_bytes, 10 * kMiB);
  EXPECT_EQ(live.size(), 10u);
  EXPECT_EQ(test->allocate(512).status().code(), base::StatusCode::limit_exceeded);
  EXPECT_EQ(test->validate(), "");
}

TEST_P(PoolContract, DeviceFullIsOutOfMemoryNotLimit) {
  PoolOptions with = options();
  with.limit_bytes = 512 * kMiB;
  TestPool test = make(with, 8 * kMiB);
  while (must_allocate(*test.pool, kMiB) != 0) {
  }
  EXPECT_EQ(test->allocate(kMiB).status().code(), base::StatusCode::out_of_memory);
  EXPECT_GE(test->ledger().live_blocks, 6u);
  EXPECT_EQ(test->validate(), "");
}

TEST_P(PoolContract, TrimGivesEveryFreeByteBack) {
  TestPool test = make();
  std::vector<device::Address> live;
  for (int i = 0; i < 12; ++i) live.push_back(must_allocate(*test.pool, kMiB));
  for (device::Address at : live) EXPECT_TRUE(test->free(at).is_ok());
  const std::uint64_t reserved = test->ledger().reserved_bytes;
  ASSERT_GE(reserved, 12 * kMiB);
  const auto returned = test->trim(0);
  ASSERT_TRUE(returned.is_ok());
  EXPECT_EQ(returned.value(), reserved);
  EXPECT_EQ(test->ledger().reserved_bytes, 0u);
  EXPECT_EQ(test.device->counters().driver_bytes, 0u);
  EXPECT_NE(must_allocate(*test.pool, kMiB), 0u) << "a trimmed pool serves on";
  EXPECT_EQ(test->validate(), "");
}

TEST_P(PoolContract, SnapshotTilesEveryArena) {
  TestPool test = make();
  AllocationRequest request;
  request.bytes = 100000;
  request.tag = test->intern_tag("weights/a");
  ASSERT_TRUE(test->allocate(request).is_ok());
  const device::Address hole = must_allocate(*test.pool, 200000);
  ASSERT_NE(must_allocate(*test.pool, 300000), 0u);
  EXPECT_TRUE(test->free(hole).is_ok());
  const Snapshot snapshot = test->snapshot();
  ASSERT_EQ(snapshot.arenas.size(), 1u);
  const ArenaSnapshot& arena = snapshot.arenas[0];
  device::Address at = arena.base;
  std::uint64_t live = 0;
  for (const BlockSnapshot& block : arena.blocks) {
    EXPECT_EQ(block.address, at);
    at += block.bytes;
    live += block.state == core::BlockState::live && !block.is_cached ? block.bytes : 0;
  }
  EXPECT_EQ(at, arena.base + arena.range_bytes);
  EXPECT_EQ(live, snapshot.ledger.allocated_bytes);
  std::uint64_t mapped = 0;
  for (const ExtentSnapshot& extent : arena.extents) mapped += extent.bytes;
  EXPECT_EQ(mapped, snapshot.ledger.reserved_bytes);
  std::uint64_t in_buckets = 0;
  for (const core::BucketView& bucket : arena.buckets) in_buckets += bucket.bytes;
  EXPECT_EQ(in_buckets, snapshot.ledger.free_bytes);
  ASSERT_EQ(snapshot.tags.size(), 2u);
  EXPECT_EQ(snapshot.tags[0].allocated_bytes, 300032u);
  EXPECT_EQ(snapshot.tags[1].tag, "weights/a");
}

TEST_P(PoolContract, DestructionReturnsAllMemoryEvenWithLiveBlocks) {
  auto device = make_device(std::get<0>(GetParam()), 64 * kMiB);
  {
    TestPool test(device, options());
    must_allocate(*test.pool, 5 * kMiB);
    must_allocate(*test.pool, 512);
  }
  EXPECT_EQ(device->counters().driver_bytes, 0u);
}

TEST_P(PoolContract, RegisteredPagesStayUntilUnregistered) {
  TestPool test = make();
  const device::Address at = must_allocate(*test.pool, 4 * kMiB);
  ASSERT_TRUE(test->register_range(at, 4 * kMiB).is_ok());
  EXPECT_TRUE(test->free(at).is_ok());
  ASSERT_TRUE(test->trim(0).is_ok());
  EXPECT_GE(test->ledger().reserved_bytes, 4 * kMiB) << "registered memory was given back";
  EXPECT_TRUE(test->unregister_range(at, 4 * kMiB).is_ok());
  EXPECT_EQ(test->unregister_range(at, 4 * kMiB).code(), base::StatusCode::not_found);
  ASSERT_TRUE(test->trim(0).is_ok());
  EXPECT_EQ(test->ledger().reserved_bytes, 0u);
}

TEST_P(PoolContract, OversizeRequestsMayGoStraightToTheDriverAndComeBack) {
  PoolOptions with = options();
  with.direct_bytes = 4 * kMiB;
  TestPool test = make(with);
  const device::Address small = must_allocate(*test.pool, kMiB);
  const std::uint64_t reserved = test->ledger().reserved_bytes;
  const device::Address big = must_allocate(*test.pool, 5 * kMiB);
  ASSERT_NE(big, 0u);
  EXPECT_EQ(test->ledger().reserved_bytes, reserved + 5 * kMiB);
  EXPECT_EQ(test->snapshot().arenas.back().kind, ArenaKind::direct);
  EXPECT_EQ(test->validate(), "");
  EXPECT_TRUE(test->free(big).is_ok());
  EXPECT_EQ(test->ledger().reserved_bytes, reserved) << "the article's external block must not leak";
  EXPECT_NE(test->free(big).code(), base::StatusCode::ok);
  EXPECT_TRUE(test->free(small).is_ok());
}

// Random traffic against a map of intervals: no two live blocks ever share a byte, sums match, and what memory there is
// keeps its contents.
TEST_P(PoolContract, RandomTrafficKeepsBlocksApartAndContentsWhole) {
  TestPool test = make();
  std::mt19937_64 random(20261130);
  struct Live {
    std::uint64_t bytes;
    std::uint64_t stamp;
  };
  std::map<device::Address, Live> live;
  const bool has_contents = test.device->info().capabilities.host_alias;
  std::uint64_t requested = 0;
  for (int step = 0; step < 4000; ++step) {
    if (random() % 100 < 55 && live.size() < 200) {
      const std::uint64_t bytes = 1 + random() % (std::uint64_t{1} << (4 + random() % 17));
      const std::uint64_t alignment = std::uint64_t{1} << (random() % 14);
      const device::Address at = must_allocate(*test.pool, bytes, alignment);
      ASSERT_NE(at, 0u) << "step " << step;
      const auto above = live.lower_bound(at);
      const device::Address next = above == live.end() ? ~device::Address{0} : above->first;
      ASSERT_LE(at + bytes, next);
      const auto below = above == live.begin() ? live.end() : std::prev(above);
      ASSERT_LE(below == live.end() ? 0 : below->first + below->second.bytes, at);
      const std::uint64_t stamp = random();
      if (has_contents && bytes >= 16) {
        std::memcpy(test.device->host_alias(at), &stamp, 8);
        std::memcpy(static_cast<char*>(test.device->host_alias(at)) + bytes - 8, &stamp, 8);
      }
      live[at] = {bytes, stamp};
      requested += bytes;
    } else if (!live.empty()) {
      auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
      if (has_contents && victim->second.bytes >= 16) {
        const char* memory = static_cast<char*>(test.device->host_alias(victim->first));
        ASSERT_EQ(std::memcmp(memory, &victim->second.stamp, 8), 0);
        ASSERT_EQ(std::memcmp(memory + victim->second.bytes - 8, &victim->second.stamp, 8), 0);
      }
      ASSERT_TRUE(test->free(victim->first).is_ok());
      requested -= victim->second.bytes;
      live.erase(victim);
    }
    if (step % 400 == 0) {
      ASSERT_EQ(test->validate(), "") << "step " << step;
      ASSERT_TRUE(test->trim(test->ledger().reserved_bytes / 2).is_ok());
      ASSERT_EQ(test->validate(), "") << "step " << step;
    }
    ASSERT_EQ(test->ledger().requested_bytes, requested);
  }
}

std::string setup_name(const ::testing::TestParamInfo<Setup>& info) {
  return std::string(std::get<0>(info.param)) + "_" + std::string(growth_name(std::get<1>(info.param))) + "_" +
         std::string(policy_name(std::get<2>(info.param))) + (std::get<3>(info.param) != 0 ? "_magazines" : "");
}

INSTANTIATE_TEST_SUITE_P(All, PoolContract,
                         ::testing::Combine(::testing::Values("host", "simulated", "counting"),
                                            ::testing::Values(Growth::expandable, Growth::arenas),
                                            ::testing::Values(core::FitPolicy::best_fit, core::FitPolicy::first_fit,
                                                              core::FitPolicy::exact_best_fit),
                                            ::testing::Values(0, 8 * kMiB)),
                         setup_name);

}  // namespace
}  // namespace cistern::pool
