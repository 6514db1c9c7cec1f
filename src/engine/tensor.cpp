// Element types, sizes and comparison of tensors.
#include "engine/tensor.hpp"

#include <algorithm>

namespace cistern::engine {
namespace {

struct TypeRow {
  ElementType type;
  std::size_t bytes;
  std::string_view name;
};

constexpr TypeRow kTypes[] = {
    {ElementType::float32, 4, "float32"}, {ElementType::uint8, 1, "uint8"},     {ElementType::int8, 1, "int8"},
    {ElementType::int32, 4, "int32"},     {ElementType::int64, 8, "int64"},     {ElementType::boolean, 1, "bool"},
    {ElementType::float16, 2, "float16"}, {ElementType::float64, 8, "float64"},
};

// Names of the types that ONNX has and the engine does not serve, for messages only.
std::string_view foreign_type_name(std::int32_t number) noexcept {
  switch (number) {
    case 4:
      return "uint16";
    case 5:
      return "int16";
    case 8:
      return "string";
    case 12:
      return "uint32";
    case 13:
      return "uint64";
    case 14:
      return "complex64";
    case 15:
      return "complex128";
    case 16:
      return "bfloat16";
    default:
      return "unknown";
  }
}

const TypeRow* find_type(std::int32_t number) noexcept {
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes), [number](const TypeRow& candidate) {
    return static_cast<std::int32_t>(candidate.type) == number;
  });
  return row != std::end(kTypes) ? row : nullptr;
}

class Fnv1a {
 public:
  void add(const void* data, std::size_t size) noexcept {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) hash_ = (hash_ ^ bytes[i]) * 0x100000001b3ULL;
  }
  void add_number(std::uint64_t number) noexcept {
    for (int shift = 0; shift < 64; shift += 8) {
      const auto byte = static_cast<unsigned char>(number >> shift);
      add(&byte, 1);
    }
  }
  std::uint64_t value() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace

std::size_t element_bytes(ElementType type) noexcept {
  const TypeRow* row = find_type(static_cast<std::int32_t>(type));
  return row != nullptr ? row->bytes : 0;
}

std::string_view element_type_name(ElementType type) noexcept {
  const TypeRow* row = find_type(static_cast<std::int32_t>(type));
  return row != nullptr ? row->name : "unknown";
}

base::Result<ElementType> element_type_from_onnx(std::int32_t number, std::string_view where) {
  if (const TypeRow* row = find_type(number); row != nullptr) return row->type;
  std::string served;
  for (const TypeRow& row : kTypes) served += (served.empty() ? "" : ", ") + std::string(row.name);
  return base::unsupported(std::string(where) + " has element type " + std::string(foreign_type_name(number)) +
                           " (ONNX number " + std::to_string(number) + "); the engine serves " + served);
}

std::string describe(const TensorInfo& info) {
  std::string text = std::string(element_type_name(info.type)) + " " + info.name + "[";
  for (std::size_t i = 0; i < info.axes.size(); ++i) {
    const Axis& axis = info.axes[i];
    if (i > 0) text += ",";
    text += !axis.is_dynamic() ? std::to_string(axis.extent) : axis.symbol.empty() ? "?" : axis.symbol;
  }
  return text + "]";
}

base::Result<std::size_t> tensor_bytes(ElementType type, std::span<const std::int64_t> shape) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
  std::uint64_t bytes = element_bytes(type);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return std::size_t{0};
  for (const std::int64_t extent : shape) {
    if (extent < 0) return base::invalid_argument("a tensor's extent can't be " + std::to_string(extent));
    if (static_cast<std::uint64_t>(extent) > kMost / bytes) {
      return base::invalid_argument("a tensor of more than 256 TiB: check its shape");
    }
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return static_cast<std::size_t>(bytes);
}

std::uint64_t hash_tensors(std::span<const TensorView> tensors) noexcept {
  Fnv1a hash;
  for (const TensorView& tensor : tensors) {
    hash.add(tensor.name.data(), tensor.name.size());
    hash.add_number(static_cast<std::uint64_t>(tensor.type));
    for (const std::int64_t extent : tensor.shape) hash.add_number(static_cast<std::uint64_t>(extent));
    hash.add(tensor.bytes.data(), tensor.bytes.size());
  }
  return hash.value();
}

std::string first_difference(std::span<const TensorView> left, std::span<const TensorView> right) {
  if (left.size() != right.size()) {
    return std::to_string(left.size()) + " tensors against " + std::to_string(right.size());
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    const TensorView& a = left[i];
    const TensorView& b = right[i];
    const std::string where = "tensor " + std::to_string(i) + " ('" + std::string(a.name) + "'): ";
    if (a.name != b.name) return where + "named '" + std::string(b.name) + "' on the other side";
    if (a.type != b.type) return where + "element types differ";
    if (a.shape != b.shape || a.bytes.size() != b.bytes.size()) return where + "shapes differ";
    const auto mismatch = std::mismatch(a.bytes.begin(), a.bytes.end(), b.bytes.begin());
    if (mismatch.first != a.bytes.end()) {
      return where + "byte " + std::to_string(mismatch.first - a.bytes.begin()) + " of " +
             std::to_string(a.bytes.size()) + " differs";
    }
  }
  return {};
}

}  // namespace cistern::engine
