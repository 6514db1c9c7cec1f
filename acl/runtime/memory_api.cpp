// Allocation, set and copy of the interface: arguments are checked here, the work is in memory.hpp and copies.hpp.
#include <string>

#include "acl/acl_rt.h"
#include "acl/runtime/copies.hpp"
#include "acl/runtime/memory.hpp"

using namespace cistern::acl;

namespace {

Outcome read_config(const aclrtMallocConfig* config, std::string* tag) {
  if (config == nullptr || config->numAttrs == 0) return {};
  if (config->attrs == nullptr) return invalid_parameter("'cfg' has attributes, but 'attrs' is NULL");
  for (std::size_t i = 0; i < config->numAttrs; ++i) {
    const aclrtMallocAttribute& attribute = config->attrs[i];
    switch (attribute.attr) {
      case ACL_RT_MEM_ATTR_RSV:
        break;
      case ACL_RT_MEM_ATTR_MODULE_ID:
        *tag = "module " + std::to_string(attribute.value.moduleId);
        break;
      default:
        return unsupported("attribute " + std::to_string(attribute.attr) + " of 'cfg'; known are 0 and 1 (module)");
    }
  }
  return {};
}

aclError allocate_on_device(std::string_view function, void** place, std::size_t bytes, const aclrtMallocConfig* config,
                            const void* caller) {
  return enter_context(function, [&](Runtime& runtime, const Context& context) -> Outcome {
    Wish wish;
    wish.bytes = bytes;
    wish.caller = caller;
    if (Outcome wrong = read_config(config, &wish.tag); !wrong.is_ok()) return wrong;
    return allocate(runtime, context.pool, wish, place);
  });
}

aclError allocate_on_host(std::string_view function, void** place, std::uint64_t bytes, const aclrtMallocConfig* config,
                          const void* caller) {
  return enter_running(function, [&](Runtime& runtime) -> Outcome {
    Wish wish;
    wish.bytes = bytes;
    wish.caller = caller;
    if (Outcome wrong = read_config(config, &wish.tag); !wrong.is_ok()) return wrong;
    std::shared_ptr<DevicePool> pool;
    if (Outcome wrong = runtime.host_pool(&pool); !wrong.is_ok()) return wrong;
    return allocate(runtime, pool, wish, place);
  });
}

Outcome check_count(std::size_t room, std::size_t count) {
  if (count <= room) return {};
  return invalid_runtime_parameter(std::to_string(count) + " bytes where the destination has room for " +
                                   std::to_string(room));
}

Outcome plan_flat_copy(Runtime& runtime, void* dst, std::size_t room, const void* src, std::size_t count,
                       aclrtMemcpyKind kind, const void* caller, Copy* copy) {
  if (Outcome wrong = check_count(room, count); !wrong.is_ok()) return wrong;
  return plan_copy(runtime, dst, src, {.width = count, .height = 1, .to_pitch = 0, .from_pitch = 0}, kind, caller,
                   copy);
}

Outcome plan_rows(Runtime& runtime, void* dst, const void* src, const CopyShape& shape, aclrtMemcpyKind kind,
                  const void* caller, Copy* copy) {
  if (shape.width > shape.to_pitch || shape.width > shape.from_pitch) {
    return invalid_runtime_parameter("rows of " + std::to_string(shape.width) + " bytes, but pitches of " +
                                     std::to_string(shape.to_pitch) + " and " + std::to_string(shape.from_pitch));
  }
  return plan_copy(runtime, dst, src, shape, kind, caller, copy);
}

Outcome plan_fill(Runtime& runtime, void* at, std::size_t room, std::size_t count, const void* caller, Range* range) {
  if (count == 0) return invalid_parameter("a size of 0 bytes");
  if (Outcome wrong = check_count(room, count); !wrong.is_ok()) return wrong;
  if (Outcome wrong = locate(runtime, "devPtr", at, count, range); !wrong.is_ok()) return wrong;
  return check_side(runtime, *range, true, caller);
}

}  // namespace

// --- Allocation ----------------------------------------------------------------------------------

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return allocate_on_device("aclrtMalloc", devPtr, size, nullptr, __builtin_return_address(0));
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return allocate_on_device("aclrtMallocAlign32", devPtr, size, nullptr, __builtin_return_address(0));
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return allocate_on_device("aclrtMallocCached", devPtr, size, nullptr, __builtin_return_address(0));
}

aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy, aclrtMallocConfig* cfg) {
  return allocate_on_device("aclrtMallocWithCfg", devPtr, size, cfg, __builtin_return_address(0));
}

aclError aclrtMallocForTaskScheduler(void** devPtr, size_t size, aclrtMemMallocPolicy, aclrtMallocConfig* cfg) {
  return allocate_on_device("aclrtMallocForTaskScheduler", devPtr, size, cfg, __builtin_return_address(0));
}

aclError aclrtFree(void* devPtr) {
  return enter_running("aclrtFree",
                       [&](Runtime& runtime) { return release(runtime, devPtr, BlockKind::device, std::nullopt); });
}

aclError aclrtFreeWithDevSync(void* devPtr) {
  return enter_running("aclrtFreeWithDevSync", [&](Runtime& runtime) -> Outcome {
    const auto block = runtime.blocks.find(reinterpret_cast<std::uintptr_t>(devPtr));
    if (block && block->npu != nullptr) {
      const cistern::base::Status waited = block->npu->device().wait_device();
      if (!waited.is_ok()) return outcome_of(waited);
    }
    return release(runtime, devPtr, BlockKind::device, std::nullopt);
  });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return allocate_on_host("aclrtMallocHost", hostPtr, size, nullptr, __builtin_return_address(0));
}

aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
  return allocate_on_host("aclrtMallocHostWithCfg", ptr, size, cfg, __builtin_return_address(0));
}

aclError aclrtFreeHost(void* hostPtr) {
  return enter_running("aclrtFreeHost",
                       [&](Runtime& runtime) { return release(runtime, hostPtr, BlockKind::host, std::nullopt); });
}

// --- Set and copy --------------------------------------------------------------------------------

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  const void* const caller = __builtin_return_address(0);
  return enter_running("aclrtMemset", [&](Runtime& runtime) -> Outcome {
    Range range;
    Outcome wrong = plan_fill(runtime, devPtr, maxCount, count, caller, &range);
    return wrong.is_ok() ? fill(range, static_cast<std::uint8_t>(value)) : wrong;
  });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  const void* const caller = __builtin_return_address(0);
  return enter_stream("aclrtMemsetAsync", stream, [&](Runtime& runtime, Stream& found) -> Outcome {
    Range range;
    Outcome wrong = plan_fill(runtime, devPtr, maxCount, count, caller, &range);
    return wrong.is_ok() ? submit_fill(runtime, found, std::move(range), static_cast<std::uint8_t>(value)) : wrong;
  });
}

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  const void* const caller = __builtin_return_address(0);
  return enter_running("aclrtMemcpy", [&](Runtime& runtime) -> Outcome {
    Copy copy;
    Outcome wrong = plan_flat_copy(runtime, dst, destMax, src, count, kind, caller, &copy);
    return wrong.is_ok() ? perform(copy) : wrong;
  });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  const void* const caller = __builtin_return_address(0);
  return enter_stream("aclrtMemcpyAsync", stream, [&](Runtime& runtime, Stream& found) -> Outcome {
    Copy copy;
    Outcome wrong = plan_flat_copy(runtime, dst, destMax, src, count, kind, caller, &copy);
    return wrong.is_ok() ? submit(runtime, found, std::move(copy)) : wrong;
  });
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
  const void* const caller = __builtin_return_address(0);
  return enter_running("aclrtMemcpy2d", [&](Runtime& runtime) -> Outcome {
    Copy copy;
    Outcome wrong = plan_rows(runtime, dst, src, {width, height, dpitch, spitch}, kind, caller, &copy);
    return wrong.is_ok() ? perform(copy) : wrong;
  });
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream) {
  const void* const caller = __builtin_return_address(0);
  return enter_stream("aclrtMemcpy2dAsync", stream, [&](Runtime& runtime, Stream& found) -> Outcome {
    Copy copy;
    Outcome wrong = plan_rows(runtime, dst, src, {width, height, dpitch, spitch}, kind, caller, &copy);
    return wrong.is_ok() ? submit(runtime, found, std::move(copy)) : wrong;
  });
}
