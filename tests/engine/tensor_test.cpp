// Element types, sizes, comparison and deterministic contents of tensors.
#include "engine/tensor.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstring>

#include "engine/tensor_source.hpp"

namespace cistern::engine {
namespace {

constexpr ElementType kAll[] = {ElementType::float32, ElementType::uint8,   ElementType::int8,    ElementType::int32,
                                ElementType::int64,   ElementType::boolean, ElementType::float16, ElementType::float64};

TEST(ElementTypes, NumbersAreOnnxs) {
  for (const ElementType type : kAll) {
    auto found = element_type_from_onnx(static_cast<std::int32_t>(type), "x");
    ASSERT_TRUE(found.is_ok());
    EXPECT_EQ(found.value(), type);
    EXPECT_GT(element_bytes(type), 0U);
  }
  EXPECT_EQ(element_bytes(ElementType::float16), 2U);
  EXPECT_EQ(element_bytes(ElementType::int64), 8U);
}

TEST(ElementTypes, OthersAreUnsupportedByName) {
  const auto status = element_type_from_onnx(16, "input 'x' of model m").status();
  EXPECT_EQ(status.code(), base::StatusCode::unsupported);
  EXPECT_NE(status.text().find("input 'x' of model m has element type bfloat16"), std::string_view::npos);
}

TEST(TensorBytes, MultipliesAndRefusesNonsense) {
  const auto bytes = [](std::vector<std::int64_t> shape) { return tensor_bytes(ElementType::float32, shape); };
  EXPECT_EQ(bytes({}).value(), 4U);  // a scalar
  EXPECT_EQ(bytes({2, 3}).value(), 24U);
  EXPECT_EQ(bytes({2, 0, 3}).value(), 0U);
  EXPECT_FALSE(bytes({2, -1}).is_ok());
  EXPECT_FALSE(bytes({std::int64_t{1} << 40, std::int64_t{1} << 40}).is_ok());
  EXPECT_FALSE(bytes({std::int64_t{1} << 62, 4}).is_ok());
}

TEST(MakeTensor, TheSameSeedGivesTheSameBytesAndAnotherOthers) {
  for (const ElementType type : kAll) {
    const auto first = make_tensor(type, {64, 8}, 5);
    const auto again = make_tensor(type, {64, 8}, 5);
    const auto other = make_tensor(type, {64, 8}, 6);
    EXPECT_EQ(first.value().bytes.size(), 512 * element_bytes(type));
    EXPECT_EQ(first.value().bytes, again.value().bytes);
    EXPECT_NE(first.value().bytes, other.value().bytes);
  }
}

template <typename Value>
std::vector<Value> values_of(ElementType type) {
  const auto tensor = make_tensor(type, {10000}, 3);
  std::vector<Value> values(10000);
  std::memcpy(values.data(), tensor.value().bytes.data(), tensor.value().bytes.size());
  return values;
}

TEST(MakeTensor, ValuesAreInTheStatedRanges) {
  float low = 1;
  float high = -1;
  for (const float value : values_of<float>(ElementType::float32)) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  EXPECT_GE(low, -1.0F);
  EXPECT_LT(low, -0.99F);
  EXPECT_LT(high, 1.0F);
  EXPECT_GT(high, 0.99F);
  for (const std::int64_t value : values_of<std::int64_t>(ElementType::int64)) EXPECT_TRUE(value == 0 || value == 1);
  for (const std::uint8_t value : values_of<std::uint8_t>(ElementType::boolean)) EXPECT_LE(value, 1);
}

float from_half(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1f;
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(half & 0x3ff), -24)
                                        : std::ldexp(static_cast<float>((half & 0x3ff) | 0x400), exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(MakeTensor, HalvesAreNumbersOnTheirGrid) {
  float low = 1;
  float high = -1;
  double sum = 0;
  for (const std::uint16_t half : values_of<std::uint16_t>(ElementType::float16)) {
    const float value = from_half(half);
    EXPECT_EQ(value * 1024, std::floor(value * 1024));
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
  EXPECT_GE(low, -1.0F);
  EXPECT_LT(low, -0.99F);
  EXPECT_LT(high, 1.0F);
  EXPECT_GT(high, 0.99F);
  EXPECT_NEAR(sum / 10000, 0, 0.03);
}

// The sanitizers' allocators end the program instead of refusing a request of this size.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(MakeTensor, TooLargeIsAnErrorNotATermination) {
  EXPECT_EQ(make_tensor(ElementType::float64, {std::int64_t{1} << 44}, 1).status().code(),
            base::StatusCode::out_of_memory);
}
#endif

TEST(MakeInputs, CountsMustMatch) {
  EXPECT_FALSE(make_inputs({{"x", ElementType::float32, {}}}, {}, 1).is_ok());
  EXPECT_NE(
      make_inputs({{"a", ElementType::float32, {}}, {"b", ElementType::float32, {}}}, {{8}, {8}}, 1).value()[0].bytes,
      make_inputs({{"a", ElementType::float32, {}}, {"b", ElementType::float32, {}}}, {{8}, {8}}, 1).value()[1].bytes);
}

struct Sample {
  std::vector<std::byte> bytes = std::vector<std::byte>(24);
  TensorView view() const { return {"y", ElementType::float32, {2, 3}, bytes}; }
};

TEST(Compare, EqualTensorsHaveNoDifferenceAndOneHash) {
  const Sample a;
  const Sample b;
  const std::vector<TensorView> left = {a.view()};
  const std::vector<TensorView> right = {b.view()};
  EXPECT_EQ(first_difference(left, right), "");
  EXPECT_EQ(hash_tensors(left), hash_tensors(right));
}

TEST(Compare, OneBitIsFoundAndNamed) {
  EXPECT_TRUE(rc::check([] {
    const Sample a;
    Sample b;
    const auto at = *rc::gen::inRange<std::size_t>(0, 24);
    b.bytes[at] = std::byte{1} << *rc::gen::inRange(0, 8);
    const std::vector<TensorView> left = {a.view()};
    const std::vector<TensorView> right = {b.view()};
    RC_ASSERT(first_difference(left, right) == "tensor 0 ('y'): byte " + std::to_string(at) + " of 24 differs");
    RC_ASSERT(hash_tensors(left) != hash_tensors(right));
  }));
}

TEST(Compare, ShapesTypesNamesAndCountsMatter) {
  const Sample a;
  const std::vector<TensorView> left = {a.view()};
  auto right = left;
  right[0].shape = {3, 2};
  EXPECT_NE(first_difference(left, right).find("shapes"), std::string::npos);
  EXPECT_NE(hash_tensors(left), hash_tensors(right));
  right = left;
  right[0].type = ElementType::int32;
  EXPECT_NE(first_difference(left, right).find("types"), std::string::npos);
  right = left;
  right[0].name = "z";
  EXPECT_NE(first_difference(left, right).find("'z'"), std::string::npos);
  right.clear();
  EXPECT_EQ(first_difference(left, right), "1 tensors against 0");
}

// FNV-1a of nothing and of fixed contents: the hash is printed in reports, so it must not change.
TEST(Compare, TheHashStaysAsItWas) {
  EXPECT_EQ(hash_tensors({}), 0xcbf29ce484222325ULL);
  const Sample a;
  const std::vector<TensorView> tensors = {a.view()};
  std::uint64_t expected = 0xcbf29ce484222325ULL;
  const auto add = [&expected](unsigned char byte) { expected = (expected ^ byte) * 0x100000001b3ULL; };
  add('y');
  for (const unsigned char number : {1, 2, 3}) {
    add(number);
    for (int i = 0; i < 7; ++i) add(0);
  }
  for (int i = 0; i < 24; ++i) add(0);
  EXPECT_EQ(hash_tensors(tensors), expected);
}

}  // namespace
}  // namespace cistern::engine
