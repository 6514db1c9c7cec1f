// HeapMemory: a memory source over the C heap for tests, which watches its user: every block has guard bytes behind it,
// frees are checked, and any call can be made to fail.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/memory_source.hpp"

namespace cistern::engine::testing {

class HeapMemory final : public MemorySource {
 public:
  static constexpr std::size_t kGuard = 512;
  static constexpr unsigned char kGuardByte = 0xA5;

  ~HeapMemory() override {
    for (const auto& [memory, bytes] : blocks_) std::free(memory);
  }

  void admit(ModelContext& model) noexcept override { model.labels = {7, 9}; }

  base::Result<void*> allocate(std::size_t bytes, MemoryUse use, const ModelContext& model) noexcept override {
    const std::lock_guard lock(mutex_);
    if (model.labels[0] != 7 || model.labels[1] != 9) return base::internal_error("the model was not admitted");
    ++calls;
    if (calls == fail_at) return base::Status(base::StatusCode::out_of_memory, "scripted refusal");
    const std::size_t padded = (bytes + 511) / 512 * 512;
    void* memory = std::aligned_alloc(512, padded + kGuard);
    // Memory of a pool is not zero: neither is this.
    std::memset(memory, 0xCD, padded);
    std::memset(static_cast<char*>(memory) + padded, kGuardByte, kGuard);
    blocks_[memory] = padded;
    live_bytes += bytes;
    sizes_[memory] = bytes;
    (use == MemoryUse::weights ? weight_calls : activation_calls) += 1;
    return memory;
  }

  base::Status free(void* memory) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto block = blocks_.find(memory);
    if (block == blocks_.end()) {
      ++wrong_frees;
      return base::not_found("not a block of this source");
    }
    const auto* guard = static_cast<const unsigned char*>(memory) + block->second;
    for (std::size_t i = 0; i < kGuard; ++i) overruns += guard[i] != kGuardByte ? 1 : 0;
    live_bytes -= sizes_[memory];
    sizes_.erase(memory);
    std::free(memory);
    blocks_.erase(block);
    return {};
  }

  std::uint64_t modelled_ns() const noexcept override {
    const std::lock_guard lock(mutex_);
    return calls * 1000;
  }

  std::size_t live_blocks() const {
    const std::lock_guard lock(mutex_);
    return blocks_.size();
  }

  std::uint64_t calls = 0;
  std::uint64_t fail_at = 0;  // the call with this number is refused; 0: none
  std::uint64_t weight_calls = 0;
  std::uint64_t activation_calls = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t wrong_frees = 0;
  std::uint64_t overruns = 0;

 private:
  mutable std::mutex mutex_;
  std::map<void*, std::size_t> blocks_;
  std::map<void*, std::size_t> sizes_;
};

}  // namespace cistern::engine::testing
