// Threads on handles that end meanwhile, and the log callback.
#include <pthread.h>

#include <atomic>
#include <thread>
#include <vector>

#include "capi/capi_fixture.hpp"

namespace cistern::capi_test {
namespace {

using Threads = PoolOnHost;

TEST_F(Threads, APoolMayBeDestroyedWhileOthersUseIt) {
  for (int round = 0; round < 20; ++round) {
    cistern_pool_t* pool = create_pool(device_, 8u << 20);
    std::atomic<int> started{0};
    std::vector<std::thread> users;
    for (int i = 0; i < 3; ++i) {
      users.emplace_back([&] {
        bool alive = true;
        for (int turn = 0; alive; ++turn) {
          cistern_address_t address = 0;
          const cistern_status_t status = cistern_allocate(pool, 4096, &address);
          alive = status == CISTERN_OK;
          EXPECT_EQ(status, alive ? CISTERN_OK : CISTERN_INVALID_ARGUMENT) << last_text();
          if (alive) alive = cistern_free(pool, address) == CISTERN_OK;
          if (turn == 0) ++started;
        }
        EXPECT_NE(last_text().find("the pool was destroyed"), std::string::npos) << last_text();
      });
    }
    while (started < 3) std::this_thread::yield();
    EXPECT_EQ(cistern_pool_destroy(pool, nullptr), CISTERN_OK);
    for (std::thread& user : users) user.join();
  }
}

TEST_F(Threads, OfSeveralThatDestroyOnePoolOneSucceeds) {
  for (int round = 0; round < 20; ++round) {
    cistern_pool_t* pool = create_pool(device_, 1u << 20);
    std::atomic<int> succeeded{0};
    std::vector<std::thread> destroyers;
    for (int i = 0; i < 3; ++i) {
      destroyers.emplace_back([&] { succeeded += cistern_pool_destroy(pool, nullptr) == CISTERN_OK ? 1 : 0; });
    }
    for (std::thread& destroyer : destroyers) destroyer.join();
    EXPECT_EQ(succeeded, 1);
  }
}

TEST_F(Threads, BlocksAreServedAndFreedAcrossThreads) {
  std::vector<cistern_address_t> blocks(200);
  std::thread([&] {
    for (auto& block : blocks) EXPECT_EQ(cistern_allocate(pool_, 1000, &block), CISTERN_OK);
  }).join();
  std::vector<std::thread> users;
  for (std::size_t part = 0; part < 2; ++part) {
    users.emplace_back([&, part] {
      for (std::size_t i = part; i < blocks.size(); i += 2) EXPECT_EQ(cistern_free(pool_, blocks[i]), CISTERN_OK);
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(live_blocks(), 0u);
}

// A destructor of the program that runs at a thread's end, after the library's own, may still free.
TEST_F(Threads, CallsWhileAThreadEndsAreServed) {
  struct Late {
    cistern_pool_t* pool;
    cistern_address_t address;
    std::atomic<int> freed{0};
  } late{pool_, allocate(100), {}};
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* value) {
                                 auto* block = static_cast<Late*>(value);
                                 if (cistern_free(block->pool, block->address) == CISTERN_OK) ++block->freed;
                               }),
            0);
  std::thread([&] {
    EXPECT_EQ(cistern_free(pool_, 1), CISTERN_NOT_FOUND);  // this thread has a record now
    pthread_setspecific(key, &late);
  }).join();
  EXPECT_EQ(late.freed, 1);
  EXPECT_EQ(live_blocks(), 0u);
  pthread_key_delete(key);
}

struct Heard {
  cistern_pool_t* pool = nullptr;
  int lines = 0;
  std::string text;
  cistern_status_t nested = CISTERN_OK;
};

void hear(std::int32_t level, const char* room, const char* text, void* user) {
  auto* heard = static_cast<Heard*>(user);
  EXPECT_EQ(level, CISTERN_LOG_WARNING);
  EXPECT_STREQ(room, "pool");
  ++heard->lines;
  heard->text = text;
  cistern_address_t address = 0;
  heard->nested = cistern_allocate(heard->pool, 1, &address);
}

TEST_F(Threads, TheLogCallbackHearsOfLeaksAndMayNotCallBack) {
  cistern_set_log_level(CISTERN_LOG_WARNING);
  Heard heard;
  heard.pool = pool_;
  ASSERT_EQ(cistern_set_log_callback(&hear, &heard), CISTERN_OK);
  cistern_pool_t* leaky = create_pool(device_);
  cistern_allocation_t wanted{};
  wanted.struct_size = sizeof wanted;
  wanted.bytes = 100;
  wanted.tag = "forgotten";
  cistern_address_t address = 0;
  ASSERT_EQ(cistern_allocate_with(leaky, &wanted, &address), CISTERN_OK);
  EXPECT_EQ(cistern_pool_destroy(leaky, nullptr), CISTERN_OK);
  EXPECT_EQ(cistern_set_log_callback(nullptr, nullptr), CISTERN_OK);
  EXPECT_EQ(heard.lines, 1);
  EXPECT_NE(heard.text.find("forgotten"), std::string::npos) << heard.text;
  EXPECT_EQ(heard.nested, CISTERN_BUSY);
  EXPECT_EQ(live_blocks(), 0u);
  EXPECT_EQ(cistern_set_log_level(5), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_set_log_level(-1), CISTERN_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace cistern::capi_test
