// LoadedModel: a model with its weights in device memory, ready to run; WorkWindow: where the models of a context do
// their work, one after the other.
//
// Weights get one block when a model is loaded; the work window has the size of the largest model of its context and is
// shared by all of them, since only one runs at a time. Both are blocks of the context's pool, pinned while the models
// live, unless the program has brought memory of its own.
//
// Thread-safety: all functions.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "acl/model/model_facts.hpp"
#include "acl/runtime/copies.hpp"
#include "acl/runtime/runtime.hpp"
#include "engine/model_windows.hpp"

namespace cistern::acl {

// A block of a pool that this library holds for itself.
class OwnBlock {
 public:
  static Outcome create(std::shared_ptr<DevicePool> pool, std::uint64_t bytes, const std::string& tag,
                        std::unique_ptr<OwnBlock>* block);
  ~OwnBlock();
  OwnBlock(const OwnBlock&) = delete;
  OwnBlock& operator=(const OwnBlock&) = delete;
  std::byte* host_view() const noexcept;
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  OwnBlock(std::shared_ptr<DevicePool> pool, std::uint64_t address, std::uint64_t bytes) noexcept
      : pool_(std::move(pool)), address_(address), bytes_(bytes) {}
  const std::shared_ptr<DevicePool> pool_;
  const std::uint64_t address_;
  const std::uint64_t bytes_;
};

class WorkWindow {
 public:
  explicit WorkWindow(std::shared_ptr<DevicePool> pool) noexcept : pool_(std::move(pool)) {}
  // Of the pool, as long as one of its models lives.
  static std::shared_ptr<WorkWindow> of(const std::shared_ptr<DevicePool>& pool);
  // Makes it as large as that. Whoever runs waits meanwhile, and the other way round.
  Outcome grow(std::uint64_t bytes);
  // Held while a model runs.
  std::mutex& turn() noexcept { return turn_; }
  std::byte* host_view() const noexcept { return block_ == nullptr ? nullptr : block_->host_view(); }  // turn held

 private:
  const std::shared_ptr<DevicePool> pool_;
  std::mutex turn_;
  std::unique_ptr<OwnBlock> block_;
};

// Memory that the program has brought; bytes 0: none, the pool serves.
struct BroughtMemory {
  std::byte* base = nullptr;
  std::uint64_t bytes = 0;
};

class LoadedModel {
 public:
  static Outcome load(std::shared_ptr<const ModelFacts> facts, const Context& context, const BroughtMemory& work,
                      const BroughtMemory& weights, const void* caller, std::shared_ptr<LoadedModel>* loaded);

  const std::shared_ptr<const ModelFacts>& facts() const noexcept { return facts_; }
  const std::shared_ptr<Npu>& npu() const noexcept { return npu_; }
  const void* caller() const noexcept { return caller_; }
  // Runs at that batch; `outputs` have room for what facts() say, which is checked again by what came out. Waits for
  // whoever runs in the same work window.
  Outcome run(const std::vector<Range>& inputs, const std::vector<Range>& outputs, std::uint64_t batch);
  // Extents of an output as the last run had them; before the first: the largest.
  std::vector<std::int64_t> last_extents(std::size_t output) const;

 private:
  LoadedModel(std::shared_ptr<const ModelFacts> facts, std::shared_ptr<Npu> npu, const void* caller) noexcept
      : facts_(std::move(facts)), npu_(std::move(npu)), caller_(caller) {}
  Outcome open(engine::Environment& environment);
  Outcome open_file(engine::Environment& environment, const std::string& path);
  Outcome place_weights(const Context& context, const BroughtMemory& weights);
  Outcome place_work(const Context& context, const BroughtMemory& work);
  Outcome run_placed(const std::vector<engine::Tensor>& inputs, const std::vector<Range>& outputs);

  const std::shared_ptr<const ModelFacts> facts_;
  const std::shared_ptr<Npu> npu_;
  const void* const caller_;
  std::unique_ptr<OwnBlock> weights_;  // null: the program's
  std::shared_ptr<WorkWindow> work_;   // null: the program's
  std::mutex own_turn_;                // of runs in the program's work memory
  std::shared_ptr<engine::ModelWindows> memory_;
  std::unique_ptr<engine::Model> model_;  // ends before what it lies in
  mutable std::mutex extents_mutex_;
  std::vector<std::vector<std::int64_t>> last_extents_;
};

}  // namespace cistern::acl
