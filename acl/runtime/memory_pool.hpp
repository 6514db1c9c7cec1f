// MemoryPool: a pool of the program's own (aclrtMemPool), whose blocks come and go in the order of streams.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "acl/runtime/runtime.hpp"

namespace cistern::acl {

struct MemoryPool {
  std::shared_ptr<DevicePool> pool;
  const void* caller = nullptr;
  // What stays reserved when a stream is synchronised.
  std::atomic<std::uint64_t> release_threshold{0};
};

Handles<MemoryPool>& memory_pools();
// A stream of that device was synchronised: pools give back what is free above their thresholds.
void trim_memory_pools(const Npu& npu);
// A stream is about to end.
void forget_in_memory_pools(const Stream& stream);

std::unique_ptr<Inventory> memory_pool_inventory();

}  // namespace cistern::acl
