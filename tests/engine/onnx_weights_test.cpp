// Weights are found in hand-made ONNX files, and damaged files never lead outside the file.
#include "engine/onnx_weights.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>

namespace cistern::engine {
namespace {

// The few forms of a protobuf field that an ONNX file has.
std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}
std::string number(std::uint32_t field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(std::uint32_t field, const std::string& value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}
std::string raw_floats(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(float)};
}
std::string initializer(const std::string& tensor) { return bytes(7, bytes(5, tensor)); }

std::vector<OnnxWeight> find(const std::string& file) {
  return find_onnx_weights({reinterpret_cast<const std::byte*>(file.data()), file.size()});
}
std::string content(const OnnxWeight& weight) {
  return {reinterpret_cast<const char*>(weight.bytes().data()), weight.bytes().size()};
}

const std::string kRaw = raw_floats({1, 2, 3, 4, 5, 6});
const std::string kTensor = number(1, 2) + number(1, 3) + number(2, 1) + bytes(8, "w") + bytes(9, kRaw);

TEST(OnnxWeights, RawInitializer) {
  const std::string file = number(1, 8) + bytes(2, "maker") + initializer(kTensor);
  const auto weights = find(file);
  ASSERT_EQ(weights.size(), 1U);
  EXPECT_EQ(weights[0].name, "w");
  EXPECT_EQ(weights[0].element_type, 1);
  EXPECT_EQ(weights[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(content(weights[0]), kRaw);
}

TEST(OnnxWeights, PackedShapeAndPackedFloats) {
  const std::string file = initializer(bytes(1, varint(2) + varint(3)) + number(2, 1) + bytes(4, kRaw) + bytes(8, "w"));
  const auto weights = find(file);
  ASSERT_EQ(weights.size(), 1U);
  EXPECT_EQ(content(weights[0]), kRaw);
}

TEST(OnnxWeights, IntegersInVarintsBecomeTheirWidth) {
  // int64_data, with a negative value; the element type comes last.
  const std::string file64 =
      initializer(number(1, 2) + bytes(7, varint(~0ULL) + varint(300)) + bytes(8, "w") + number(2, 7));
  const auto wide = find(file64);
  ASSERT_EQ(wide.size(), 1U);
  std::int64_t values[2];
  std::memcpy(values, wide[0].bytes().data(), sizeof(values));
  EXPECT_EQ(values[0], -1);
  EXPECT_EQ(values[1], 300);
  // uint8 and float16 share int32_data.
  const std::string file8 =
      initializer(number(1, 2) + number(2, 2) + bytes(5, varint(7) + varint(255)) + bytes(8, "w"));
  EXPECT_EQ(content(find(file8)[0]), "\x07\xff");
  const std::string half = initializer(number(1, 1) + number(2, 10) + number(5, 0x3c00) + bytes(8, "w"));
  EXPECT_EQ(content(find(half)[0]), std::string("\x00\x3c", 2));
}

TEST(OnnxWeights, ConstantNodesAreWeightsUnderTheirOutputsName) {
  const std::string attribute = bytes(1, "value") + bytes(5, kTensor);
  const std::string file = bytes(7, bytes(1, bytes(2, "out") + bytes(4, "Constant") + bytes(5, attribute)));
  const auto weights = find(file);
  ASSERT_EQ(weights.size(), 1U);
  EXPECT_EQ(weights[0].name, "out");
  const std::string other = bytes(7, bytes(1, bytes(2, "out") + bytes(4, "Other") + bytes(5, attribute)));
  EXPECT_TRUE(find(other).empty());
}

TEST(OnnxWeights, WhatIsNotUnderstoodStaysWithTheRuntime) {
  EXPECT_TRUE(find(initializer(number(1, 1) + number(2, 8) + bytes(6, "text") + bytes(8, "w"))).empty()) << "strings";
  EXPECT_TRUE(find(initializer(kTensor + number(14, 1))).empty()) << "data in another file";
  EXPECT_TRUE(find(initializer(number(1, 7) + number(2, 1) + bytes(8, "w") + bytes(9, kRaw))).empty()) << "wrong size";
  EXPECT_TRUE(find(initializer(number(1, 6) + number(2, 1) + bytes(9, kRaw))).empty()) << "no name";
  EXPECT_TRUE(find(initializer(number(1, 0) + number(2, 1) + bytes(8, "w"))).empty()) << "nothing in it";
}

bool needs_others(const std::string& file) {
  return needs_other_files({reinterpret_cast<const std::byte*>(file.data()), file.size()});
}

TEST(OnnxWeights, DataInOtherFilesIsFoundWhereverTensorsAre) {
  const std::string elsewhere = kTensor + number(14, 1);
  EXPECT_FALSE(needs_others(initializer(kTensor)));
  EXPECT_FALSE(needs_others(initializer(kTensor + number(14, 0))));
  EXPECT_FALSE(needs_others(""));
  EXPECT_TRUE(needs_others(initializer(kTensor) + initializer(elsewhere)));
  const auto attribute = [](const std::string& value) { return bytes(7, bytes(1, bytes(5, value))); };  // of a node
  EXPECT_TRUE(needs_others(attribute(bytes(5, elsewhere)))) << "a Constant";
  EXPECT_TRUE(needs_others(attribute(bytes(10, elsewhere)))) << "a list";
  EXPECT_TRUE(needs_others(attribute(bytes(6, bytes(5, elsewhere))))) << "a branch";
  EXPECT_TRUE(needs_others(attribute(bytes(22, bytes(1, elsewhere))))) << "a sparse one";
  EXPECT_TRUE(needs_others(bytes(7, bytes(15, bytes(2, elsewhere))))) << "a sparse initializer";
  EXPECT_TRUE(needs_others(bytes(25, bytes(7, bytes(5, bytes(5, elsewhere)))))) << "a function";
  std::string deep = bytes(5, elsewhere);
  for (int i = 0; i < 300; ++i) deep = bytes(1, bytes(5, bytes(6, deep)));
  EXPECT_FALSE(needs_others(bytes(7, deep))) << "deeper than the runtime reads";
}

void expect_inside(const std::string& file) {
  static_cast<void>(needs_others(file));
  for (const OnnxWeight& weight : find(file)) {
    const auto* begin = reinterpret_cast<const std::byte*>(file.data());
    RC_ASSERT(weight.raw.empty() ||
              (weight.raw.data() >= begin && weight.raw.data() + weight.raw.size() <= begin + file.size()));
    const auto type = element_type_from_onnx(weight.element_type, "");
    RC_ASSERT(type.is_ok());
    RC_ASSERT(tensor_bytes(type.value(), weight.shape).value() == weight.bytes().size());
  }
}

TEST(OnnxWeights, AnyCutAndAnyChangedByteIsSafe) {
  const std::string whole = number(1, 8) + initializer(kTensor) + initializer(kTensor);
  EXPECT_TRUE(rc::check([&whole] {
    std::string file = whole.substr(0, *rc::gen::inRange<std::size_t>(0, whole.size() + 1));
    if (!file.empty()) file[*rc::gen::inRange<std::size_t>(0, file.size())] = *rc::gen::arbitrary<char>();
    expect_inside(file);
  }));
  EXPECT_TRUE(rc::check([](const std::string& file) { expect_inside(file); }));
}

}  // namespace
}  // namespace cistern::engine
