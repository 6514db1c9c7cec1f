// Virtual memory and pools of the program's own, through the AscendCL library.
#include <cstring>
#include <vector>

#include "acl/acl_fixture.hpp"

namespace cistern::test {
namespace {

constexpr std::size_t kPage = 2 << 20;

class AclVirtualMemory : public Acl {
 protected:
  static aclrtPhysicalMemProp properties() {
    aclrtPhysicalMemProp wanted{};
    wanted.memAttr = ACL_HBM_MEM_HUGE;
    wanted.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    return wanted;
  }
  static std::size_t free_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
    return free;
  }
};

TEST_F(AclVirtualMemory, MappedMemoryIsMemory) {
  aclrtPhysicalMemProp wanted = properties();
  std::size_t granularity = 0;
  EXPECT_EQ(aclrtMemGetAllocationGranularity(&wanted, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity), ACL_SUCCESS);
  EXPECT_EQ(granularity, kPage);
  const std::size_t free_before = free_bytes();
  void* base = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&base, 8 * kPage, 0, nullptr, 1), ACL_SUCCESS) << recent();
  aclrtDrvMemHandle handle = nullptr;
  ASSERT_EQ(aclrtMallocPhysical(&handle, 2 * kPage, &wanted, 0), ACL_SUCCESS) << recent();
  EXPECT_EQ(free_before - free_bytes(), 2 * kPage);
  char* const at = static_cast<char*>(base) + 3 * kPage;
  ASSERT_EQ(aclrtMapMem(at, 2 * kPage, 0, handle, 0), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclrtMapMem(at, 2 * kPage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID);
  std::vector<char> sent(kPage, 'm');
  std::vector<char> received(kPage);
  EXPECT_EQ(aclrtMemcpy(at + kPage / 2, kPage, sent.data(), kPage, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclrtMemcpy(received.data(), kPage, at + kPage / 2, kPage, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(sent, received);
  EXPECT_EQ(aclrtFree(at), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(contains(recent(), "by aclrtUnmapMem(), not by aclrtFree()")) << recent();
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_ERROR_RT_PARAM_INVALID);

  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);  // when it is unmapped
  EXPECT_EQ(free_before - free_bytes(), 2 * kPage);
  EXPECT_EQ(aclrtUnmapMem(at), ACL_SUCCESS) << recent();
  EXPECT_EQ(free_bytes(), free_before);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS) << recent();
}

TEST_F(AclVirtualMemory, ContentsOutliveTheirAddress) {
  aclrtPhysicalMemProp wanted = properties();
  void* base = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&base, 4 * kPage, 0, nullptr, 0), ACL_SUCCESS);
  char* const first = static_cast<char*>(base);
  aclrtDrvMemHandle handle = nullptr;
  ASSERT_EQ(aclrtMallocPhysical(&handle, kPage, &wanted, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(first, kPage, 0, handle, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemset(first, kPage, 'k', kPage), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnmapMem(first), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(first + 2 * kPage, kPage, 0, handle, 0), ACL_SUCCESS) << recent();
  char last = 0;
  EXPECT_EQ(aclrtMemcpy(&last, 1, first + 3 * kPage - 1, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS) << recent();
  EXPECT_EQ(last, 'k');
  aclrtMemAccessDesc access{};
  access.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  access.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_EQ(aclrtMemSetAccess(first + 2 * kPage, kPage, &access, 1), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclrtMemSetAccess(first, kPage, &access, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtUnmapMem(first + 2 * kPage), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
}

TEST_F(AclVirtualMemory, WhatIsWrongIsRefused) {
  aclrtPhysicalMemProp wanted = properties();
  void* base = nullptr;
  EXPECT_EQ(aclrtReserveMemAddress(&base, kPage + 1, 0, nullptr, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtReserveMemAddress(&base, kPage, 64, nullptr, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtReserveMemAddress(&base, kPage, 0, nullptr, 2), ACL_ERROR_RT_PARAM_INVALID);
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_EQ(aclrtMallocPhysical(&handle, std::size_t{2} << 30, &wanted, 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
  ASSERT_EQ(aclrtMallocPhysical(&handle, kPage, &wanted, 0), ACL_SUCCESS) << "a refusal must leave nothing behind";
  char here[8] = {};
  EXPECT_EQ(aclrtMapMem(here, kPage, 0, handle, 0), ACL_ERROR_RT_ADDR_UNALIGNED);
  ASSERT_EQ(aclrtReserveMemAddress(&base, kPage, 0, nullptr, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtMapMem(static_cast<char*>(base) + kPage, kPage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMapMem(base, kPage, 512, handle, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMapMem(base, 2 * kPage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID);
  wanted.location.id = 1;
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPage, &wanted, 0), ACL_ERROR_RT_INVALID_DEVICEID);
  take_log();
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);  // reports, and gives back what is left
  const std::string log = take_log();
  EXPECT_TRUE(contains(log, "physical memory, 2 MiB") && contains(log, "reserved addresses, 2 MiB")) << log;
}

TEST_F(AclVirtualMemory, PoolsOfTheProgramFollowStreams) {
  aclrtMemPoolProps wanted{};
  wanted.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  wanted.maxSize = 64 * kPage;
  aclrtMemPool pool = nullptr;
  ASSERT_EQ(aclrtMemPoolCreate(&pool, &wanted), ACL_SUCCESS) << recent();
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  std::uint64_t threshold = 4 * kPage;
  EXPECT_EQ(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold), ACL_SUCCESS);
  void* block = nullptr;
  ASSERT_EQ(aclrtMemPoolMallocAsync(&block, 16 * kPage, pool, stream), ACL_SUCCESS) << recent();
  std::uint64_t bytes = 0;
  EXPECT_EQ(aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, &bytes), ACL_SUCCESS);
  EXPECT_EQ(bytes, 16 * kPage);
  EXPECT_EQ(aclrtMemPoolFreeAsync(block, stream), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, &bytes), ACL_SUCCESS);
  EXPECT_LE(bytes, threshold);
  EXPECT_EQ(aclrtMemPoolTrimTo(pool, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, &bytes), ACL_SUCCESS);
  EXPECT_EQ(bytes, 0U);
  EXPECT_EQ(aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &bytes), ACL_SUCCESS);
  EXPECT_EQ(bytes, 16 * kPage);
  bytes = 0;
  EXPECT_EQ(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &bytes), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &bytes), ACL_SUCCESS);
  EXPECT_EQ(bytes, 0U);
  std::uint32_t flag = 0;
  EXPECT_EQ(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC, &flag),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &flag), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemPoolMallocAsync(&block, 65 * kPage, pool, stream), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_TRUE(contains(recent(), "memory pool ")) << recent();
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemPoolDestroy(pool), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemPoolDestroy(pool), ACL_ERROR_RT_INVALID_HANDLE);
}

}  // namespace
}  // namespace cistern::test
