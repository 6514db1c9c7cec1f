#include "replay/pooled_memory.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "compact/stitcher.hpp"
#include "engine/pool_memory.hpp"

namespace cistern::replay {
namespace {

using base::Result;
using base::Status;

Result<std::uint64_t> part_of_quota(std::string_view text) {
  if (text.empty()) return std::uint64_t{0};
  return base::parse_bytes(text);
}

// Several contexts have as many last pages that are not full: theirs are smaller than those of one pool. (Three OCR
// networks, four streams: 1.10 of peak live with 2 MiB, 1.07 with 512 KiB.)
constexpr std::uint64_t kSmallerIsolated = 4;

// Pages of one size for all, where the pools have pages.
void choose_pages(const device::DeviceInfo& info, bool isolate, PooledMemory* memory, pool::PoolOptions* options) {
  if (options->growth != pool::Growth::expandable || !info.capabilities.pages) return;
  const std::uint64_t limit = options->limit_bytes != 0 ? options->limit_bytes : info.total_bytes;
  if (options->page_bytes == 0) {
    options->page_bytes = pool::choose_page_bytes(limit, info);
    if (isolate) options->page_bytes = std::max(options->page_bytes / kSmallerIsolated, info.min_page_bytes);
  }
  memory->pages = std::make_shared<device::PagePool>(*memory->device, options->page_bytes);
}

Result<std::shared_ptr<pool::Pool>> open_pool(const PooledMemoryPlan& plan, const pool::PoolOptions& options,
                                              PooledMemory* memory) {
  const device::DeviceInfo& info = memory->device->info();
  auto observer = plan.observe ? plan.observe(options.name, info.kind + ":" + std::to_string(info.ordinal)) : nullptr;
  auto made = pool::Pool::create(memory->device, memory->pages, options, compact::rescue_steps(options.on_miss),
                                 std::move(observer), memory->contexts);
  if (!made.is_ok()) return made.take_status();
  std::shared_ptr<pool::Pool> pool = made.take();
  memory->pools.push_back(pool);
  if (auto scheduler = compact::Scheduler::start(*pool)) memory->schedulers.push_back(std::move(scheduler));
  return pool;
}

Status check_quotas(const PooledMemoryPlan& plan) {
  std::set<std::string> models;
  for (const std::string& path : plan.model_paths) models.insert(model_name_of(path));
  std::set<std::string> seen;
  for (const ModelQuota& quota : plan.quotas) {
    if (models.count(quota.model) == 0) {
      return base::invalid_argument("--quota is for a model " + base::in_quotes(quota.model) +
                                    " that is not among the models given");
    }
    if (!seen.insert(quota.model).second) {
      return base::invalid_argument("--quota is given twice for " + base::in_quotes(quota.model));
    }
  }
  if (!plan.quotas.empty() && !plan.isolate) {
    return base::invalid_argument("--quota needs --isolate: models that share one pool have one limit");
  }
  return {};
}

Status open_contexts(const PooledMemoryPlan& plan, const pool::PoolOptions& options, PooledMemory* memory) {
  memory->contexts = std::make_shared<pool::ContextSet>(memory->device->info().total_bytes);
  const auto live = std::make_shared<engine::LiveBytes>();
  std::set<std::string> names;
  for (const std::string& path : plan.model_paths) {
    const std::string model = model_name_of(path);
    pool::PoolOptions own = options;
    own.name = model;
    for (int copy = 2; !names.insert(own.name).second; ++copy) own.name = model + "#" + std::to_string(copy);
    for (const ModelQuota& quota : plan.quotas) {
      if (quota.model != model) continue;
      own.minimum_bytes = quota.minimum_bytes;
      if (quota.maximum_bytes != 0) own.limit_bytes = quota.maximum_bytes;
    }
    auto pool = open_pool(plan, own, memory);
    if (!pool.is_ok()) return pool.take_status();
    memory->sources.push_back(std::make_shared<engine::PoolMemory>(pool.take()));
    memory->sources.back()->count_live_in(live);
  }
  return {};
}

}  // namespace

Result<ModelQuota> parse_quota(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::size_t colon = text.find(':', equals == std::string_view::npos ? 0 : equals);
  if (equals == 0 || equals == std::string_view::npos || colon == std::string_view::npos) {
    return base::invalid_argument(base::in_quotes(text) + " is not MODEL=MIN:MAX, such as detection=128MiB:1GiB");
  }
  ModelQuota quota;
  quota.model = std::string(text.substr(0, equals));
  auto minimum = part_of_quota(text.substr(equals + 1, colon - equals - 1));
  if (!minimum.is_ok()) return minimum.take_status();
  auto maximum = part_of_quota(text.substr(colon + 1));
  if (!maximum.is_ok()) return maximum.take_status();
  quota.minimum_bytes = minimum.value();
  quota.maximum_bytes = maximum.value();
  if (quota.maximum_bytes != 0 && quota.minimum_bytes > quota.maximum_bytes) {
    return base::invalid_argument(base::in_quotes(text) + " promises more than it allows");
  }
  return quota;
}

std::string model_name_of(const std::string& path) { return std::filesystem::path(path).stem().string(); }

Result<PooledMemory> open_pooled_memory(std::shared_ptr<device::Device> device, const PooledMemoryPlan& plan) {
  if (Status wrong = check_quotas(plan); !wrong.is_ok()) return wrong;
  PooledMemory memory;
  memory.device = std::move(device);
  pool::PoolOptions options = plan.pool;
  choose_pages(memory.device->info(), plan.isolate, &memory, &options);
  if (plan.isolate) {
    if (Status refused = open_contexts(plan, options, &memory); !refused.is_ok()) return refused;
    return memory;
  }
  options.name = "run";
  auto pool = open_pool(plan, options, &memory);
  if (!pool.is_ok()) return pool.take_status();
  const auto source = std::make_shared<engine::PoolMemory>(pool.take());
  memory.sources.assign(plan.model_paths.size(), source);
  return memory;
}

}  // namespace cistern::replay
