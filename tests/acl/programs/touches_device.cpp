// A program with two mistakes that a real NPU does not forgive: it gives back nothing of what forget_this() allocates,
// and with an argument it reads device memory on the host.
#include <cstdio>

#include "acl/acl.h"

extern "C" __attribute__((noinline)) void* forget_this(size_t bytes) {
  void* block = nullptr;
  const aclError code = aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  if (code != ACL_SUCCESS) std::fprintf(stderr, "%d: %s\n", code, aclGetRecentErrMsg());
  return block;
}

extern "C" __attribute__((noinline)) int touch_this(const void* block) { return *static_cast<const char*>(block); }

int main(int argc, char**) {
  if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
  char* const block = static_cast<char*>(forget_this(5000));
  char host[16] = {};
  const aclError code = aclrtMemcpy(host, sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE);
  std::printf("copy to the host as if it were the device: %d\n", code);
  std::fflush(stdout);
  if (argc > 1) std::printf("touched: %d\n", touch_this(block + 1234));
  aclFinalize();
  return 0;
}
