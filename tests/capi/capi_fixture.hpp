// What tests of the C interface share: a pool on a device, and the last error as one value.
#pragma once

#include <cistern/cistern.h>
#include <gtest/gtest.h>

#include <string>

namespace cistern::capi_test {

inline cistern_error_t last_error() {
  cistern_error_t error{};
  error.struct_size = sizeof error;
  EXPECT_EQ(cistern_get_last_error(&error), CISTERN_OK);
  return error;
}

inline std::string last_text() { return cistern_last_error_text(); }

inline cistern_device_t* open_device(const char* kind, std::uint64_t capacity_bytes = 0, std::uint32_t flags = 0) {
  cistern_device_options_t options{};
  options.struct_size = sizeof options;
  options.kind = kind;
  options.capacity_bytes = capacity_bytes;
  options.flags = flags;
  cistern_device_t* device = nullptr;
  EXPECT_EQ(cistern_device_open(&options, &device), CISTERN_OK) << last_text();
  return device;
}

inline cistern_pool_t* create_pool(cistern_device_t* device, std::uint64_t limit_bytes = 64u << 20) {
  cistern_pool_options_t options{};
  options.struct_size = sizeof options;
  options.limit_bytes = limit_bytes;
  cistern_pool_t* pool = nullptr;
  EXPECT_EQ(cistern_pool_create(device, &options, &pool), CISTERN_OK) << last_text();
  return pool;
}

class PoolOnHost : public testing::Test {
 protected:
  void SetUp() override {
    cistern_set_log_level(CISTERN_LOG_ERROR);  // pools are destroyed with live blocks on purpose
    device_ = open_device("host");
    pool_ = create_pool(device_);
    cistern_clear_last_error();
  }
  void TearDown() override {
    cistern_pool_destroy(pool_, nullptr);
    cistern_device_close(device_);
  }

  cistern_address_t allocate(std::uint64_t bytes) {
    cistern_address_t address = 0;
    EXPECT_EQ(cistern_allocate(pool_, bytes, &address), CISTERN_OK) << last_text();
    return address;
  }
  std::uint64_t live_blocks() {
    std::uint64_t live = ~std::uint64_t{0};
    EXPECT_EQ(cistern_pool_live_blocks(pool_, &live), CISTERN_OK);
    return live;
  }

  cistern_device_t* device_ = nullptr;
  cistern_pool_t* pool_ = nullptr;
};

}  // namespace cistern::capi_test
