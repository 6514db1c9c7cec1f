// Reservations, physical memory, mappings; pools of the program's own; allocators of the program's own, refused.
#include "acl/acl_rt.h"
#include "acl/runtime/memory.hpp"
#include "acl/runtime/memory_pool.hpp"
#include "acl/runtime/virtual_memory.hpp"

using namespace cistern::acl;

namespace {

constexpr std::uint64_t kHugePageFlag = 1;

Outcome check_granularity(std::uint64_t bytes) {
  if (bytes == 0) return invalid_parameter("a size of 0 bytes");
  if (bytes % kGranularityBytes == 0) return {};
  return invalid_runtime_parameter(std::to_string(bytes) + " bytes are no multiple of 2 MiB, the granularity");
}

Outcome check_flags(std::uint64_t flags) {
  if (flags <= kHugePageFlag) return {};
  return invalid_runtime_parameter("flags " + std::to_string(flags) + " are not 0 or 1");
}

Outcome check_location(const aclrtMemLocation& location, const Npu& npu) {
  if (location.type != ACL_MEM_LOCATION_TYPE_DEVICE) return unsupported("memory in another place than a device");
  if (location.id == npu.ordinal()) return {};
  return {ACL_ERROR_RT_INVALID_DEVICEID,
          "device " + std::to_string(location.id) + " is not the current context's, " + std::to_string(npu.ordinal())};
}

Outcome read_access(const aclrtMemAccessDesc& wanted, const Npu& npu, cistern::device::Access* access) {
  if (Outcome wrong = check_location(wanted.location, npu); !wrong.is_ok()) return wrong;
  if (wanted.flags == ACL_RT_MEM_ACCESS_FLAGS_NONE) {
    *access = cistern::device::Access::none;
  } else if (wanted.flags == ACL_RT_MEM_ACCESS_FLAGS_READWRITE) {
    *access = cistern::device::Access::read_write;
  } else {
    return unsupported("access " + std::to_string(wanted.flags) + "; there are 0 (none) and 3 (read and write)");
  }
  return {};
}

}  // namespace

aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr, uint64_t flags) {
  const void* const caller = __builtin_return_address(0);
  return enter_context("aclrtReserveMemAddress", [&](Runtime&, const Context& context) -> Outcome {
    if (virPtr == nullptr) return invalid_parameter("'virPtr' is NULL");
    if (Outcome wrong = check_granularity(size); !wrong.is_ok()) return wrong;
    if (Outcome wrong = check_flags(flags); !wrong.is_ok()) return wrong;
    if (alignment != 0) return invalid_runtime_parameter("'alignment' is reserved and must be 0");
    if (expectPtr != nullptr) return unsupported("a reservation at an address of the caller's choice");
    return virtual_memory().reserve(context.npu, size, caller, virPtr);
  });
}

aclError aclrtReleaseMemAddress(void* virPtr) {
  return enter_running("aclrtReleaseMemAddress", [&](Runtime&) { return virtual_memory().release(virPtr); });
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp* prop, uint64_t flags) {
  const void* const caller = __builtin_return_address(0);
  return enter_context("aclrtMallocPhysical", [&](Runtime&, const Context& context) -> Outcome {
    if (handle == nullptr || prop == nullptr) return invalid_parameter("an argument is NULL");
    if (Outcome wrong = check_granularity(size); !wrong.is_ok()) return wrong;
    if (Outcome wrong = check_flags(flags); !wrong.is_ok()) return wrong;
    if (Outcome wrong = check_location(prop->location, *context.npu); !wrong.is_ok()) return wrong;
    std::shared_ptr<PhysicalMemory> memory;
    Outcome created = PhysicalMemory::create(context.npu, size, caller, &memory);
    if (created.is_ok()) *handle = physical_memory().issue(std::move(memory));
    return created;
  });
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  return enter_running("aclrtFreePhysical", [&](Runtime&) -> Outcome {
    return physical_memory().withdraw(handle) == nullptr ? physical_memory().explain(handle) : Outcome();
  });
}

aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
  const void* const caller = __builtin_return_address(0);
  return enter_running("aclrtMapMem", [&](Runtime&) -> Outcome {
    if (Outcome wrong = check_flags(flags); !wrong.is_ok()) return wrong;
    if (offset != 0) return invalid_runtime_parameter("'offset' must be 0: a handle is mapped whole");
    const std::shared_ptr<PhysicalMemory> memory = physical_memory().find(handle);
    if (memory == nullptr) return physical_memory().explain(handle);
    return virtual_memory().map(virPtr, size, memory, caller);
  });
}

aclError aclrtUnmapMem(void* virPtr) {
  return enter_running("aclrtUnmapMem", [&](Runtime&) { return virtual_memory().unmap(virPtr); });
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop, aclrtMemGranularityOptions option,
                                          size_t* granularity) {
  return enter_running("aclrtMemGetAllocationGranularity", [&](const Runtime&) -> Outcome {
    if (prop == nullptr || granularity == nullptr) return invalid_parameter("an argument is NULL");
    if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM && option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
      return invalid_runtime_parameter("option " + std::to_string(option) + " is not 0 or 1");
    }
    *granularity = kGranularityBytes;
    return {};
  });
}

aclError aclrtMemSetAccess(void* virPtr, size_t size, aclrtMemAccessDesc* desc, size_t count) {
  return enter_context("aclrtMemSetAccess", [&](Runtime&, const Context& context) -> Outcome {
    if (desc == nullptr || count == 0) return invalid_parameter("there is no description of access");
    cistern::device::Access access{};
    for (std::size_t i = 0; i < count; ++i) {
      if (Outcome wrong = read_access(desc[i], *context.npu, &access); !wrong.is_ok()) return wrong;
    }
    return virtual_memory().set_access(virPtr, size, access);
  });
}

aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle, aclrtMemHandleType, uint64_t, uint64_t*) {
  return enter("aclrtMemExportToShareableHandle",
               [] { return unsupported("the simulated NPU is known to this process only; nothing can be shared"); });
}

aclError aclrtMemImportFromShareableHandle(uint64_t, int32_t, aclrtDrvMemHandle*) {
  return enter("aclrtMemImportFromShareableHandle",
               [] { return unsupported("the simulated NPU is known to this process only; nothing can be shared"); });
}
