// AllocatorBridge: the one allocator that ONNX Runtime sees, and behind it the memory source of whichever model is at
// work on the calling thread.
//
// The runtime takes one allocator for its whole environment and says nothing about who asks. The engine gives every
// session one thread of its own making (no thread pools), so whoever enters a model says so here (ModelAtWork) and
// everything that the runtime asks for until then is that model's. Each block is written down with its owner, so it
// goes back to where it came from whatever thread frees it, a wrong free is refused instead of corrupting, and what a
// model left behind can be told when it is unloaded.
//
// The runtime does not survive an allocator that returns null (1.30 follows the pointer), so a refused request is
// served from the C heap instead, the run is told to end, and the caller gets the source's own failure.
//
// Thread-safety: all. Cost: one hash table operation under one of 16 locks, outside the measured time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.hpp"
#include "engine/memory_source.hpp"
#include "engine/onnxruntime_api.hpp"

namespace cistern::engine {

// What happened between two points on one thread, for one model.
struct MemoryUsage {
  std::uint64_t weight_allocations = 0;
  std::uint64_t weight_bytes = 0;
  std::uint64_t activation_allocations = 0;
  std::uint64_t activation_bytes = 0;
  std::uint64_t frees = 0;
  std::uint64_t peak_bytes = 0;  // of what was allocated in between, the most that was held at once
  // Real time inside the memory source, the cost of reading the clock taken off. With a simulated device it contains
  // the simulator's own work for driver calls, which is not the driver's time: that is modelled_ns.
  std::uint64_t measured_ns = 0;
  // Time of the driver calls by the device's latency model; see MemorySource::modelled_ns.
  std::uint64_t modelled_ns = 0;

  std::uint64_t allocations() const noexcept { return weight_allocations + activation_allocations; }
  MemoryUsage& operator+=(const MemoryUsage& other) noexcept;
};

// Blocks that a model holds.
struct MemoryHeld {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t peak_bytes = 0;  // highest since the model was loaded or reset_peak()
};

// One model's account at the bridge.
struct ModelAccount {
  ModelContext context;
  std::shared_ptr<MemorySource> source;
  std::atomic<std::uint64_t> blocks{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> peak_bytes{0};

  MemoryHeld held() const noexcept { return {blocks.load(), bytes.load(), peak_bytes.load()}; }
};

class AllocatorBridge {
 public:
  // `info` is what the runtime asks for; it must outlive the bridge.
  explicit AllocatorBridge(const ort::MemoryInfo* info) noexcept;
  // Gives back whatever the runtime has not; nobody may use that memory any more.
  ~AllocatorBridge();
  AllocatorBridge(const AllocatorBridge&) = delete;
  AllocatorBridge& operator=(const AllocatorBridge&) = delete;

  ort::Allocator* allocator() noexcept { return &seen_; }
  // Wrong frees and requests outside any model, since the start; the text tells the first.
  std::uint64_t misuses() const noexcept { return misuses_.load(); }
  std::string first_misuse() const;

 private:
  // The runtime hands the address of `base` back to us.
  struct Seen : ort::Allocator {
    AllocatorBridge* bridge;
  };
  struct Block {
    std::shared_ptr<ModelAccount> account;  // null for substitutes
    std::size_t bytes = 0;
    bool is_substitute = false;  // from the C heap, after a refusal
  };
  struct Shard {
    std::mutex mutex;
    std::unordered_map<const void*, Block> blocks;
  };
  static constexpr std::size_t kShards = 16;

  static void* on_alloc(ort::Allocator* self, std::size_t bytes);
  static void* on_reserve(ort::Allocator* self, std::size_t bytes);
  static void on_free(ort::Allocator* self, void* memory);
  static const ort::MemoryInfo* on_info(const ort::Allocator* self);

  void* serve(std::size_t bytes, MemoryUse use) noexcept;
  void* substitute(std::size_t bytes) noexcept;
  bool remember(const void* memory, Block block) noexcept;
  std::optional<Block> forget(const void* memory) noexcept;
  void take_back(void* memory) noexcept;
  void record_misuse(const std::string& text) noexcept;
  Shard& shard_of(const void* memory) noexcept;

  Seen seen_{};
  const ort::MemoryInfo* info_;
  Shard shards_[kShards];
  std::atomic<std::uint64_t> misuses_{0};
  mutable std::mutex misuse_mutex_;
  std::string first_misuse_;
};

// While it lives, what the runtime asks for on this thread is the model's. Nests.
class ModelAtWork {
 public:
  // `plain_use` is what a plain request is for: activations in a run; while a model is loaded, whatever it asks for
  // stays with it like weights. Reserve requests are always weights.
  // Memory of the work is allocated and freed in the order of `stream`, if there is one.
  explicit ModelAtWork(std::shared_ptr<ModelAccount> account, MemoryUse plain_use = MemoryUse::activations,
                       std::optional<device::StreamHandle> stream = std::nullopt) noexcept;
  ~ModelAtWork();
  ModelAtWork(const ModelAtWork&) = delete;
  ModelAtWork& operator=(const ModelAtWork&) = delete;

  MemoryUsage usage() const noexcept;                                   // since the start
  base::Status take_failure() noexcept { return std::move(failure_); }  // the first refusal of the memory source
  bool was_refused() const noexcept { return !failure_.is_ok(); }
  // On a refusal, end this run before its next operator.
  void end_on_refusal(const ort::Calls& calls, ort::RunOptions* run) noexcept {
    calls_ = &calls;
    run_ = run;
  }

 private:
  friend class AllocatorBridge;
  void refuse(base::Status failure) noexcept;
  void book_allocation(MemoryUse use, std::uint64_t bytes) noexcept;
  void book_free(std::uint64_t bytes, std::uint64_t spent_ns) noexcept;

  std::shared_ptr<ModelAccount> account_;
  ModelAtWork* outer_;
  MemoryUse plain_use_;
  std::optional<device::StreamHandle> stream_;
  std::uint64_t held_bytes_ = 0;  // of what was allocated in this work
  const ort::Calls* calls_ = nullptr;
  ort::RunOptions* run_ = nullptr;
  std::uint64_t modelled_at_start_;
  MemoryUsage usage_;
  base::Status failure_;
};

}  // namespace cistern::engine
