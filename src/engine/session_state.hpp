// What stands behind Environment and Model: the runtime's handles, released in the order that the runtime needs.
// Internal to the engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/onnx_weights.hpp"
#include "engine/session.hpp"

namespace cistern::engine {

// A handle of the runtime with the call that releases it.
template <typename T>
using Handle = std::unique_ptr<T, void (*)(T*)>;

class EnvironmentState {
 public:
  static base::Result<std::shared_ptr<EnvironmentState>> create(std::shared_ptr<const OnnxRuntime> runtime);
  ~EnvironmentState();
  EnvironmentState(const EnvironmentState&) = delete;
  EnvironmentState& operator=(const EnvironmentState&) = delete;

  const OnnxRuntime& runtime() const noexcept { return *runtime_; }
  const ort::Calls& calls() const noexcept { return runtime_->calls(); }
  ort::Env* env() const noexcept { return env_; }
  const ort::MemoryInfo* memory_info() const noexcept { return memory_info_; }
  AllocatorBridge& bridge() noexcept { return *bridge_; }

 private:
  explicit EnvironmentState(std::shared_ptr<const OnnxRuntime> runtime) noexcept : runtime_(std::move(runtime)) {}

  std::shared_ptr<const OnnxRuntime> runtime_;
  ort::Env* env_ = nullptr;
  ort::MemoryInfo* memory_info_ = nullptr;
  std::unique_ptr<AllocatorBridge> bridge_;
  bool registered_ = false;
};

// A weight that the engine put into the memory source; the session refers to it.
struct BroughtWeight {
  void* memory = nullptr;
  ort::Value* value = nullptr;
};

class ModelState {
 public:
  ModelState(std::shared_ptr<EnvironmentState> environment, std::string path, std::shared_ptr<MemorySource> source);
  ~ModelState() { release(); }
  ModelState(const ModelState&) = delete;
  ModelState& operator=(const ModelState&) = delete;

  base::Status load(GraphOptimization optimization);
  void release() noexcept;

  const ort::Calls& calls() const noexcept { return environment->calls(); }

  const std::shared_ptr<EnvironmentState> environment;
  const std::string path;
  const std::shared_ptr<ModelAccount> account;  // context.name is the model's name
  ort::Session* session = nullptr;
  std::vector<BroughtWeight> weights;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  MemoryUsage load_usage;
  std::uint64_t load_ns = 0;

 private:
  base::Status create_session(GraphOptimization optimization);
  base::Status bring_weight(ort::SessionOptions* options, const OnnxWeight& weight);
  base::Status bring_weights(ort::SessionOptions* options, std::span<const std::byte> file);
  base::Status read_signature();
  base::Result<TensorInfo> read_tensor_info(bool is_input, std::size_t index);
};

// Element type and axes of what the runtime describes. `where` is for the error text.
base::Result<TensorInfo> read_shape(const ort::Calls& calls, const ort::TensorShape* shape, std::string_view where);

}  // namespace cistern::engine
