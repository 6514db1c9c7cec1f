// ModelFacts: what is known of a model file before it is loaded for good: its inputs and outputs, and the sizes of the
// two windows that it needs.
//
// The sizes are measured: the model is loaded into host memory and run once, with zeros, at its largest shapes; where
// the engine puts its tensors then is where it puts them in every run. That costs about one inference, and is kept for
// as long as the file does not change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl_base.h"
#include "acl/runtime/outcome.hpp"
#include "engine/session.hpp"

namespace cistern::acl {

struct TensorFacts {
  std::string name;
  aclDataType type = ACL_DT_UNDEFINED;
  engine::ElementType element = engine::ElementType::float32;
  std::vector<std::int64_t> extents;  // largest
  std::uint64_t bytes = 0;            // at these extents
  bool has_batch = false;             // extents[0] is the batch and may be any of the model's
};

struct ModelFacts {
  std::string path;
  std::string name;
  std::vector<TensorFacts> inputs;
  std::vector<TensorFacts> outputs;
  std::vector<std::uint64_t> batches;  // more than one: dynamic; ascending
  std::uint64_t weight_bytes = 0;
  std::uint64_t work_bytes = 0;
  std::string refusal;  // why it can be measured, but not loaded; empty: it can

  bool has_dynamic_batch() const noexcept { return batches.size() > 1; }
  // Those of the tensor at a batch.
  static std::vector<std::int64_t> extents_at(const TensorFacts& tensor, std::uint64_t batch);
};

// ONNX Runtime, opened when first asked for, and never closed.
Outcome engine_environment(engine::Environment** environment);

Outcome find_facts(const std::string& path, std::shared_ptr<const ModelFacts>* facts);

}  // namespace cistern::acl
