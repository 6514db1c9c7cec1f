// PoolMemory: every tensor is a block of a pool, tagged weights/<model> or activations/<model>; tensors of a stream's
// work are allocated and freed in the order of that stream.
#pragma once

#include <memory>
#include <optional>

#include "engine/host_window.hpp"
#include "engine/memory_source.hpp"
#include "pool/pool.hpp"

namespace cistern::engine {

class PoolMemory final : public MemorySource {
 public:
  explicit PoolMemory(std::shared_ptr<pool::Pool> pool) noexcept;

  void admit(ModelContext& model) noexcept override;
  base::Result<void*> allocate(std::size_t bytes, MemoryUse use, const ModelContext& model) noexcept override;
  base::Status free(void* memory) noexcept override;
  base::Result<void*> allocate_on(device::StreamHandle stream, std::size_t bytes, MemoryUse use,
                                  const ModelContext& model) noexcept override;
  base::Status free_on(device::StreamHandle stream, void* memory) noexcept override;
  std::uint64_t modelled_ns() const noexcept override;

 private:
  base::Result<void*> serve(std::size_t bytes, MemoryUse use, const ModelContext& model,
                            std::optional<device::StreamHandle> stream) noexcept;

  std::shared_ptr<pool::Pool> pool_;
  HostWindow window_;
};

}  // namespace cistern::engine
