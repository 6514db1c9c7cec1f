// A program that lets its memory sleep, as servers of large models do: contents to the host, pages back to the device,
// addresses kept; and later the same addresses with new pages and the old contents. C++11.
#include <cstdio>
#include <cstdlib>
#include <vector>

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

struct Tensor {
  void* address;
  size_t bytes;
  aclrtDrvMemHandle pages;
  std::vector<char> asleep;
};

void attach(Tensor& tensor, aclrtPhysicalMemProp wanted) {
  MUST(aclrtMallocPhysical(&tensor.pages, tensor.bytes, &wanted, 0));
  MUST(aclrtMapMem(tensor.address, tensor.bytes, 0, tensor.pages, 0));
}

void detach(Tensor& tensor) {
  MUST(aclrtUnmapMem(tensor.address));
  MUST(aclrtFreePhysical(tensor.pages));
}

size_t free_bytes() {
  size_t free_now = 0;
  size_t total = 0;
  MUST(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
  return free_now;
}

}  // namespace

int main() {
  MUST(aclInit(nullptr));
  aclrtContext context = nullptr;
  MUST(aclrtCreateContext(&context, 0));
  MUST(aclrtSetCurrentContext(context));
  aclrtPhysicalMemProp wanted = {};
  wanted.memAttr = ACL_HBM_MEM_HUGE;
  wanted.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  size_t granularity = 0;
  MUST(aclrtMemGetAllocationGranularity(&wanted, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &granularity));

  const size_t free_at_first = free_bytes();
  std::vector<Tensor> tensors(5);
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].bytes = (i + 1) * granularity;
    MUST(aclrtReserveMemAddress(&tensors[i].address, tensors[i].bytes, 0, nullptr, 1));
    attach(tensors[i], wanted);
    MUST(aclrtMemset(tensors[i].address, tensors[i].bytes, static_cast<int>(i + 65), tensors[i].bytes));
  }
  for (Tensor& tensor : tensors) {  // to sleep
    tensor.asleep.resize(tensor.bytes);
    MUST(aclrtMemcpy(tensor.asleep.data(), tensor.bytes, tensor.address, tensor.bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    detach(tensor);
  }
  if (free_bytes() != free_at_first) return 2;
  for (size_t i = tensors.size(); i-- > 0;) {  // awake, in another order
    Tensor& tensor = tensors[i];
    attach(tensor, wanted);
    MUST(aclrtMemcpy(tensor.address, tensor.bytes, tensor.asleep.data(), tensor.bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    char seen = 0;
    const char* const last = static_cast<const char*>(tensors[i].address) + tensors[i].bytes - 1;
    MUST(aclrtMemcpy(&seen, 1, last, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    if (seen != static_cast<char>(i + 65)) return 3;
    detach(tensors[i]);
    MUST(aclrtReleaseMemAddress(tensors[i].address));
  }
  MUST(aclrtDestroyContext(context));
  MUST(aclFinalize());
  std::puts("awake again");
  return 0;
}
