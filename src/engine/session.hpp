// Running models: an Environment per process, Models in it, and the Outputs of each run.
//
// All tensor memory of a model, its weights, its activations, the staged inputs and the outputs, comes from the memory
// source it was loaded with. To have every byte asked for, request after request, the sessions run on one thread,
// without memory patterns (which would ask once for one large block and divide it themselves), without the runtime's
// own arena, and without pre-packed copies of weights (which the runtime would keep outside any allocator). The weights
// themselves are brought by the engine (see onnx_weights.hpp). What stays outside: the graph and the kernels' objects.
//
// Thread-safety: models of one environment may be loaded, run and unloaded from any threads; one model may run on
// several threads at once. An Outputs belongs to one thread at a time. Nothing throws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engine/allocator_bridge.hpp"
#include "engine/memory_source.hpp"
#include "engine/onnxruntime_api.hpp"
#include "engine/tensor.hpp"

namespace cistern::engine {

// How far the runtime may rewrite the graph; its own numbers. Its highest level is not offered: it reorders most
// weights for the CPU at hand and keeps the new copies on its own heap. Rewrites that compute new weights (a
// normalisation folded into a convolution) do so at every level but `none`; few exported models still contain those.
enum class GraphOptimization : std::int32_t { none = 0, basic = 1, extended = 2 };

class EnvironmentState;
class ModelState;

// The tensors of one run. They stay in the memory source until released; the environment stays alive as long.
class Outputs {
 public:
  Outputs(Outputs&&) noexcept = default;
  Outputs& operator=(Outputs&& other) noexcept;
  ~Outputs();

  const std::vector<TensorView>& tensors() const noexcept { return views_; }
  std::uint64_t hash() const noexcept { return hash_tensors(views_); }
  // Wall time of the run: staging, computing and memory.
  std::uint64_t run_ns() const noexcept { return run_ns_; }
  // What the request has asked of its memory source so far; complete, with the frees of the outputs, after release().
  const MemoryUsage& usage() const noexcept { return usage_; }
  // Gives the memory back; the views are gone.
  void release() noexcept;

 private:
  friend class Model;
  explicit Outputs(std::shared_ptr<ModelState> model) noexcept : model_(std::move(model)) {}

  std::shared_ptr<ModelState> model_;
  std::vector<ort::Value*> values_;
  std::vector<TensorView> views_;
  MemoryUsage usage_;
  std::uint64_t run_ns_ = 0;
  std::optional<device::StreamHandle> stream_;
};

class Model {
 public:
  Model(Model&&) noexcept = default;
  Model& operator=(Model&&) noexcept = default;
  ~Model() = default;

  const std::string& name() const noexcept;  // the file's name without directory and ending
  const std::string& path() const noexcept;
  const std::vector<TensorInfo>& inputs() const noexcept;
  const std::vector<TensorInfo>& outputs() const noexcept;
  // What loading asked of the memory source.
  const MemoryUsage& load_usage() const noexcept;
  std::uint64_t load_ns() const noexcept;
  MemoryHeld held() const noexcept;
  void reset_peak() noexcept;

  // One tensor an input, in the order of inputs(). invalid_argument where count, type or shape do not fit. Where the
  // memory source refused, its own status comes back, and all memory of the request has been given back.
  // With a stream, all memory of the request, outputs included, is allocated and freed in the order of that stream.
  base::Result<Outputs> run(std::span<const Tensor> inputs,
                            std::optional<device::StreamHandle> stream = std::nullopt) noexcept;

  // Unloads, and says what the model still holds: nothing, unless Outputs are still alive. The model can't be used
  // afterwards. Without this call the destructor unloads (when the last Outputs is gone).
  MemoryHeld unload() noexcept;

 private:
  friend class Environment;
  explicit Model(std::shared_ptr<ModelState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<ModelState> state_;
};

class Environment {
 public:
  // ONNX Runtime has one environment a process, so a second is refused as busy while one is alive.
  static base::Result<Environment> create(std::shared_ptr<const OnnxRuntime> runtime) noexcept;
  Environment(Environment&&) noexcept = default;
  Environment& operator=(Environment&&) noexcept = default;
  // The runtime's environment ends with the last of: this object, its models, their outputs.
  ~Environment() = default;

  // not_found, io_error or corrupted with one line that names the file; unsupported where an input or output is no
  // tensor of a served type. A failed load leaves nothing in the memory source.
  base::Result<Model> load(const std::string& path, std::shared_ptr<MemorySource> source,
                           GraphOptimization optimization = GraphOptimization::extended) noexcept;

  const OnnxRuntime& runtime() const noexcept;
  // Wrong calls of the runtime to its allocator; see AllocatorBridge.
  std::uint64_t misuses() const noexcept;
  std::string first_misuse() const;

 private:
  explicit Environment(std::shared_ptr<EnvironmentState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<EnvironmentState> state_;
};

}  // namespace cistern::engine
