// Reading .om files: those made here, whole and damaged at every byte. There are no files of the vendor's.
#include "engine/om_file.hpp"

#include <gtest/gtest.h>

#include "engine/om_writer.hpp"

namespace cistern::engine {
namespace {

using test::make_om_file;

TEST(OmFile, SizesAndTensorsAreRead) {
  for (const bool is_wide : {false, true}) {
    const auto data = make_om_file(is_wide);
    EXPECT_TRUE(OmFile::is_om(data));
    auto read = OmFile::read(data);
    ASSERT_TRUE(read.is_ok()) << read.status().to_string();
    const OmFile& file = read.value();
    EXPECT_EQ(file.weight_bytes, 6000U);
    EXPECT_EQ(file.work_bytes, 5000000U);
    ASSERT_EQ(file.inputs.size(), 1U);
    EXPECT_EQ(file.inputs[0].name, "data");
    EXPECT_EQ(file.inputs[0].bytes, 602112U);
    EXPECT_EQ(file.inputs[0].type, 1);
    EXPECT_EQ(file.inputs[0].extents, (std::vector<std::int64_t>{1, -1}));
    ASSERT_EQ(file.outputs.size(), 1U);
    EXPECT_EQ(file.describe(),
              "input data[1,-1] 602112 bytes; output prob[1,-1] 4000 bytes; work 4.77 MiB, weights 5.86 KiB");
  }
}

TEST(OmFile, DynamicModelsTellNoWorkMemory) {
  auto read = OmFile::read(make_om_file(true, true));
  ASSERT_TRUE(read.is_ok());
  EXPECT_TRUE(read.value().is_dynamic);
  EXPECT_EQ(read.value().work_bytes, 0U);
}

TEST(OmFile, EveryPrefixIsRefused) {
  const auto data = make_om_file(true);
  for (std::size_t size = 0; size < data.size(); ++size) {
    EXPECT_FALSE(OmFile::read(std::span(data).first(size)).is_ok()) << size;
  }
}

TEST(OmFile, NoDamagedByteDoesHarm) {
  const auto data = make_om_file(false);
  for (std::size_t i = 0; i < data.size(); ++i) {
    auto damaged = data;
    damaged[i] ^= std::byte{0xFF};
    const auto read = OmFile::read(damaged);  // either way, but within the file
    if (read.is_ok()) {
      EXPECT_LE(read.value().weight_bytes, data.size());
    } else {
      EXPECT_FALSE(read.status().text().empty());
    }
  }
}

TEST(OmFile, WhatCannotBeReadIsNamed) {
  auto data = make_om_file(true);
  data[80] = std::byte{1};
  EXPECT_EQ(OmFile::read(data).status().text(), "the .om file is encrypted");
  data[80] = std::byte{0};
  data[156] = std::byte{2};
  EXPECT_EQ(OmFile::read(data).status().text(), "the .om file holds several models");
  EXPECT_FALSE(OmFile::is_om(std::span(data).subspan(1)));
}

}  // namespace
}  // namespace cistern::engine
