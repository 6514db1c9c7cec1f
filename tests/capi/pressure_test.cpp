// Pressure callbacks through the C and C++ interfaces: what they are told, and what they may call.
#include <atomic>
#include <cistern/cistern.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "capi/capi_fixture.hpp"

namespace cistern::capi_test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

struct Cache {
  cistern_pool_t* pool = nullptr;
  std::vector<cistern_address_t> blocks;
  std::uint64_t id = 0;
  int calls = 0;
  cistern_pressure_t told{};
  std::string told_pool;
};

std::int32_t drop_one(const cistern_pressure_t* pressure, void* user) {
  auto* cache = static_cast<Cache*>(user);
  ++cache->calls;
  cache->told = *pressure;
  cache->told_pool = pressure->pool;
  EXPECT_EQ(cistern_free(cache->pool, 12345), CISTERN_NOT_FOUND);  // an error of its own
  EXPECT_NE(last_text().find("12345"), std::string::npos);
  EXPECT_EQ(cistern_pool_destroy(cache->pool, nullptr), CISTERN_BUSY) << "the request around this call is in it";
  EXPECT_EQ(cistern_free(cache->pool, cache->blocks.back()), CISTERN_OK) << last_text();
  cache->blocks.pop_back();
  EXPECT_EQ(cistern_trim(cache->pool, 0, nullptr), CISTERN_OK) << last_text();
  EXPECT_EQ(cistern_remove_pressure_callback(cache->pool, cache->id), CISTERN_OK) << last_text();
  EXPECT_EQ(cistern_add_pressure_callback(cache->pool, 7, &drop_one, user, &cache->id), CISTERN_OK) << last_text();
  return 1;
}

class PressureOnHost : public PoolOnHost {
 protected:
  void SetUp() override {
    PoolOnHost::SetUp();
    cache_.pool = pool_;
    for (int i = 0; i < 64; ++i) cache_.blocks.push_back(allocate(kMiB));  // all of the limit
  }
  Cache cache_;
};

TEST_F(PressureOnHost, ACallbackMayCallTheLibraryAndTheRequestIsServed) {
  ASSERT_EQ(cistern_add_pressure_callback(pool_, -3, &drop_one, &cache_, &cache_.id), CISTERN_OK);
  cistern_address_t block = 0;
  cistern_clear_last_error();
  EXPECT_EQ(cistern_allocate(pool_, kMiB, &block), CISTERN_OK) << last_text();
  EXPECT_EQ(last_text(), "") << "errors of the callback are the callback's";
  EXPECT_EQ(cache_.calls, 1);
  EXPECT_EQ(cache_.told.struct_size, sizeof(cistern_pressure_t));
  EXPECT_EQ(cache_.told.by_own_limit, 1u);
  EXPECT_EQ(cache_.told.requested_bytes, kMiB);
  EXPECT_EQ(cache_.told.missing_bytes, kMiB);
  EXPECT_EQ(cache_.told_pool, "pool");
  EXPECT_EQ(live_blocks(), 64u);
}

TEST_F(PressureOnHost, WrongArgumentsAreRefused) {
  std::uint64_t id = 0;
  EXPECT_EQ(cistern_add_pressure_callback(pool_, 0, nullptr, nullptr, &id), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_add_pressure_callback(pool_, 0, &drop_one, nullptr, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_add_pressure_callback(nullptr, 0, &drop_one, nullptr, &id), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_remove_pressure_callback(pool_, 4711), CISTERN_NOT_FOUND);
}

// Another thread destroys the pool while a callback of it runs inside a request: it waits for the request's end.
TEST_F(PressureOnHost, DestructionWaitsForARequestWhoseCallbackRuns) {
  struct Slow {
    std::atomic<bool> is_inside{false};
    std::atomic<bool> may_go{false};
  } slow;
  const auto wait = [](const cistern_pressure_t*, void* user) -> std::int32_t {
    auto* me = static_cast<Slow*>(user);
    me->is_inside = true;
    while (!me->may_go) std::this_thread::yield();
    return 0;
  };
  std::uint64_t id = 0;
  ASSERT_EQ(cistern_add_pressure_callback(pool_, 0, wait, &slow, &id), CISTERN_OK);
  cistern_address_t block = 0;
  std::thread needy([&] { EXPECT_EQ(cistern_allocate(pool_, kMiB, &block), CISTERN_LIMIT_EXCEEDED); });
  while (!slow.is_inside) std::this_thread::yield();
  std::atomic<bool> is_destroyed{false};
  std::thread ender([&] {
    EXPECT_EQ(cistern_pool_destroy(pool_, nullptr), CISTERN_OK);
    is_destroyed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(is_destroyed);
  slow.may_go = true;
  needy.join();
  ender.join();
  pool_ = nullptr;
}

TEST(PressureInCpp, ObjectsRegisterAndExceptionsAreContained) {
  cistern_set_log_level(CISTERN_LOG_ERROR);
  Device device = Device::open(DeviceOptions{});
  PoolOptions options;
  options.limit_bytes = 4 * kMiB;
  Pool pool = Pool::create(device, options);
  Buffer cached = pool.allocate(4 * kMiB);
  const PressureCallback broken =
      pool.on_pressure(0, [](const Pressure&) -> bool { throw std::runtime_error("the cache is broken"); });
  {
    const PressureCallback drops = pool.on_pressure(1, [&](const Pressure& pressure) {
      EXPECT_EQ(pressure.missing_bytes, kMiB);
      cached.reset();
      return true;
    });
    const Buffer served = pool.allocate(kMiB);
    EXPECT_TRUE(static_cast<bool>(served));
    EXPECT_FALSE(static_cast<bool>(cached));
  }
  const Buffer rest = pool.allocate(4 * kMiB);
  EXPECT_FALSE(pool.try_allocate(kMiB).ok()) << "nobody who could drop is registered any more";
}

}  // namespace
}  // namespace cistern::capi_test
