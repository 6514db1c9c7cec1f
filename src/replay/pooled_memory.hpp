// PooledMemory: where the models of a run get memory from pools: one pool for all of them, or isolated, a context each.
//
// Contexts share the device and its pages. Each is promised its quota's minimum and never holds more than its maximum;
// what one does not use of the rest, others borrow. So no model can take what another was promised, and none finds
// another's tensors in its own memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "compact/scheduler.hpp"
#include "device/device.hpp"
#include "device/page_pool.hpp"
#include "engine/memory_source.hpp"
#include "pool/context.hpp"
#include "pool/observer.hpp"
#include "pool/pool.hpp"

namespace cistern::replay {

// What a model's context is promised, and the most it may hold; bytes. 0: no promise, no limit of its own.
struct ModelQuota {
  std::string model;
  std::uint64_t minimum_bytes = 0;
  std::uint64_t maximum_bytes = 0;
};

// "MODEL=MIN:MAX" with sizes as options have them; either may be left out: "det=64MiB:", "det=:1GiB".
base::Result<ModelQuota> parse_quota(std::string_view text);

// The name of the model in a file, which is that of its context.
std::string model_name_of(const std::string& path);

// Who is told of what happens in a pool, given its name and the device's; may be empty, and may give nobody.
using ObserverMaker = std::function<std::shared_ptr<pool::Observer>(std::string_view pool, std::string_view device)>;

struct PooledMemory {
  std::shared_ptr<device::Device> device;
  std::shared_ptr<device::PagePool> pages;     // outlives the pools
  std::shared_ptr<pool::ContextSet> contexts;  // null: not isolated
  std::vector<std::shared_ptr<pool::Pool>> pools;
  std::vector<std::shared_ptr<compact::Scheduler>> schedulers;  // those that were asked for

  // One source a model: all of one pool, or each of its own.
  std::vector<std::shared_ptr<engine::MemorySource>> sources;
};

struct PooledMemoryPlan {
  pool::PoolOptions pool;  // of each
  std::vector<std::string> model_paths;
  bool isolate = false;
  std::vector<ModelQuota> quotas;
  ObserverMaker observe;
};

// Errors name the context and say what to do: quotas of unknown models, minima that the device does not have.
base::Result<PooledMemory> open_pooled_memory(std::shared_ptr<device::Device> device, const PooledMemoryPlan& plan);

}  // namespace cistern::replay
