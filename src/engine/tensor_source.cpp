// Values by a counter-based generator, so that element i never depends on how others were made.
#include "engine/tensor_source.hpp"

#include <cstring>
#include <new>

namespace cistern::engine {
namespace {

// Uniform in [-1, 1) on a grid of 2^-23: exactly representable in float.
float unit_float(std::uint64_t random) noexcept {
  return static_cast<float>(static_cast<std::int64_t>(random >> 40) - (std::int64_t{1} << 23)) * 0x1p-23F;
}

// Uniform in [-1, 1) on a grid of 2^-10, every point of which binary16 can represent, so no rounding is needed.
std::uint16_t unit_half(std::uint64_t random) noexcept {
  const auto steps = static_cast<std::int32_t>(random >> 53) - 1024;  // -1024 ... 1023
  const std::uint16_t sign = steps < 0 ? 0x8000 : 0;
  auto magnitude = static_cast<std::uint32_t>(steps < 0 ? -steps : steps);
  if (magnitude == 0) return sign;
  std::uint32_t exponent = 15;  // of 1.0
  while ((magnitude & 0x400) == 0) {
    magnitude <<= 1;
    --exponent;
  }
  return static_cast<std::uint16_t>(sign | (exponent << 10) | (magnitude & 0x3ff));
}

template <typename Value, typename Make>
void fill(std::vector<std::byte>& bytes, std::uint64_t seed, Make make) noexcept {
  for (std::size_t i = 0; i < bytes.size() / sizeof(Value); ++i) {
    const Value value = make(mix(seed, i));
    std::memcpy(bytes.data() + i * sizeof(Value), &value, sizeof(Value));
  }
}

void fill_tensor(Tensor& tensor, std::uint64_t seed) noexcept {
  switch (tensor.type) {
    case ElementType::float32:
      return fill<float>(tensor.bytes, seed, unit_float);
    case ElementType::float64:
      return fill<double>(tensor.bytes, seed, unit_float);
    case ElementType::float16:
      return fill<std::uint16_t>(tensor.bytes, seed, unit_half);
    case ElementType::uint8:
    case ElementType::int8:
      return fill<std::uint8_t>(tensor.bytes, seed, [](std::uint64_t r) { return static_cast<std::uint8_t>(r >> 56); });
    case ElementType::boolean:
      return fill<std::uint8_t>(tensor.bytes, seed, [](std::uint64_t r) { return static_cast<std::uint8_t>(r >> 63); });
    case ElementType::int32:
      return fill<std::int32_t>(tensor.bytes, seed, [](std::uint64_t r) { return static_cast<std::int32_t>(r >> 63); });
    case ElementType::int64:
      return fill<std::int64_t>(tensor.bytes, seed, [](std::uint64_t r) { return static_cast<std::int64_t>(r >> 63); });
  }
}

}  // namespace

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) noexcept {
  // Two rounds of the multiply-xorshift finaliser over a Weyl step: enough for test data, and fast.
  std::uint64_t z = seed + (value + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

base::Result<Tensor> make_tensor(ElementType type, std::vector<std::int64_t> shape, std::uint64_t seed) noexcept {
  auto bytes = tensor_bytes(type, shape);
  if (!bytes.is_ok()) return bytes.take_status();
  Tensor tensor;
  tensor.type = type;
  tensor.shape = std::move(shape);
  try {
    tensor.bytes.resize(bytes.value());
  } catch (const std::exception&) {
    return base::Status(base::StatusCode::out_of_memory,
                        "the host has no " + std::to_string(bytes.value()) + " bytes for an input tensor");
  }
  fill_tensor(tensor, seed);
  return tensor;
}

base::Result<std::vector<Tensor>> make_inputs(const std::vector<TensorInfo>& inputs,
                                              const std::vector<std::vector<std::int64_t>>& shapes,
                                              std::uint64_t seed) noexcept {
  if (inputs.size() != shapes.size()) {
    return base::invalid_argument(std::to_string(shapes.size()) + " shapes for " + std::to_string(inputs.size()) +
                                  " inputs");
  }
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto tensor = make_tensor(inputs[i].type, shapes[i], mix(seed, i));
    if (!tensor.is_ok()) return tensor.take_status().with_context("input '" + inputs[i].name + "'");
    tensors.push_back(tensor.take());
  }
  return tensors;
}

}  // namespace cistern::engine
