// Element types, half precision, descriptions of tensors.
#include <bit>
#include <cstdint>
#include <limits>

#include "acl/acl_base.h"
#include "acl/model/datasets.hpp"

using namespace cistern::acl;

namespace {

constexpr int kMostDims = 128;

std::shared_ptr<TensorDescription> description(std::string_view function, const aclTensorDesc* handle) noexcept {
  std::shared_ptr<TensorDescription> found;
  static_cast<void>(enter(function, [&]() -> Outcome {
    found = tensor_descriptions().find(handle);
    return found == nullptr ? tensor_descriptions().explain(handle) : Outcome();
  }));
  return found;
}

// 0 where an extent is unknown or the product does not fit.
std::size_t element_count(const TensorDescription& tensor) noexcept {
  std::size_t count = 1;
  for (const std::int64_t extent : tensor.extents) {
    if (extent <= 0) return 0;
    if (__builtin_mul_overflow(count, static_cast<std::size_t>(extent), &count)) return 0;
  }
  return count;
}

// IEEE 754: 1 sign, 5 exponent and 10 mantissa bits against 1, 8 and 23.
constexpr std::uint32_t kHalfMantissaBits = 10;
constexpr std::uint32_t kFloatMantissaBits = 23;
constexpr std::uint32_t kDroppedBits = kFloatMantissaBits - kHalfMantissaBits;
constexpr int kBiasDifference = 127 - 15;
constexpr std::uint32_t kHalfInfinity = 0x7C00;
constexpr std::uint32_t kFloatInfinity = 0x7F800000;

std::uint32_t round_off(std::uint32_t value, std::uint32_t bits) noexcept {
  const std::uint32_t kept = value >> bits;
  const std::uint32_t rest = value & ((1U << bits) - 1);
  const std::uint32_t half = 1U << (bits - 1);
  return kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1 : 0);
}

}  // namespace

size_t aclDataTypeSize(aclDataType dataType) {
  switch (dataType) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64:
      return 8;
    case ACL_COMPLEX128:
      return 16;
    default:
      return 0;
  }
}

float aclFloat16ToFloat(aclFloat16 value) {
  const std::uint32_t sign = (value & 0x8000U) << 16;
  const std::uint32_t exponent = (value >> kHalfMantissaBits) & 0x1FU;
  std::uint32_t mantissa = value & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | kFloatInfinity | mantissa << kDroppedBits);
  if (exponent != 0) {
    return std::bit_cast<float>(sign | (exponent + kBiasDifference) << kFloatMantissaBits | mantissa << kDroppedBits);
  }
  if (mantissa == 0) return std::bit_cast<float>(sign);
  const int shift = std::countl_zero(mantissa) - (31 - static_cast<int>(kHalfMantissaBits));  // to the implied one
  mantissa = (mantissa << shift) & 0x3FFU;
  const auto wide = static_cast<std::uint32_t>(kBiasDifference + 1 - shift);
  return std::bit_cast<float>(sign | wide << kFloatMantissaBits | mantissa << kDroppedBits);
}

aclFloat16 aclFloatToFloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > kFloatInfinity) {  // not a number stays one
    return static_cast<aclFloat16>(sign | kHalfInfinity | 0x200U | ((magnitude >> kDroppedBits) & 0x3FFU));
  }
  const int exponent = static_cast<int>(magnitude >> kFloatMantissaBits) - kBiasDifference;
  if (exponent >= 0x1F) return static_cast<aclFloat16>(sign | kHalfInfinity);
  if (exponent > 0) {
    // Rounding may carry into the exponent, and from the largest number into infinity: both are right.
    const std::uint32_t shifted = magnitude - (static_cast<std::uint32_t>(kBiasDifference) << kFloatMantissaBits);
    return static_cast<aclFloat16>(sign | round_off(shifted, kDroppedBits));
  }
  const int shift = static_cast<int>(kDroppedBits) + 1 - exponent;  // a subnormal number
  if (shift > 24 + 1) return static_cast<aclFloat16>(sign);
  const std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
  return static_cast<aclFloat16>(sign | round_off(mantissa, static_cast<std::uint32_t>(shift)));
}

aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims, aclFormat format) {
  const void* const caller = __builtin_return_address(0);
  aclTensorDesc* created = nullptr;
  static_cast<void>(enter("aclCreateTensorDesc", [&]() -> Outcome {
    if (numDims < 0 || numDims > kMostDims || (numDims > 0 && dims == nullptr)) {
      return invalid_parameter(std::to_string(numDims) + " extents; there can be 0 to 128, and 'dims' has them");
    }
    TensorDescription tensor{dataType, format, {}, caller};
    tensor.extents.assign(dims, dims + numDims);
    created = static_cast<aclTensorDesc*>(
        tensor_descriptions().issue(std::make_shared<TensorDescription>(std::move(tensor))));
    return {};
  }));
  return created;
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) {
  if (desc == nullptr) return;
  static_cast<void>(enter("aclDestroyTensorDesc", [&]() -> Outcome {
    return tensor_descriptions().withdraw(desc) == nullptr ? tensor_descriptions().explain(desc) : Outcome();
  }));
}

aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
  const auto tensor = description("aclGetTensorDescType", desc);
  return tensor == nullptr ? ACL_DT_UNDEFINED : tensor->type;
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
  const auto tensor = description("aclGetTensorDescFormat", desc);
  return tensor == nullptr ? ACL_FORMAT_UNDEFINED : tensor->format;
}

size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
  const auto tensor = description("aclGetTensorDescSize", desc);
  std::size_t bytes = 0;
  if (tensor == nullptr) return 0;
  return __builtin_mul_overflow(element_count(*tensor), aclDataTypeSize(tensor->type), &bytes) ? 0 : bytes;
}

size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
  const auto tensor = description("aclGetTensorDescElementCount", desc);
  return tensor == nullptr ? 0 : element_count(*tensor);
}

size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
  const auto tensor = description("aclGetTensorDescNumDims", desc);
  return tensor == nullptr ? 0 : tensor->extents.size();
}

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dimSize) {
  return enter("aclGetTensorDescDimV2", [&]() -> Outcome {
    const auto tensor = tensor_descriptions().find(desc);
    if (tensor == nullptr) return tensor_descriptions().explain(desc);
    if (dimSize == nullptr) return invalid_parameter("'dimSize' is NULL");
    if (index >= tensor->extents.size()) {
      return invalid_parameter("index " + std::to_string(index) + " of " + std::to_string(tensor->extents.size()) +
                               " extents");
    }
    *dimSize = tensor->extents[index];
    return {};
  });
}
