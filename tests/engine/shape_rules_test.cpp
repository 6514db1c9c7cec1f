// Parsing of --dim, resolving against a model's inputs, and drawing shapes.
#include "engine/shape_rules.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace cistern::engine {
namespace {

TensorInfo input(std::string name, std::vector<Axis> axes) {
  return {std::move(name), ElementType::float32, std::move(axes)};
}
Axis fixed(std::int64_t extent) { return {extent, ""}; }
Axis open(std::string symbol = "") { return {kDynamic, std::move(symbol)}; }

const std::vector<TensorInfo> kImage = {input("x", {open("batch"), fixed(3), open("h"), open("w")})};

std::vector<Binding> parse_all(std::initializer_list<std::string_view> texts) {
  std::vector<Binding> bindings;
  for (const auto text : texts) {
    auto binding = parse_binding(text);
    EXPECT_TRUE(binding.is_ok()) << binding.status().to_string();
    bindings.push_back(binding.take());
  }
  return bindings;
}

void expect_error(const base::Status& status, std::initializer_list<std::string_view> parts) {
  EXPECT_EQ(status.code(), base::StatusCode::invalid_argument);
  for (const auto part : parts) {
    EXPECT_NE(status.text().find(part), std::string_view::npos) << "'" << part << "' is not in: " << status.text();
  }
}

TEST(ParseBinding, OneTwoAndThreePartRanges) {
  const auto bindings = parse_all({"det:x:2=320", "det:x:w=320:960", "*:*:0=1:8:2"});
  EXPECT_EQ(bindings[0].model, "det");
  EXPECT_EQ(bindings[0].input, "x");
  EXPECT_EQ(bindings[0].axis, "2");
  EXPECT_EQ(bindings[0].range, (DimRange{320, 320, 1}));
  EXPECT_EQ(bindings[1].axis, "w");
  EXPECT_EQ(bindings[1].range, (DimRange{320, 960, 1}));
  EXPECT_EQ(bindings[2].model, "*");
  EXPECT_EQ(bindings[2].range, (DimRange{1, 8, 2}));
}

TEST(ParseBinding, InputNamesMayContainColonsAndEqualsSigns) {
  const auto bindings = parse_all({"m:serving:input_1:0:batch=4", "m:a=b:1=2"});
  EXPECT_EQ(bindings[0].input, "serving:input_1:0");
  EXPECT_EQ(bindings[0].axis, "batch");
  EXPECT_EQ(bindings[1].input, "a=b");
}

TEST(ParseBinding, ErrorsNameThePart) {
  expect_error(parse_binding("det:x:2").status(), {"det:x:2", "no '='", "MODEL:INPUT:AXIS=LO[:HI[:STEP]]"});
  expect_error(parse_binding("det:2=3").status(), {"MODEL:INPUT:AXIS"});
  expect_error(parse_binding("2=3").status(), {"MODEL:INPUT:AXIS"});
  expect_error(parse_binding(":x:2=3").status(), {"MODEL is empty"});
  expect_error(parse_binding("det::2=3").status(), {"INPUT is empty"});
  expect_error(parse_binding("det:x:=3").status(), {"AXIS is empty"});
  expect_error(parse_binding("det:x:2=").status(), {"LO is ''"});
  expect_error(parse_binding("det:x:2=a").status(), {"LO is 'a'"});
  expect_error(parse_binding("det:x:2=0").status(), {"LO is '0'"});
  expect_error(parse_binding("det:x:2=-4").status(), {"LO is '-4'"});
  expect_error(parse_binding("det:x:2=3:1x").status(), {"HI is '1x'"});
  expect_error(parse_binding("det:x:2=3:9:0").status(), {"STEP is '0'"});
  expect_error(parse_binding("det:x:2=9:3").status(), {"HI (3) is below LO (9)"});
  expect_error(parse_binding("det:x:2=1:2:3:4").status(), {"more parts"});
  expect_error(parse_binding("det:x:2=99999999999999999999").status(), {"LO is '99999999999999999999'"});
}

TEST(ParseBinding, WhatIsFormattedParsesToTheSame) {
  EXPECT_TRUE(rc::check([] {
    const auto part = [] { return *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z'))); };
    Binding binding{part(), part() + ":" + part(), part(), {}};
    binding.range.lo = *rc::gen::inRange<std::int64_t>(1, 5000);
    binding.range.hi = binding.range.lo + *rc::gen::inRange<std::int64_t>(0, 5000);
    binding.range.step = *rc::gen::inRange<std::int64_t>(1, 100);
    auto parsed = parse_binding(format_binding(binding));
    RC_ASSERT(parsed.is_ok());
    RC_ASSERT(parsed.value().model == binding.model);
    RC_ASSERT(parsed.value().input == binding.input);
    RC_ASSERT(parsed.value().axis == binding.axis);
    RC_ASSERT(parsed.value().range == binding.range);
  }));
}

TEST(ParseBinding, AnyTextIsParsedOrRefused) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    const auto parsed = parse_binding(text);
    RC_ASSERT(parsed.is_ok() || !parsed.status().text().empty());
  }));
}

DimRange range_of(std::string_view model, const std::vector<TensorInfo>& inputs, std::size_t index, std::size_t axis,
                  const std::vector<Binding>& bindings = {}) {
  auto rules = resolve_shape_rules(model, inputs, bindings);
  EXPECT_TRUE(rules.is_ok()) << rules.status().to_string();
  return rules.is_ok() ? rules.value().rules[index][axis].range : DimRange{};
}

TEST(ResolveShapeRules, TextRecognitionModelsHaveDefaults) {
  for (const auto* name : {"ch_PP-OCRv4_det_infer", "detection", "DET"}) {
    EXPECT_EQ(range_of(name, kImage, 0, 0), (DimRange{1, 1, 1})) << name;
    EXPECT_EQ(range_of(name, kImage, 0, 1), (DimRange{3, 3, 1})) << name;
    EXPECT_EQ(range_of(name, kImage, 0, 2), (DimRange{320, 960, 32})) << name;
    EXPECT_EQ(range_of(name, kImage, 0, 3), (DimRange{320, 960, 32})) << name;
  }
  const std::vector<TensorInfo> line = {input("x", {open(), fixed(3), fixed(48), open()})};
  EXPECT_EQ(range_of("recognition", line, 0, 2), (DimRange{48, 48, 1}));
  EXPECT_EQ(range_of("recognition", line, 0, 3), (DimRange{48, 640, 1}));
  EXPECT_EQ(range_of("ch_ppocr_mobile_v2.0_cls_infer", kImage, 0, 2), (DimRange{48, 48, 1}));
  EXPECT_EQ(range_of("classification", kImage, 0, 3), (DimRange{192, 192, 1}));
}

TEST(ResolveShapeRules, DefaultsAreForImagesOnlyAndForWholeWords) {
  const std::vector<TensorInfo> text = {input("ids", {open("batch"), open("length")})};
  expect_error(resolve_shape_rules("det", text, {}).status(), {"ids", "--dim det:ids:length="});
  expect_error(resolve_shape_rules("detr", kImage, {}).status(), {"--dim detr:x:h="});
}

TEST(ResolveShapeRules, OnlyTheBatchAxisHasAGeneralDefault) {
  EXPECT_EQ(range_of("m", {input("x", {open(), fixed(7)})}, 0, 0), (DimRange{1, 1, 1}));
  expect_error(resolve_shape_rules("m", {input("x", {open(), open()})}, {}).status(),
               {"axis 1", "float32 x[?,?]", "model m", "--dim m:x:1=LO[:HI[:STEP]]"});
}

TEST(ResolveShapeRules, BindingsWinOverDefaultsAndLaterOverEarlier) {
  EXPECT_EQ(range_of("det", kImage, 0, 2, parse_all({"det:x:2=64"})), (DimRange{64, 64, 1}));
  EXPECT_EQ(range_of("det", kImage, 0, 2, parse_all({"det:0:h=64:128:64"})), (DimRange{64, 128, 64}));
  EXPECT_EQ(range_of("det", kImage, 0, 2, parse_all({"det:x:2=64", "*:*:h=96"})), (DimRange{96, 96, 1}));
  EXPECT_EQ(range_of("det", kImage, 0, 2, parse_all({"other:x:2=64"})), (DimRange{320, 960, 32}));
}

TEST(ResolveShapeRules, BindingsThatFitNothingAreErrors) {
  expect_error(resolve_shape_rules("det", kImage, parse_all({"det:y:2=64"})).status(),
               {"INPUT", "'y'", "float32 x[batch,3,h,w]"});
  expect_error(resolve_shape_rules("det", kImage, parse_all({"det:1:2=64"})).status(), {"INPUT", "'1'"});
  expect_error(resolve_shape_rules("det", kImage, parse_all({"det:x:depth=64"})).status(), {"AXIS", "'depth'"});
  expect_error(resolve_shape_rules("det", kImage, parse_all({"det:x:4=64"})).status(), {"AXIS", "'4'"});
  expect_error(resolve_shape_rules("det", kImage, parse_all({"det:x:1=4"})).status(), {"axis 1", "fixed at 3"});
  EXPECT_TRUE(resolve_shape_rules("det", kImage, parse_all({"det:x:1=3"})).is_ok()) << "the same is no contradiction";
  EXPECT_TRUE(resolve_shape_rules("det", kImage, parse_all({"*:y:2=64"})).is_ok()) << "general: need not fit";
}

TEST(ResolveShapeRules, AxesOfOneSymbolMustAgree) {
  const std::vector<TensorInfo> pair = {input("ids", {open("n"), open("t")}), input("mask", {open("n"), open("t")})};
  expect_error(resolve_shape_rules("m", pair, parse_all({"m:ids:t=8", "m:mask:t=9"})).status(),
               {"'ids'", "'mask'", "'t'", "--dim m:*:t="});
  auto rules = resolve_shape_rules("m", pair, parse_all({"m:*:t=1:100000"}));
  ASSERT_TRUE(rules.is_ok()) << rules.status().to_string();
  for (std::uint64_t request = 0; request < 20; ++request) {
    const auto shapes = draw_shapes(rules.value(), 1, request);
    EXPECT_EQ(shapes[0], shapes[1]);
  }
}

TEST(ResolveShapeRules, QuestionMarksAreNoNames) {
  const std::vector<TensorInfo> image = {input("x", {open("?"), fixed(3), open("?"), open("?")})};
  auto rules = resolve_shape_rules("det", image, parse_all({"det:x:2=1:100000", "det:x:3=1:100000"}));
  ASSERT_TRUE(rules.is_ok()) << rules.status().to_string();
  const auto shape = draw_shapes(rules.value(), 1, 0)[0];
  EXPECT_NE(shape[2], shape[3]);
}

TEST(DrawShapes, AreRepeatableInRangeAndOnTheGrid) {
  EXPECT_TRUE(rc::check([] {
    DimRange range;
    range.lo = *rc::gen::inRange<std::int64_t>(1, 1000);
    range.hi = range.lo + *rc::gen::inRange<std::int64_t>(0, 1000);
    range.step = *rc::gen::inRange<std::int64_t>(1, 100);
    const ShapeRules rules{{{AxisRule{range, {}}}}};
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto request = *rc::gen::arbitrary<std::uint64_t>();
    const std::int64_t extent = draw_shapes(rules, seed, request)[0][0];
    RC_ASSERT(extent >= range.lo);
    RC_ASSERT(extent <= range.hi);
    RC_ASSERT((extent - range.lo) % range.step == 0);
    RC_ASSERT(draw_shapes(rules, seed, request)[0][0] == extent);
  }));
}

TEST(DrawShapes, ReachBothEndsAndEverythingBetween) {
  auto rules = resolve_shape_rules("det", kImage, {});
  ASSERT_TRUE(rules.is_ok());
  std::set<std::int64_t> heights;
  std::set<std::int64_t> first_of_seeds;
  for (std::uint64_t request = 0; request < 500; ++request) {
    heights.insert(draw_shapes(rules.value(), 7, request)[0][2]);
    first_of_seeds.insert(draw_shapes(rules.value(), request, 0)[0][2]);
  }
  EXPECT_EQ(heights.size(), 21U);  // 320, 352, ..., 960
  EXPECT_EQ(*heights.begin(), 320);
  EXPECT_EQ(*heights.rbegin(), 960);
  EXPECT_EQ(first_of_seeds.size(), 21U);
}

// The drawn shapes are part of what makes two runs of two builds comparable, so they are frozen.
TEST(DrawShapes, StayAsTheyWere) {
  auto rules = resolve_shape_rules("det", kImage, {});
  ASSERT_TRUE(rules.is_ok());
  EXPECT_EQ(draw_shapes(rules.value(), 1, 0)[0], (std::vector<std::int64_t>{1, 3, 896, 640}));
  EXPECT_EQ(draw_shapes(rules.value(), 1, 1)[0], (std::vector<std::int64_t>{1, 3, 576, 576}));
}

}  // namespace
}  // namespace cistern::engine
