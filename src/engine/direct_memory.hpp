// DirectMemory: every tensor is one driver allocation and one driver free. The baseline that a pool is compared with.
#pragma once

#include <memory>

#include "device/device.hpp"
#include "engine/host_window.hpp"
#include "engine/memory_source.hpp"

namespace cistern::engine {

class DirectMemory final : public MemorySource {
 public:
  explicit DirectMemory(std::shared_ptr<device::Device> device) noexcept;

  base::Result<void*> allocate(std::size_t bytes, MemoryUse use, const ModelContext& model) noexcept override;
  base::Status free(void* memory) noexcept override;
  std::uint64_t modelled_ns() const noexcept override;

 private:
  std::shared_ptr<device::Device> device_;
  HostWindow window_;
};

}  // namespace cistern::engine
