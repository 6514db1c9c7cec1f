#include "engine/pool_memory.hpp"

#include <utility>

namespace cistern::engine {

PoolMemory::PoolMemory(std::shared_ptr<pool::Pool> pool) noexcept : pool_(std::move(pool)), window_(pool_->device()) {}

void PoolMemory::admit(ModelContext& model) noexcept {
  model.labels[static_cast<std::size_t>(MemoryUse::weights)] = pool_->intern_tag("weights/" + model.name);
  model.labels[static_cast<std::size_t>(MemoryUse::activations)] = pool_->intern_tag("activations/" + model.name);
}

base::Result<void*> PoolMemory::allocate(std::size_t bytes, MemoryUse use, const ModelContext& model) noexcept {
  return serve(bytes, use, model, std::nullopt);
}

base::Result<void*> PoolMemory::allocate_on(device::StreamHandle stream, std::size_t bytes, MemoryUse use,
                                            const ModelContext& model) noexcept {
  return serve(bytes, use, model, stream);
}

base::Result<void*> PoolMemory::serve(std::size_t bytes, MemoryUse use, const ModelContext& model,
                                      std::optional<device::StreamHandle> stream) noexcept {
  pool::AllocationRequest request;
  request.stream = stream;
  request.bytes = bytes;
  request.tag = model.labels[static_cast<std::size_t>(use)];
  request.lifetime = use == MemoryUse::weights ? pool::Lifetime::weights : pool::Lifetime::transient;
  auto address = pool_->allocate(request);
  if (!address.is_ok()) return address.take_status();
  auto memory = window_.to_host(address.value());
  if (!memory.is_ok()) {
    // The failure to report is the first one.
    const base::Status ignored = pool_->free(address.value());
    static_cast<void>(ignored);
  }
  return memory;
}

base::Status PoolMemory::free(void* memory) noexcept { return pool_->free(window_.to_device(memory)); }

base::Status PoolMemory::free_on(device::StreamHandle stream, void* memory) noexcept {
  return pool_->free_async(window_.to_device(memory), stream);
}

std::uint64_t PoolMemory::modelled_ns() const noexcept { return device::modelled_ns_of_this_thread(); }

}  // namespace cistern::engine
