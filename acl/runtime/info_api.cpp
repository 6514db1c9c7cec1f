// What memory there is, and where an address lies.
#include <algorithm>
#include <cstring>

#include "acl/acl_rt.h"
#include "acl/cistern_ext.h"
#include "acl/runtime/memory_pool.hpp"
#include "acl/runtime/virtual_memory.hpp"

using namespace cistern::acl;

namespace {

constexpr std::uint32_t kHostPageBytes = 4096;

Outcome read_ledger(const DevicePool& pool, cistern_ledger_t* ledger) {
  *ledger = {};
  ledger->struct_size = sizeof *ledger;
  return outcome_of_call(cistern_get_ledger(pool.handle(), ledger));
}

bool is_ddr(aclrtMemAttr attr) noexcept {
  return attr == ACL_DDR_MEM || attr == ACL_DDR_MEM_HUGE || attr == ACL_DDR_MEM_NORMAL ||
         attr == ACL_DDR_MEM_P2P_HUGE || attr == ACL_DDR_MEM_P2P_NORMAL;
}

// What the context could still allocate: holes of its pool, and the device's free memory up to the pool's limit.
Outcome allocatable(const Context& context, std::size_t* free, std::size_t* total) {
  cistern_memory_info_t memory{};
  memory.struct_size = sizeof memory;
  if (Outcome failed = outcome_of_call(cistern_device_memory(context.npu->handle(), &memory)); !failed.is_ok()) {
    return failed;
  }
  cistern_ledger_t ledger;
  if (Outcome failed = read_ledger(*context.pool, &ledger); !failed.is_ok()) return failed;
  const std::uint64_t growth =
      ledger.limit_bytes > ledger.reserved_bytes ? ledger.limit_bytes - ledger.reserved_bytes : 0;
  *free = ledger.free_bytes + std::min<std::uint64_t>(growth, memory.free_bytes);
  *total = memory.total_bytes;
  return {};
}

Outcome add_usage(const DevicePool& pool, aclrtMemUsageInfo* entry) {
  cistern_ledger_t ledger;
  if (Outcome failed = read_ledger(pool, &ledger); !failed.is_ok()) return failed;
  *entry = {};
  std::strncpy(entry->name, pool.name().c_str(), sizeof entry->name - 1);
  entry->curMemSize = ledger.allocated_bytes;
  entry->memPeakSize = ledger.peak_allocated_bytes;
  return {};
}

}  // namespace

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return enter_context("aclrtGetMemInfo", [&](const Runtime&, const Context& context) -> Outcome {
    if (free == nullptr || total == nullptr) return invalid_parameter("a place for the result is NULL");
    if (attr < ACL_DDR_MEM || attr > ACL_HBM_MEM_P2P_HUGE1G) {
      return invalid_runtime_parameter("attribute " + std::to_string(attr) + " is not one of 0 to 11");
    }
    if (!is_ddr(attr)) return allocatable(context, free, total);
    *free = 0;
    *total = 0;
    return {};
  });
}

aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* memUsageInfo, size_t inputNum, size_t* outputNum) {
  return enter_running("aclrtGetMemUsageInfo", [&](const Runtime& runtime) -> Outcome {
    if (memUsageInfo == nullptr || outputNum == nullptr || inputNum == 0) {
      return invalid_parameter("there is no place for the result");
    }
    std::vector<std::shared_ptr<DevicePool>> pools;
    const auto is_of = [&](const Npu& npu) { return static_cast<std::int64_t>(npu.ordinal()) == deviceId; };
    for (const auto& context : runtime.contexts.select([&](const Context& each) { return is_of(*each.npu); })) {
      pools.push_back(context->pool);
    }
    for (const auto& pool : memory_pools().select([&](const MemoryPool& each) { return is_of(*each.pool->npu()); })) {
      pools.push_back(pool->pool);
    }
    if (pools.empty()) {
      return {ACL_ERROR_RT_INVALID_DEVICEID, "device " + std::to_string(deviceId) + " is not in use"};
    }
    const std::size_t count = std::min(inputNum, pools.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (Outcome failed = add_usage(*pools[i], &memUsageInfo[i]); !failed.is_ok()) return failed;
    }
    *outputNum = count;
    return {};
  });
}

aclError aclrtMemGetAddressRange(void* ptr, void** pbase, size_t* psize) {
  return enter_running("aclrtMemGetAddressRange", [&](const Runtime& runtime) -> Outcome {
    const auto block = runtime.blocks.find(reinterpret_cast<std::uintptr_t>(ptr));
    if (!block) return invalid_runtime_parameter(hex(ptr) + " lies in no live block of this library");
    if (pbase != nullptr) *pbase = reinterpret_cast<void*>(static_cast<std::uintptr_t>(block->address));
    if (psize != nullptr) *psize = block->bytes;
    return {};
  });
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  return enter_running("aclrtPointerGetAttributes", [&](const Runtime& runtime) -> Outcome {
    if (ptr == nullptr || attributes == nullptr) return invalid_parameter("an argument is NULL");
    aclrtPtrAttributes found{};
    if (const auto block = runtime.blocks.find(reinterpret_cast<std::uintptr_t>(ptr))) {
      const bool on_device = block->npu != nullptr;
      found.location.type = on_device ? ACL_MEM_LOCATION_TYPE_DEVICE : ACL_MEM_LOCATION_TYPE_HOST;
      found.location.id = on_device ? block->npu->ordinal() : 0;
      found.pageSize = on_device ? static_cast<std::uint32_t>(kGranularityBytes) : kHostPageBytes;
    }
    *attributes = found;
    return {};
  });
}

aclError aclrtGetMemPoolInfo(size_t* total, size_t* used, size_t* free) {
  return enter_context("aclrtGetMemPoolInfo", [&](const Runtime&, const Context& context) -> Outcome {
    std::uint64_t sums[3] = {};
    const cistern_status_t status = cistern_get_mem_pool_info(context.pool->handle(), &sums[0], &sums[1], &sums[2]);
    if (status != CISTERN_OK) return outcome_of_call(status);
    std::size_t* const places[3] = {total, used, free};
    for (int i = 0; i < 3; ++i) {
      if (places[i] != nullptr) *places[i] = sums[i];
    }
    return {};
  });
}
