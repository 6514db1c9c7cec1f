// ModelWindows: the two windows that all memory of one model lies in, weights and work, and their division.
//
// The engine asks for each tensor by itself; AscendCL knows two ranges that the program, or its library, reserves when
// a model is loaded. What the engine asks for is placed in them by offset, first fit. The engine asks in the same order
// in every run of the same shapes, so the offsets repeat, and the highest one ever needed is the size that
// aclmdlQuerySize() tells.
//
// Thread-safety: all functions; one run at a time uses the work window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "core/suballocator.hpp"
#include "engine/memory_source.hpp"

namespace cistern::engine {

// A range of memory as the host sees it, divided.
class Window {
 public:
  explicit Window(std::string_view name) noexcept : name_(name) {}

  // Offsets up to `bytes`; nothing is live then.
  base::Status open(std::uint64_t bytes) noexcept;
  // Where the offsets are. What is live moves along: only while nothing is.
  void place(std::byte* base) noexcept { base_ = base; }
  base::Result<void*> allocate(std::size_t bytes) noexcept;
  bool release(const void* memory) noexcept;  // false: not of this window
  std::uint64_t high_water_bytes() const noexcept { return high_water_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  const std::string_view name_;
  std::unique_ptr<core::Suballocator> places_;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t high_water_ = 0;
};

class ModelWindows final : public MemorySource {
 public:
  base::Status open(std::uint64_t weight_bytes, std::uint64_t work_bytes) noexcept;
  // The device's addresses as the host sees them.
  void place_weights(std::byte* base) noexcept;
  void place_work(std::byte* base) noexcept;
  std::uint64_t weight_bytes() const noexcept;  // the most that was needed so far
  std::uint64_t work_bytes() const noexcept;

  base::Result<void*> allocate(std::size_t bytes, MemoryUse use, const ModelContext& model) noexcept override;
  base::Status free(void* memory) noexcept override;
  std::uint64_t modelled_ns() const noexcept override { return 0; }  // no call of a driver

 private:
  mutable std::mutex mutex_;
  Window weights_{"weight"};
  Window work_{"work"};
};

// Host memory for a model that is only to be measured: addresses for as much as any model needs, pages where touched.
class ProbeWindows {
 public:
  static base::Result<std::shared_ptr<ModelWindows>> create() noexcept;
};

}  // namespace cistern::engine
