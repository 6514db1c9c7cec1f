// Models in .om files of Cistern's own: written and read back, and damaged at every byte.
#include "engine/om_model.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "engine/om_file.hpp"
#include "engine/om_writer.hpp"

namespace cistern::engine {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

ModelOutline some_outline() {
  ModelOutline outline;
  outline.name = "classification";
  outline.inputs = {{"x", ElementType::float32, {4, 3, 48, 192}, 4 * 3 * 48 * 192 * 4, true},
                    {"mask", ElementType::boolean, {7}, 7, false}};
  outline.outputs = {{"softmax_0.tmp_0", ElementType::float32, {4, 2}, 32, true},
                     {"n", ElementType::int64, {}, 8, false}};
  outline.batches = {1, 2, 4};
  outline.weight_bytes = 532'992;
  outline.work_bytes = 5'000'000'000;
  outline.measured_by = "1.30.0";
  return outline;
}

constexpr std::string_view kOnnx = "as if it were a model in ONNX";

std::vector<std::byte> some_file() {
  const std::string text = write_om_model(some_outline(), bytes_of(kOnnx)).take();
  const auto bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

TEST(OmModel, IsReadBackAsItWasWritten) {
  const auto data = some_file();
  EXPECT_EQ(data, some_file()) << "the same model, the same bytes";
  auto file = OmFile::read(data);
  ASSERT_TRUE(file.is_ok()) << file.status().text();
  auto model = read_om_model(file.value());
  ASSERT_TRUE(model.is_ok()) << model.status().text();
  EXPECT_EQ(model.value().outline, some_outline());
  EXPECT_EQ(std::memcmp(model.value().onnx.data(), kOnnx.data(), kOnnx.size()), 0);
  EXPECT_EQ(model.value().onnx.size(), kOnnx.size());
}

// Sizes, inputs and outputs are where tools look for them that know nothing of Cistern.
TEST(OmModel, ToolsThatKnowTheFormFindWhatTheyLookFor) {
  const auto data = some_file();
  const OmFile file = OmFile::read(data).take();
  EXPECT_EQ(file.weight_bytes, 532'992U);
  EXPECT_EQ(file.work_bytes, 5'000'000'000U);
  EXPECT_FALSE(file.is_dynamic);
  ASSERT_EQ(file.inputs.size(), 2U);
  EXPECT_EQ(file.inputs[0].name, "x");
  EXPECT_EQ(file.inputs[0].bytes, 4U * 3 * 48 * 192 * 4);
  EXPECT_EQ(file.inputs[0].type, 0);
  EXPECT_EQ(file.inputs[0].extents, (std::vector<std::int64_t>{-1, 3, 48, 192}));
  EXPECT_EQ(file.inputs[1].type, 12);
  EXPECT_EQ(file.inputs[1].extents, (std::vector<std::int64_t>{7}));
  ASSERT_EQ(file.outputs.size(), 2U);
  EXPECT_EQ(file.outputs[1].type, 9);
  std::uint64_t length = 0;
  std::memcpy(&length, &data[om::kLengthAt], sizeof length);
  EXPECT_EQ(om::kHeaderBytes + length, data.size());
  EXPECT_EQ(std::memcmp(&data[84], "classification", 15), 0);
}

TEST(OmModel, FilesForAnNpuHaveNone) {
  const auto data = test::make_om_file(true);
  EXPECT_TRUE(OmFile::read(data).value().own.empty());
}

// What a loader would make of the bytes: the model, or why there is none.
base::Status load(std::span<const std::byte> data) {
  auto file = OmFile::read(data);
  if (!file.is_ok()) return file.take_status();
  if (file.value().own.empty()) return base::unsupported("made for an NPU");
  return read_om_model(file.value()).take_status();
}

TEST(OmModel, EveryDamagedByteIsFound) {
  const auto data = some_file();
  EXPECT_TRUE(load(data).is_ok());
  for (std::size_t i = 0; i < data.size(); ++i) {
    auto damaged = data;
    damaged[i] ^= std::byte{0x10};
    EXPECT_FALSE(load(damaged).is_ok()) << "byte " << i;
  }
  for (std::size_t bytes = 0; bytes < data.size(); ++bytes) {
    EXPECT_FALSE(load(std::span(data).first(bytes)).is_ok()) << bytes << " bytes";
  }
  auto longer = data;
  longer.push_back(std::byte{0});
  EXPECT_NE(load(longer).text().find("not at its end"), std::string::npos);
}

TEST(OmModel, ANewerVersionIsRefusedAsOne) {
  auto data = some_file();
  const OmFile file = OmFile::read(data).take();
  data[static_cast<std::size_t>(file.own.data() - data.data())] = std::byte{2};
  const base::Status read = load(data);
  EXPECT_EQ(read.code(), base::StatusCode::unsupported);
  EXPECT_NE(read.text().find("version 2"), std::string::npos) << read.text();
}

// A file that is whole, but says what cannot be: the checksum is of these very bytes.
TEST(OmModel, WhatMakesNoSenseIsRefusedThoughTheChecksumIsRight) {
  const auto refusal = [](const auto& change) {
    ModelOutline outline = some_outline();
    change(outline);
    const std::string text = write_om_model(outline, bytes_of(kOnnx)).take();
    return std::string(load(bytes_of(text)).text());
  };
  EXPECT_EQ(refusal([](ModelOutline&) {}), "");
  for (const std::vector<std::uint64_t>& batches :
       {std::vector<std::uint64_t>{}, {0, 1}, {2, 1}, {1, 1}, std::vector<std::uint64_t>(129, 1)}) {
    EXPECT_NE(refusal([&](ModelOutline& outline) { outline.batches = batches; }).find("batches"), std::string::npos);
  }
  EXPECT_NE(refusal([](ModelOutline& outline) { outline.inputs[0].bytes += 4; }).find("inputs"), std::string::npos);
  EXPECT_NE(refusal([](ModelOutline& outline) { outline.inputs[1].type = ElementType{99}; }).find("inputs"),
            std::string::npos);
  EXPECT_NE(refusal([](ModelOutline& outline) { outline.outputs[1].has_batch = true; }).find("outputs"),
            std::string::npos)
      << "no axis is the batch where there is none";
}

}  // namespace
}  // namespace cistern::engine
