// Small things of the AscendCL library: half precision, element types, descriptions, buffers, datasets.
#include <cmath>
#include <limits>

#include "acl/acl_fixture.hpp"

namespace cistern::test {
namespace {

TEST(AclTensor, EveryHalfSurvivesTheWayThere) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<aclFloat16>(bits);
    const float wide = aclFloat16ToFloat(half);
    const bool is_nan = (bits & 0x7C00U) == 0x7C00U && (bits & 0x3FFU) != 0;
    ASSERT_EQ(std::isnan(wide), is_nan) << bits;
    if (is_nan) {
      ASSERT_TRUE(std::isnan(aclFloat16ToFloat(aclFloatToFloat16(wide)))) << bits;
    } else {
      ASSERT_EQ(aclFloatToFloat16(wide), half) << bits;
    }
  }
}

TEST(AclTensor, HalvesAreRoundedToEven) {
  EXPECT_EQ(aclFloat16ToFloat(0x3C00), 1.0F);
  EXPECT_EQ(aclFloat16ToFloat(0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(aclFloatToFloat16(1.0F + std::ldexp(1.0F, -11)), 0x3C00);                          // a tie, to even
  EXPECT_EQ(aclFloatToFloat16(1.0F + 3 * std::ldexp(1.0F, -11)), 0x3C02);                      // a tie, to even
  EXPECT_EQ(aclFloatToFloat16(1.0F + std::ldexp(1.0F, -11) + std::ldexp(1.0F, -20)), 0x3C01);  // above the tie
  EXPECT_EQ(aclFloatToFloat16(65504.0F), 0x7BFF);                                              // the largest
  EXPECT_EQ(aclFloatToFloat16(65519.0F), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(65520.0F), 0x7C00);  // rounds to infinity
  EXPECT_EQ(aclFloatToFloat16(-1e30F), 0xFC00);
  EXPECT_EQ(aclFloatToFloat16(std::ldexp(1.0F, -25)), 0x0000);  // a tie with zero
  EXPECT_EQ(aclFloatToFloat16(std::ldexp(1.5F, -25)), 0x0001);
  EXPECT_EQ(aclFloatToFloat16(-0.0F), 0x8000);
}

TEST(AclTensor, DescriptionsKnowTheirSize) {
  const std::int64_t extents[4] = {1, 3, 224, 224};
  aclTensorDesc* const tensor = aclCreateTensorDesc(ACL_FLOAT16, 4, extents, ACL_FORMAT_NCHW);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(aclGetTensorDescElementCount(tensor), 150528U);
  EXPECT_EQ(aclGetTensorDescSize(tensor), 301056U);
  EXPECT_EQ(aclGetTensorDescType(tensor), ACL_FLOAT16);
  EXPECT_EQ(aclGetTensorDescFormat(tensor), ACL_FORMAT_NCHW);
  EXPECT_EQ(aclGetTensorDescNumDims(tensor), 4U);
  std::int64_t extent = 0;
  EXPECT_EQ(aclGetTensorDescDimV2(tensor, 2, &extent), ACL_SUCCESS);
  EXPECT_EQ(extent, 224);
  EXPECT_EQ(aclGetTensorDescDimV2(tensor, 4, &extent), ACL_ERROR_INVALID_PARAM);
  aclDestroyTensorDesc(tensor);
  EXPECT_EQ(aclGetTensorDescSize(tensor), 0U);
  EXPECT_TRUE(contains(recent(), "was destroyed")) << recent();
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 129, extents, ACL_FORMAT_ND), nullptr);
  const std::int64_t huge[2] = {std::numeric_limits<std::int64_t>::max(), 16};
  aclTensorDesc* const overflow = aclCreateTensorDesc(ACL_FLOAT, 2, huge, ACL_FORMAT_ND);
  EXPECT_EQ(aclGetTensorDescSize(overflow), 0U);
  aclDestroyTensorDesc(overflow);
  EXPECT_EQ(aclDataTypeSize(ACL_DOUBLE), 8U);
  EXPECT_EQ(aclDataTypeSize(ACL_STRING), 0U);
}

TEST(AclTensor, DatasetsListBuffers) {
  float data[8] = {};
  aclmdlDataset* const dataset = aclmdlCreateDataset();
  aclDataBuffer* const buffer = aclCreateDataBuffer(data, sizeof data);
  EXPECT_EQ(aclmdlAddDatasetBuffer(dataset, buffer), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclmdlGetDatasetNumBuffers(dataset), 1U);
  EXPECT_EQ(aclmdlGetDatasetBuffer(dataset, 0), buffer);
  EXPECT_EQ(aclmdlGetDatasetBuffer(dataset, 1), nullptr);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), data);
  EXPECT_EQ(aclGetDataBufferSize(buffer), sizeof data);
  EXPECT_EQ(aclUpdateDataBuffer(buffer, data + 1, 4), ACL_SUCCESS);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 4U);
  EXPECT_EQ(aclmdlDestroyDataset(dataset), ACL_SUCCESS);
  EXPECT_EQ(aclmdlDestroyDataset(dataset), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), data + 1) << "a dataset's end leaves its buffers";
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclCreateDataBuffer(nullptr, 8), nullptr);
}

}  // namespace
}  // namespace cistern::test
