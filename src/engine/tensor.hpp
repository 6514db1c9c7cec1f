// Tensors as the engine sees them: what a model asks for (TensorInfo), what a caller gives (Tensor), what a run leaves
// in the memory source (TensorView).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cistern::engine {

// The numbers are ONNX's.
enum class ElementType : std::int32_t {
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  int32 = 6,
  int64 = 7,
  boolean = 9,
  float16 = 10,
  float64 = 11,
};

std::size_t element_bytes(ElementType type) noexcept;
std::string_view element_type_name(ElementType type) noexcept;
// unsupported for every other type; the text names the type and `where` ("input 'x' of det").
base::Result<ElementType> element_type_from_onnx(std::int32_t number, std::string_view where);

inline constexpr std::int64_t kDynamic = -1;

struct Axis {
  std::int64_t extent = kDynamic;
  std::string symbol;  // the model's name for a dynamic axis; may be empty
  bool is_dynamic() const noexcept { return extent < 0; }
};

struct TensorInfo {
  std::string name;
  ElementType type = ElementType::float32;
  std::vector<Axis> axes;
};

// "float32 x[batch,3,?,?]", for messages.
std::string describe(const TensorInfo& info);

struct Tensor {
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

// Bytes of a tensor of that shape; invalid_argument for negative extents and for sizes beyond 2^48.
base::Result<std::size_t> tensor_bytes(ElementType type, std::span<const std::int64_t> shape);

struct TensorView {
  std::string_view name;
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

// 64-bit FNV-1a over name, type, shape and bytes of all tensors, in order. The same on every machine.
std::uint64_t hash_tensors(std::span<const TensorView> tensors) noexcept;
// Empty when both lists are the same bit for bit, else where the first difference is.
std::string first_difference(std::span<const TensorView> left, std::span<const TensorView> right);

}  // namespace cistern::engine
