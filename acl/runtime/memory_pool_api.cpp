// Pools of the program's own, in the order of streams; and allocators of the program's own, which are refused.
#include <string>

#include "acl/acl_rt.h"
#include "acl/runtime/memory.hpp"
#include "acl/runtime/memory_pool.hpp"

using namespace cistern::acl;

namespace {

// Calls action(MemoryPool&, Runtime&) -> Outcome.
template <typename Action>
aclError enter_pool(std::string_view function, aclrtMemPool handle, const Action& action) noexcept {
  return enter_running(function, [&](Runtime& runtime) -> Outcome {
    const std::shared_ptr<MemoryPool> pool = memory_pools().find(handle);
    return pool == nullptr ? memory_pools().explain(handle) : action(*pool, runtime);
  });
}

Outcome set_reuse(std::uint32_t wanted, std::uint32_t fixed, const char* what) {
  if (wanted == fixed) return {};
  return unsupported(std::string(what) + (fixed == 0 ? " cannot be switched on" : " cannot be switched off"));
}

Outcome set_attribute(MemoryPool& pool, aclrtMemPoolAttr attr, const void* value) {
  switch (attr) {
    case ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return set_reuse(*static_cast<const std::uint32_t*>(value), 1, "reuse that follows events");
    case ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC:
      return set_reuse(*static_cast<const std::uint32_t*>(value), 1, "reuse of what is complete");
    case ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return set_reuse(*static_cast<const std::uint32_t*>(value), 0, "reuse that makes a stream wait");
    case ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD:
      pool.release_threshold = *static_cast<const std::uint64_t*>(value);
      return {};
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH:
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH:
      if (*static_cast<const std::uint64_t*>(value) != 0) return invalid_runtime_parameter("only 0 can be set");
      return outcome_of_call(cistern_reset_peaks(pool.pool->handle()));
    default:
      return invalid_runtime_parameter("attribute " + std::to_string(attr) + " cannot be set");
  }
}

Outcome get_attribute(const MemoryPool& pool, aclrtMemPoolAttr attr, void* value) {
  cistern_ledger_t ledger{};
  ledger.struct_size = sizeof ledger;
  if (Outcome failed = outcome_of_call(cistern_get_ledger(pool.pool->handle(), &ledger)); !failed.is_ok()) {
    return failed;
  }
  auto* const wide = static_cast<std::uint64_t*>(value);
  switch (attr) {
    case ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC:
      *static_cast<std::uint32_t*>(value) = 1;
      return {};
    case ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *static_cast<std::uint32_t*>(value) = 0;
      return {};
    case ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD:
      *wide = pool.release_threshold;
      return {};
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT:
      *wide = ledger.reserved_bytes;
      return {};
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH:
      *wide = ledger.peak_reserved_bytes;
      return {};
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT:
      *wide = ledger.allocated_bytes;
      return {};
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH:
      *wide = ledger.peak_allocated_bytes;
      return {};
    default:
      return invalid_runtime_parameter("attribute " + std::to_string(attr) + " is not one of 1 to 8");
  }
}

Outcome check_properties(const aclrtMemPoolProps& props, const Npu& npu) {
  if (props.allocType != ACL_MEM_ALLOCATION_TYPE_PINNED || props.handleType != ACL_MEM_HANDLE_TYPE_NONE) {
    return unsupported("a memory pool of another allocation or handle type than 0");
  }
  if (props.location.type != ACL_MEM_LOCATION_TYPE_DEVICE) return unsupported("a memory pool outside a device");
  if (props.location.id == npu.ordinal()) return {};
  return {ACL_ERROR_RT_INVALID_DEVICEID,
          "device " + std::to_string(props.location.id) + " is not the current context's"};
}

Outcome no_allocators() {
  return unsupported("models of this library take their memory from their context's pool; no other allocator is asked");
}

}  // namespace

aclError aclrtMemPoolCreate(aclrtMemPool* memPool, const aclrtMemPoolProps* poolProps) {
  const void* const caller = __builtin_return_address(0);
  return enter_context("aclrtMemPoolCreate", [&](Runtime&, const Context& context) -> Outcome {
    if (memPool == nullptr || poolProps == nullptr) return invalid_parameter("an argument is NULL");
    if (Outcome wrong = check_properties(*poolProps, *context.npu); !wrong.is_ok()) return wrong;
    static std::atomic<std::uint64_t> made{0};
    auto pool = std::make_shared<MemoryPool>();
    pool->caller = caller;
    const std::string name = "memory pool " + std::to_string(++made);
    if (Outcome failed = DevicePool::create(context.npu, name, poolProps->maxSize, &pool->pool); !failed.is_ok()) {
      return failed;
    }
    *memPool = memory_pools().issue(std::move(pool));
    return {};
  });
}

aclError aclrtMemPoolDestroy(aclrtMemPool memPool) {
  return enter_running("aclrtMemPoolDestroy", [&](const Runtime& runtime) -> Outcome {
    const std::shared_ptr<MemoryPool> pool = memory_pools().withdraw(memPool);
    if (pool == nullptr) return memory_pools().explain(memPool);
    std::vector<LeftItem> items;
    for (const Block& block : runtime.blocks.select([&](const Block& each) { return each.pool == pool->pool; })) {
      items.push_back({"block of " + pool->pool->name(), block.bytes, block.caller});
    }
    const std::string text = describe_left_behind("aclrtMemPoolDestroy", items);
    if (!text.empty()) log(cistern::base::LogLevel::warning, text + "\n  what is left can still be used and freed");
    return {};
  });
}

aclError aclrtMemPoolSetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void* value) {
  return enter_pool("aclrtMemPoolSetAttr", memPool, [&](MemoryPool& pool, Runtime&) -> Outcome {
    return value == nullptr ? invalid_parameter("'value' is NULL") : set_attribute(pool, attr, value);
  });
}

aclError aclrtMemPoolGetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void* value) {
  return enter_pool("aclrtMemPoolGetAttr", memPool, [&](const MemoryPool& pool, Runtime&) -> Outcome {
    return value == nullptr ? invalid_parameter("'value' is NULL") : get_attribute(pool, attr, value);
  });
}

aclError aclrtMemPoolMallocAsync(void** ptr, size_t size, aclrtMemPool memPool, aclrtStream stream) {
  const void* const caller = __builtin_return_address(0);
  return enter_pool("aclrtMemPoolMallocAsync", memPool, [&](const MemoryPool& pool, Runtime& runtime) -> Outcome {
    std::shared_ptr<Stream> found;
    if (Outcome wrong = runtime.find_stream(stream, &found); !wrong.is_ok()) return wrong;
    if (found->npu() != pool.pool->npu()) return invalid_runtime_parameter("the stream is of another device");
    Wish wish;
    wish.bytes = size;
    wish.stream = found->number();
    wish.caller = caller;
    return allocate(runtime, pool.pool, wish, ptr);
  });
}

aclError aclrtMemPoolFreeAsync(void* ptr, aclrtStream stream) {
  return enter_stream("aclrtMemPoolFreeAsync", stream, [&](Runtime& runtime, const Stream& found) {
    return release(runtime, ptr, BlockKind::device, found.number());
  });
}

aclError aclrtMemPoolTrimTo(aclrtMemPool memPool, size_t minBytesToKeep) {
  return enter_pool("aclrtMemPoolTrimTo", memPool, [&](const MemoryPool& pool, Runtime&) {
    return outcome_of_call(cistern_trim(pool.pool->handle(), minBytesToKeep, nullptr));
  });
}

// --- Allocators of the program's own -------------------------------------------------------------

aclrtAllocatorDesc aclrtAllocatorCreateDesc(void) {
  static_cast<void>(enter("aclrtAllocatorCreateDesc", [] { return no_allocators(); }));
  return nullptr;
}

aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc) {
  return enter("aclrtAllocatorDestroyDesc", [] { return no_allocators(); });
}

aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc, aclrtAllocator) {
  return enter("aclrtAllocatorSetObjToDesc", [] { return no_allocators(); });
}

aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc, aclrtAllocatorAllocFunc) {
  return enter("aclrtAllocatorSetAllocFuncToDesc", [] { return no_allocators(); });
}

aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc, aclrtAllocatorFreeFunc) {
  return enter("aclrtAllocatorSetFreeFuncToDesc", [] { return no_allocators(); });
}

aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc, aclrtAllocatorAllocAdviseFunc) {
  return enter("aclrtAllocatorSetAllocAdviseFuncToDesc", [] { return no_allocators(); });
}

aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc, aclrtAllocatorGetAddrFromBlockFunc) {
  return enter("aclrtAllocatorSetGetAddrFromBlockFuncToDesc", [] { return no_allocators(); });
}

aclError aclrtAllocatorRegister(aclrtStream, aclrtAllocatorDesc) {
  return enter("aclrtAllocatorRegister", [] { return no_allocators(); });
}

aclError aclrtAllocatorGetByStream(aclrtStream, aclrtAllocatorDesc*, aclrtAllocator*, aclrtAllocatorAllocFunc*,
                                   aclrtAllocatorFreeFunc*, aclrtAllocatorAllocAdviseFunc*,
                                   aclrtAllocatorGetAddrFromBlockFunc*) {
  return enter("aclrtAllocatorGetByStream", [] { return no_allocators(); });
}

aclError aclrtAllocatorUnregister(aclrtStream) {
  return enter("aclrtAllocatorUnregister", [] { return no_allocators(); });
}
