// What tests of the AscendCL library share: a device in use, and the log of the process kept for a look.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <string>

#include "acl/acl.h"
#include "cistern/cistern.h"

namespace cistern::test {

inline std::string recent() { return aclGetRecentErrMsg(); }

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Acl : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("CISTERN_ACL_CAPACITY_BYTES", "1GiB", 1);
    ::setenv("CISTERN_ACL_DEVICES", "2", 1);
    ASSERT_EQ(cistern_set_log_callback(&keep_line, this), CISTERN_OK);
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS) << recent();
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << recent();
  }
  void TearDown() override {
    const aclError ended = aclFinalize();
    EXPECT_TRUE(ended == ACL_SUCCESS || ended == ACL_ERROR_REPEAT_FINALIZE) << recent();
    EXPECT_EQ(cistern_set_log_callback(nullptr, nullptr), CISTERN_OK);
    ::unsetenv("CISTERN_ACL_CAPACITY_BYTES");
    ::unsetenv("CISTERN_ACL_DEVICES");
  }
  std::string take_log() {
    const std::lock_guard lock(mutex_);
    return std::exchange(log_, {});
  }
  void* allocate(std::size_t bytes) {
    void* address = nullptr;
    EXPECT_EQ(aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS) << recent();
    return address;
  }
  static std::size_t used() {
    std::size_t bytes = 0;
    EXPECT_EQ(aclrtGetMemPoolInfo(nullptr, &bytes, nullptr), ACL_SUCCESS) << recent();
    return bytes;
  }

 private:
  static void keep_line(std::int32_t, const char*, const char* text, void* user) {
    auto* self = static_cast<Acl*>(user);
    const std::lock_guard lock(self->mutex_);
    self->log_ += std::string(text) + "\n";
  }
  std::mutex mutex_;
  std::string log_;
};

}  // namespace cistern::test
