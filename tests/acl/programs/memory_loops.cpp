// A program for Ascend in the old style (C++11): allocate, set, copy and free in loops, with and without reusing the
// blocks, copies at once and in a stream; the device's free memory is printed before and after.
// usage: memory_loops BYTES CYCLES REUSE(0|1) [async]
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "acl/acl.h"

#define MUST(call)                                                             \
  do {                                                                         \
    const aclError code = (call);                                              \
    if (code != ACL_SUCCESS) {                                                 \
      std::fprintf(stderr, "%s: %d, %s\n", #call, code, aclGetRecentErrMsg()); \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)

namespace {

struct Blocks {
  void* host;
  void* device;
};

void make(Blocks& blocks, size_t bytes) {
  MUST(aclrtMallocHost(&blocks.host, bytes));
  MUST(aclrtMalloc(&blocks.device, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
}

void drop(const Blocks& blocks) {
  MUST(aclrtFree(blocks.device));
  MUST(aclrtFreeHost(blocks.host));
}

void there_and_back(const Blocks& blocks, size_t bytes, int value, aclrtStream stream) {
  std::memset(blocks.host, value, bytes);
  if (stream == nullptr) {
    MUST(aclrtMemset(blocks.device, bytes, 0, bytes));
    MUST(aclrtMemcpy(blocks.device, bytes, blocks.host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    std::memset(blocks.host, 0, bytes);
    MUST(aclrtMemcpy(blocks.host, bytes, blocks.device, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  } else {
    MUST(aclrtMemsetAsync(blocks.device, bytes, 0, bytes, stream));
    MUST(aclrtMemcpyAsync(blocks.device, bytes, blocks.host, bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    MUST(aclrtMemcpyAsync(blocks.host, bytes, blocks.device, bytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    MUST(aclrtSynchronizeStream(stream));
  }
  const unsigned char* const seen = static_cast<const unsigned char*>(blocks.host);
  if (seen[0] != value || seen[bytes - 1] != value) {
    std::fprintf(stderr, "cycle %d: what came back is not what was sent\n", value);
    std::exit(1);
  }
}

size_t print_free(const char* when) {
  size_t free_bytes = 0;
  size_t total = 0;
  MUST(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
  std::printf("%s: %zu of %zu bytes free\n", when, free_bytes, total);
  return free_bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const size_t bytes = std::strtoull(argv[1], nullptr, 10);
  const int cycles = std::atoi(argv[2]);
  const bool reuse = std::strcmp(argv[3], "1") == 0;
  const bool in_stream = argc > 4;

  MUST(aclInit(nullptr));
  MUST(aclrtSetDevice(0));
  aclrtContext context = nullptr;
  MUST(aclrtCreateContext(&context, 0));
  aclrtContext current = nullptr;
  MUST(aclrtGetCurrentContext(&current));
  aclrtRunMode mode = ACL_DEVICE;
  MUST(aclrtGetRunMode(&mode));
  if (mode != ACL_HOST || current != context) return 3;
  aclrtStream stream = nullptr;
  if (in_stream) MUST(aclrtCreateStream(&stream));

  const size_t before = print_free("before");
  Blocks blocks = {nullptr, nullptr};
  if (reuse) make(blocks, bytes);
  for (int cycle = 1; cycle <= cycles; ++cycle) {
    if (!reuse) make(blocks, bytes);
    there_and_back(blocks, bytes, cycle % 251, stream);
    if (!reuse) drop(blocks);
  }
  if (reuse) drop(blocks);
  const size_t after = print_free("after");

  if (in_stream) MUST(aclrtDestroyStream(stream));
  MUST(aclrtDestroyContext(context));
  MUST(aclrtResetDevice(0));
  MUST(aclFinalize());
  return before == after ? 0 : 4;
}
