// What --input-shape and --dynamic-batch-size of `cistern atc` mean: texts, and the rules that they make of the inputs
// of a model. Every axis gets an extent, or is the batch; nothing is guessed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/shape_rules.hpp"

namespace cistern::cli {

struct InputShape {
  std::string name;
  std::vector<std::int64_t> extents;
};

// "NAME:1,3,48,320;NAME:..."; a name may contain colons, and appears once. "": none.
base::Result<std::vector<InputShape>> parse_input_shapes(const std::string& text);
// "1,2,4": ascending, none twice, at least two. "": none.
base::Result<std::vector<std::uint64_t>> parse_batches(const std::string& text);
// The batch is axis 0 where its extent is -1.
base::Result<engine::ShapeRules> rules_for(const std::vector<engine::TensorInfo>& inputs,
                                           const std::vector<InputShape>& shapes,
                                           const std::vector<std::uint64_t>& batches);

}  // namespace cistern::cli
