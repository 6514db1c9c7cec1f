// Memory of the AscendCL library: allocation from the context's pool, copies on both sides, what is refused and how.
#include <cstring>
#include <vector>

#include "acl/acl_fixture.hpp"

namespace cistern::test {
namespace {

constexpr std::size_t kBytes = 1 << 20;

class AclMemory : public Acl {};

TEST_F(AclMemory, ComesFromThePoolAndGoesBackToIt) {
  ASSERT_EQ(used(), 0U);
  void* const block = allocate(kBytes);
  EXPECT_EQ(used(), kBytes);
  std::size_t total = 0;
  std::size_t free = 0;
  EXPECT_EQ(aclrtGetMemPoolInfo(&total, nullptr, &free), ACL_SUCCESS);
  EXPECT_EQ(total, kBytes + free);
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  EXPECT_EQ(used(), 0U);
}

TEST_F(AclMemory, WhatIsWrongIsRefusedWithItsCode) {
  void* address = nullptr;
  EXPECT_EQ(aclrtMalloc(nullptr, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(&address, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(recent(), "aclrtMalloc: a size of 0 bytes");
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  char* const block = static_cast<char*>(allocate(kBytes));
  EXPECT_EQ(aclrtFree(block + 512), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(contains(recent(), "512 bytes inside the block")) << recent();
  EXPECT_EQ(aclrtFreeHost(block), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(contains(recent(), "by aclrtFree(), not by aclrtFreeHost()")) << recent();
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(block), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(contains(recent(), "no live block begins at")) << recent();
}

TEST_F(AclMemory, RunningOutIsExplained) {
  void* address = nullptr;
  EXPECT_EQ(aclrtMalloc(&address, std::size_t{2} << 30, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_MEM_ALLOC_FAIL);
  EXPECT_EQ(address, nullptr);
  EXPECT_TRUE(contains(recent(), "default context of device 0")) << recent();
  EXPECT_TRUE(contains(recent(), "2 GiB")) << recent();
}

TEST_F(AclMemory, EveryWayToAllocate) {
  void* blocks[5] = {};
  aclrtMallocAttribute attribute{};
  attribute.attr = ACL_RT_MEM_ATTR_MODULE_ID;
  attribute.value.moduleId = 7;
  aclrtMallocConfig config{&attribute, 1};
  EXPECT_EQ(aclrtMallocAlign32(&blocks[0], 100, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocCached(&blocks[1], 100, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocWithCfg(&blocks[2], 100, ACL_MEM_MALLOC_HUGE_FIRST, &config), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocForTaskScheduler(&blocks[3], 100, ACL_MEM_MALLOC_HUGE_FIRST, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocHostWithCfg(&blocks[4], 100, nullptr), ACL_SUCCESS);
  attribute.attr = static_cast<aclrtMallocAttrType>(99);
  EXPECT_EQ(aclrtMallocWithCfg(&blocks[2], 100, ACL_MEM_MALLOC_HUGE_FIRST, &config), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(aclrtFreeWithDevSync(blocks[i]), ACL_SUCCESS) << recent();
  std::memset(blocks[4], 1, 100);  // the host's own
  EXPECT_EQ(aclrtFreeHost(blocks[4]), ACL_SUCCESS);
}

TEST_F(AclMemory, CopiesGoBothWaysAndWithin) {
  std::vector<char> sent(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) sent[i] = static_cast<char>(i * 7);
  std::vector<char> received(kBytes);
  void* const first = allocate(kBytes);
  void* const second = allocate(kBytes);
  EXPECT_EQ(aclrtMemcpy(first, kBytes, sent.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclrtMemset(second, kBytes, 0x5A, kBytes), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(second, kBytes, first, kBytes / 2, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclrtMemcpy(received.data(), kBytes, second, kBytes, ACL_MEMCPY_DEFAULT), ACL_SUCCESS) << recent();
  EXPECT_EQ(std::memcmp(sent.data(), received.data(), kBytes / 2), 0);
  EXPECT_EQ(received[kBytes / 2], 0x5A);
  EXPECT_EQ(received[kBytes - 1], 0x5A);
  EXPECT_EQ(aclrtFree(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(second), ACL_SUCCESS);
}

TEST_F(AclMemory, RowsKeepTheirPitch) {
  char sent[4][8] = {"row one", "row two", "row 3..", "row 4.."};
  char received[4][16] = {};
  void* const block = allocate(4 * 512);
  EXPECT_EQ(aclrtMemcpy2d(block, 512, sent, 8, 8, 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclrtMemcpy2d(received, 16, block, 512, 8, 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS) << recent();
  for (int i = 0; i < 4; ++i) EXPECT_STREQ(received[i], sent[i]);
  EXPECT_EQ(aclrtMemcpy2d(block, 4, sent, 8, 8, 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy2d(block, 1024, sent, 8, 8, 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(contains(recent(), "'dst'") && contains(recent(), "to the end of its block")) << recent();
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
}

TEST_F(AclMemory, RangesEndWithTheirBlock) {
  char host[16] = {};
  char* const block = static_cast<char*>(allocate(1000));
  EXPECT_EQ(aclrtMemcpy(block, 8, host, 16, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy(block + 990, 16, host, 16, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(contains(recent(), "has 10 bytes to the end of its block, not 16")) << recent();
  EXPECT_EQ(aclrtMemcpy(host, 16, nullptr, 16, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(host, 16, block, 0, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(host, 16, block, 16, static_cast<aclrtMemcpyKind>(9)), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemset(block, 1000, 0, 1001), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(host, 16, block, 16, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(contains(recent(), "it was freed before")) << recent();
}

TEST_F(AclMemory, PermissiveCopiesWhatCanOnlyBeMeantAndSaysSoOnce) {
  char host[16] = "on the host";
  char other[16] = {};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(aclrtMemcpy(other, 16, host, 16, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS) << recent();
  }
  EXPECT_STREQ(other, host);
  const std::string log = take_log();
  const std::string text = "'dst' is host memory where device memory is needed";
  EXPECT_TRUE(contains(log, text)) << log;
  EXPECT_FALSE(contains(log.substr(log.find(text) + 1), text)) << "said twice: " << log;
}

TEST_F(AclMemory, AnyContextFrees) {
  void* const block = allocate(kBytes);
  aclrtContext other = nullptr;
  ASSERT_EQ(aclrtCreateContext(&other, 0), ACL_SUCCESS) << recent();
  EXPECT_EQ(used(), 0U);  // a pool of its own
  void* const second = allocate(kBytes);
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclrtDestroyContext(other), ACL_SUCCESS) << recent();
  EXPECT_TRUE(contains(take_log(), "block of context 1, 1 MiB")) << "what is left is said";
  EXPECT_EQ(aclrtMemset(second, kBytes, 1, kBytes), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclrtFree(second), ACL_SUCCESS) << recent();
}

TEST_F(AclMemory, InformationIsTrue) {
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
  EXPECT_EQ(total, std::size_t{1} << 30);
  const std::size_t free_before = free;
  char* const block = static_cast<char*>(allocate(kBytes));
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
  EXPECT_EQ(free_before - free, kBytes);
  EXPECT_EQ(aclrtGetMemInfo(ACL_DDR_MEM, &free, &total), ACL_SUCCESS);
  EXPECT_EQ(free + total, 0U);
  void* base = nullptr;
  std::size_t bytes = 0;
  EXPECT_EQ(aclrtMemGetAddressRange(block + 77, &base, &bytes), ACL_SUCCESS);
  EXPECT_EQ(base, block);
  EXPECT_EQ(bytes, kBytes);
  aclrtPtrAttributes attributes{};
  EXPECT_EQ(aclrtPointerGetAttributes(block, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(aclrtPointerGetAttributes(&attributes, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
  aclrtMemUsageInfo usage[4] = {};
  std::size_t count = 0;
  EXPECT_EQ(aclrtGetMemUsageInfo(0, usage, 4, &count), ACL_SUCCESS);
  ASSERT_EQ(count, 1U);
  EXPECT_STREQ(usage[0].name, "default context of device 0");
  EXPECT_EQ(usage[0].curMemSize, kBytes);
  EXPECT_EQ(usage[0].memPeakSize, kBytes);
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
}

}  // namespace
}  // namespace cistern::test
