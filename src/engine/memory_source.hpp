// MemorySource: whom the engine asks for the memory of tensors.
//
// ONNX Runtime is given one allocator for everything; behind it stands, for each model, one of these: the pool, or the
// device's driver for comparison. The runtime computes on the CPU, so what a source returns is a host pointer, even
// where the memory belongs to a device (see host_window.hpp).
//
// Thread-safety: every function, from any thread. Memory is aligned to at least 64 bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "device/device.hpp"

namespace cistern::engine {

enum class MemoryUse : std::uint8_t { weights = 0, activations = 1 };

// The model that asks. `labels` belong to the source: what it wants to know again at each call (a pool's tags).
struct ModelContext {
  std::string name;
  std::array<std::uint32_t, 2> labels{};  // by MemoryUse
};

// Bytes that models hold, as they asked for them, and the most they ever held at once. Thread-safety: all.
class LiveBytes {
 public:
  void add(std::uint64_t bytes) noexcept {
    const std::uint64_t now = held_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::uint64_t seen = peak_.load(std::memory_order_relaxed);
    while (seen < now && !peak_.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
  void take(std::uint64_t bytes) noexcept { held_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::uint64_t held() const noexcept { return held_.load(std::memory_order_relaxed); }
  std::uint64_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> held_{0};
  std::atomic<std::uint64_t> peak_{0};
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
  // The same for work of a stream, in its order. A source that knows no streams serves as ever.
  virtual base::Result<void*> allocate_on(device::StreamHandle /*stream*/, std::size_t bytes, MemoryUse use,
                                          const ModelContext& model) noexcept {
    return allocate(bytes, use, model);
  }
  virtual base::Status free_on(device::StreamHandle /*stream*/, void* memory) noexcept { return free(memory); }
  // Time of the driver calls that the calling thread has made so far, by the latency model of simulated devices; 0
  // elsewhere. Differences on one thread are what happened on it between.
  virtual std::uint64_t modelled_ns() const noexcept = 0;

  // What models hold of this source; the engine keeps count. Several sources may share one count: set it before the
  // first allocation.
  LiveBytes& live() const noexcept { return *live_; }
  void count_live_in(std::shared_ptr<LiveBytes> live) noexcept { live_ = std::move(live); }

 private:
  std::shared_ptr<LiveBytes> live_ = std::make_shared<LiveBytes>();
};

}  // namespace cistern::engine
