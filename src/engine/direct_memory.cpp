#include "engine/direct_memory.hpp"

#include <utility>

namespace cistern::engine {

DirectMemory::DirectMemory(std::shared_ptr<device::Device> device) noexcept
    : device_(std::move(device)), window_(*device_) {}

base::Result<void*> DirectMemory::allocate(std::size_t bytes, MemoryUse /*use*/,
                                           const ModelContext& /*model*/) noexcept {
  auto address = device_->malloc(bytes);
  if (!address.is_ok()) return address.take_status();
  auto memory = window_.to_host(address.value());
  if (!memory.is_ok()) {
    // The failure to report is the first one; a driver that refuses the free as well changes nothing about it.
    const base::Status ignored = device_->free(address.value());
    static_cast<void>(ignored);
  }
  return memory;
}

base::Status DirectMemory::free(void* memory) noexcept { return device_->free(window_.to_device(memory)); }

std::uint64_t DirectMemory::modelled_ns() const noexcept { return device::modelled_ns_of_this_thread(); }

}  // namespace cistern::engine
