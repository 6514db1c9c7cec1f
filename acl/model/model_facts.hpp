// ModelFacts: what is known of a model before it is loaded for good (engine/model_outline.hpp), and where it is.
//
// Of an ONNX file everything is measured, which costs about one inference, and is kept for as long as the file does not
// change. An .om file that `cistern atc` has written says it all, for the version of ONNX Runtime that it was measured
// with; with another it is measured again, at the shapes that are written in it. Of an .om file for an NPU there are
// the sizes, no more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "acl/acl_base.h"
#include "acl/runtime/outcome.hpp"
#include "engine/model_outline.hpp"

namespace cistern::acl {

using TensorFacts = engine::TensorOutline;

struct ModelFacts : engine::ModelOutline {
  explicit ModelFacts(engine::ModelOutline outline) : engine::ModelOutline(std::move(outline)) {}
  std::string path;
  bool is_om = false;             // the ONNX model is a part of the file
  std::uint32_t om_checksum = 0;  // of that file
  std::string refusal;            // why it can be measured, but not loaded; empty: it can
};

aclDataType type_of(engine::ElementType type) noexcept;

// ONNX Runtime, opened when first asked for, and never closed.
Outcome engine_environment(engine::Environment** environment);

// With ACL_ERROR_INVALID_FILE or ACL_ERROR_PARSE_MODEL where it is the file's fault.
Outcome outcome_of_file(const base::Status& status);

// Of a file in memory nothing is kept: its path says nothing about what is in it.
enum class FactsAre : std::uint8_t { kept, not_kept };
Outcome find_facts(const std::string& path, FactsAre kept, std::shared_ptr<const ModelFacts>* facts);

}  // namespace cistern::acl
