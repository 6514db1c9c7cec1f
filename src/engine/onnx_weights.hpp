// The weights of an ONNX file: where each initializer's bytes are, read straight from the file's protobuf encoding.
//
// ONNX Runtime 1.30 keeps every initializer of more than 127 bytes on its own heap and asks no allocator for it, but it
// takes values that the caller brings under the initializer's name. So the engine reads the weights itself and puts
// them into the memory source. Only what that needs is understood: names, types, shapes and bytes of initializers and
// of Constant nodes, at the top level of the graph. What is left out (strings, sparse tensors, data in other files,
// subgraphs) stays with the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engine/tensor.hpp"

namespace cistern::engine {

struct OnnxWeight {
  std::string_view name;
  std::int32_t element_type = 0;  // ONNX's number
  std::vector<std::int64_t> shape;
  std::span<const std::byte> raw;  // as the tensor's memory; empty where the file has typed values: then see `values`
  std::vector<std::byte> values;   // decoded from typed values

  std::span<const std::byte> bytes() const noexcept { return values.empty() ? raw : std::span(values); }
};

// Views into `file`. Never fails: of a damaged file it returns what comes before the damage, and the runtime, which
// reads the same file, says what is wrong with it.
std::vector<OnnxWeight> find_onnx_weights(std::span<const std::byte> file);

// Whether some tensor's data is in another file, in subgraphs and functions too: then the file alone is no model.
bool needs_other_files(std::span<const std::byte> file) noexcept;

}  // namespace cistern::engine
