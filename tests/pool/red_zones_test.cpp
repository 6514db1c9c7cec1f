// Red zones: writes past the end of a block are told when it is freed, and nothing else is.
#include "pool/red_zones.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/log.hpp"
#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

// What is logged while it lives.
class LoggedErrors {
 public:
  LoggedErrors() { base::set_log_sink(take, this); }
  ~LoggedErrors() { base::set_log_sink(nullptr, nullptr); }
  LoggedErrors(const LoggedErrors&) = delete;
  LoggedErrors& operator=(const LoggedErrors&) = delete;
  std::string text;

 private:
  static void take(base::LogLevel level, std::string_view, std::string_view line, void* user) {
    if (level == base::LogLevel::error) static_cast<LoggedErrors*>(user)->text += std::string(line) + "\n";
  }
};

PoolOptions options_of(Growth growth, std::uint64_t magazine_bytes = 0) {
  PoolOptions options;
  options.name = "zoned";
  options.growth = growth;
  options.limit_bytes = 16 * kMiB;
  options.red_zone_bytes = 64;
  options.magazine_bytes = magazine_bytes;
  return options;
}

using Setup = std::tuple<const char*, Growth, std::uint64_t>;

class Zoned : public ::testing::TestWithParam<Setup> {
 protected:
  Zoned()
      : pool_(make_device(std::get<0>(GetParam()), 64 * kMiB),
              options_of(std::get<1>(GetParam()), std::get<2>(GetParam()))) {}
  device::Address allocate(std::uint64_t bytes) { return must_allocate(*pool_.pool, bytes); }
  unsigned char* memory(device::Address address) {
    return static_cast<unsigned char*>(pool_.device->host_alias(address));
  }
  std::uint64_t overruns() { return pool_->ledger().overruns; }

  LoggedErrors logged_;
  TestPool pool_;
};

TEST_P(Zoned, WritesWithinABlockAreNobodysBusiness) {
  for (const std::uint64_t bytes : {1, 448, 449, 512, 100'000}) {
    const device::Address address = allocate(bytes);
    std::memset(memory(address), 0xFF, bytes);
    EXPECT_TRUE(pool_->free(address).is_ok());
  }
  EXPECT_EQ(overruns(), 0U);
  EXPECT_EQ(logged_.text, "");
}

TEST_P(Zoned, AByteTooManyIsTold) {
  AllocationRequest request;
  request.bytes = 1000;
  request.tag = pool_->intern_tag("attention");
  const device::Address address = pool_->allocate(request).take();
  memory(address)[1000] = 0;
  EXPECT_TRUE(pool_->free(address).is_ok());
  EXPECT_EQ(overruns(), 1U);
  EXPECT_NE(logged_.text.find("pool 'zoned'"), std::string::npos) << logged_.text;
  EXPECT_NE(logged_.text.find("wrote 1 bytes past the end of the block"), std::string::npos) << logged_.text;
  EXPECT_NE(logged_.text.find("of 1000 bytes, tag attention, allocated at "), std::string::npos) << logged_.text;
  EXPECT_NE(logged_.text.find(", freed at "), std::string::npos) << logged_.text;
}

TEST_P(Zoned, TheFarthestByteIsTold) {
  const device::Address address = allocate(512);
  memory(address)[512 + 63] = 0;
  EXPECT_TRUE(pool_->free(address).is_ok());
  EXPECT_NE(logged_.text.find("wrote 64 bytes past"), std::string::npos) << logged_.text;
}

TEST_P(Zoned, TheNextOwnerOfTheMemoryIsNotBlamed) {
  const device::Address first = allocate(1000);
  memory(first)[1001] = 0;
  EXPECT_TRUE(pool_->free(first).is_ok());
  const device::Address second = allocate(1000);
  EXPECT_TRUE(pool_->free(second).is_ok());
  EXPECT_EQ(overruns(), 1U);
}

TEST_P(Zoned, ARefusedFreeForgetsNothing) {
  const device::Address address = allocate(4096);
  memory(address)[4096] = 0;
  EXPECT_FALSE(pool_->free(address + 512).is_ok());
  EXPECT_EQ(overruns(), 0U);
  EXPECT_TRUE(pool_->free(address).is_ok());
  EXPECT_EQ(overruns(), 1U);
  EXPECT_EQ(pool_->free(address).code(), base::StatusCode::double_free);
  EXPECT_EQ(overruns(), 1U);
}

TEST_P(Zoned, FreesOnStreamsAndByNameLookToo) {
  const device::Address address = allocate(2000);
  memory(address)[2000] = 0;
  EXPECT_TRUE(pool_->free_async(address, 0).is_ok());
  EXPECT_EQ(overruns(), 1U);
  AllocationRequest request;
  request.bytes = 2000;
  request.name = "cache";
  memory(pool_->allocate(request).take())[2000] = 0;
  EXPECT_TRUE(pool_->free_named("cache").is_ok());
  EXPECT_EQ(overruns(), 2U);
}

TEST_P(Zoned, MovableBlocksAreLeftAlone) {
  AllocationRequest request;
  request.bytes = 2000;
  const MovableId id = pool_->allocate_movable(request).take();
  memory(pool_->pin(id).take())[2000] = 0;
  EXPECT_TRUE(pool_->unpin(id).is_ok());
  EXPECT_TRUE(pool_->free_movable(id).is_ok());
  EXPECT_EQ(overruns(), 0U);
}

TEST_P(Zoned, ThreadsFindTheirOwn) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < 300; ++i) {
        const device::Address address = allocate(300 + i);
        if (i % 100 == 7) memory(address)[300 + i] = 0;
        EXPECT_TRUE(pool_->free(address).is_ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overruns(), 9U);
  EXPECT_EQ(pool_->validate(), "");
}

std::string name_of(const ::testing::TestParamInfo<Setup>& info) {
  return std::string(std::get<0>(info.param)) + "_" + std::string(growth_name(std::get<1>(info.param))) +
         (std::get<2>(info.param) != 0 ? "_magazines" : "");
}

INSTANTIATE_TEST_SUITE_P(All, Zoned,
                         ::testing::Values(Setup{"host", Growth::expandable, 0}, Setup{"host", Growth::arenas, 0},
                                           Setup{"host", Growth::expandable, kMiB},
                                           Setup{"simulated", Growth::expandable, 0}),
                         name_of);

TEST(RedZones, KeepBlocksApartWhereTheHostCannotLook) {
  TestPool pool(make_device("counting", 64 * kMiB), options_of(Growth::expandable));
  const device::Address first = must_allocate(*pool.pool, 512);
  const device::Address second = must_allocate(*pool.pool, 512);
  EXPECT_GE(second > first ? second - first : first - second, 512U + 64U);
  EXPECT_EQ(pool->ledger().requested_bytes, 1024U);
  EXPECT_EQ(pool->ledger().allocated_bytes, 2048U);
  EXPECT_TRUE(pool->free(first).is_ok());
  EXPECT_TRUE(pool->free(second).is_ok());
  EXPECT_EQ(pool->ledger().overruns, 0U);
}

TEST(RedZones, SizesNearTheEndOfNumbersAreRefusedAsWithoutThem) {
  TestPool pool(make_device("host", 64 * kMiB), options_of(Growth::expandable));
  for (const std::uint64_t less : {0, 1, 63, 64, 65, 600}) {
    EXPECT_FALSE(pool->allocate(~std::uint64_t{0} - less).is_ok()) << less;
  }
  EXPECT_EQ(pool->validate(), "");
}

TEST(RedZones, AreAtMostAMebibyte) {
  PoolOptions options = options_of(Growth::expandable);
  options.red_zone_bytes = kMiB + 1;
  TestPool pool(make_device("host", 64 * kMiB), options);
  EXPECT_EQ(pool.creation.code(), base::StatusCode::invalid_argument);
  EXPECT_NE(pool.creation.text().find("red_zone_bytes"), std::string::npos);
}

}  // namespace
}  // namespace cistern::pool
