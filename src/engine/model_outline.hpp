// ModelOutline: what is known of a model before it is loaded for good: its inputs and outputs at their largest shapes,
// the batches it takes, and the sizes of the two windows that all its memory lies in (model_windows.hpp).
//
// The sizes are measured: the model is loaded into host memory and run with zeros, at its largest shapes, or at each of
// its batches; where the engine puts its tensors then is where it puts them in every run of the same runtime at the
// same shapes. That costs about one inference for each run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/model_windows.hpp"
#include "engine/session.hpp"
#include "engine/shape_rules.hpp"

namespace cistern::engine {

struct TensorOutline {
  std::string name;
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> extents;  // largest
  std::uint64_t bytes = 0;            // at these extents
  bool has_batch = false;             // extents[0] is the batch and may be any of the model's
  bool operator==(const TensorOutline&) const = default;
};

inline constexpr std::size_t kMostBatches = 128;

struct ModelOutline {
  std::string name;
  std::vector<TensorOutline> inputs;
  std::vector<TensorOutline> outputs;
  std::vector<std::uint64_t> batches;  // more than one: dynamic; ascending
  std::uint64_t weight_bytes = 0;
  std::uint64_t work_bytes = 0;
  std::string measured_by;  // the runtime's version: another may ask for other memory

  bool has_dynamic_batch() const noexcept { return batches.size() > 1; }
  // Those of the tensor at a batch.
  static std::vector<std::int64_t> extents_at(const TensorOutline& tensor, std::uint64_t batch);
  bool operator==(const ModelOutline&) const = default;
};

// A model in host memory, for as long as it is measured.
class ModelProbe {
 public:
  // The errors of Environment::load().
  static base::Result<ModelProbe> open(Environment& environment, const std::string& path) noexcept;
  const Model& model() const noexcept { return model_; }
  // A range of axis 0 makes the batch dynamic; the model runs at the largest. unsupported: inputs with different ranges
  // there, or more than kMostBatches; out_of_memory: no host memory for the inputs; else what the run came to.
  base::Result<ModelOutline> measure(const ShapeRules& rules) noexcept;
  // The batches are these, ascending, at least two, of the range's ends and between; the model runs at each of them,
  // since less in one place may need more in another.
  base::Result<ModelOutline> measure(const ShapeRules& rules, const std::vector<std::uint64_t>& batches) noexcept;
  // An outline of this model that another runtime has measured, by this one. corrupted: of another model.
  base::Result<ModelOutline> measure_again(const ModelOutline& outline) noexcept;

 private:
  ModelProbe(std::shared_ptr<ModelWindows> memory, Model model, std::string runtime_version) noexcept
      : memory_(std::move(memory)), model_(std::move(model)), runtime_version_(std::move(runtime_version)) {}
  std::shared_ptr<ModelWindows> memory_;
  Model model_;
  std::string runtime_version_;
};

}  // namespace cistern::engine
