// MemorySource: whom the engine asks for the memory of tensors.
//
// ONNX Runtime is given one allocator for everything; behind it stands, for each model, one of these: the pool, or the
// device's driver for comparison. The runtime computes on the CPU, so what a source returns is a host pointer, even
// where the memory belongs to a device (see host_window.hpp).
//
// Thread-safety: every function, from any thread. Memory is aligned to at least 64 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace cistern::engine {

enum class MemoryUse : std::uint8_t { weights = 0, activations = 1 };

// The model that asks. `labels` belong to the source: what it wants to know again at each call (a pool's tags).
struct ModelContext {
  std::string name;
  std::array<std::uint32_t, 2> labels{};  // by MemoryUse
};

class MemorySource {
 public:
  MemorySource() = default;
  virtual ~MemorySource() = default;
  MemorySource(const MemorySource&) = delete;
  MemorySource& operator=(const MemorySource&) = delete;

  // Once a model, before its first allocation.
  virtual void admit(ModelContext& /*model*/) noexcept {}
  // bytes > 0.
  virtual base::Result<void*> allocate(std::size_t bytes, MemoryUse use, const ModelContext& model) noexcept = 0;
  // Exactly what allocate returned.
  virtual base::Status free(void* memory) noexcept = 0;
  // Time of all driver calls so far by the latency model of a simulated device; 0 elsewhere. One number for the whole
  // device: differences belong to one request only while no other uses the device.
  virtual std::uint64_t modelled_ns() const noexcept = 0;
};

}  // namespace cistern::engine
