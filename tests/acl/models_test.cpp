// Models of the AscendCL library, real ones: sizes, loading, running, dynamic batch, what is refused. Needs ONNX
// Runtime and the OCR models that `./dev setup` fetches.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "acl/acl_fixture.hpp"
#include "engine/om_writer.hpp"

namespace cistern::test {
namespace {

const std::string kModels = std::string(DEPS_DIRECTORY) + "/models/";
const std::string kClassifier = kModels + "classification.onnx";

bool have_models() { return std::ifstream(kClassifier).good(); }

#define NEEDS_MODELS() \
  if (!have_models()) GTEST_SKIP() << "no models: run ./dev setup"

class AclModels : public Acl {
 protected:
  // A dataset over new device memory of the sizes that the description tells; inputs are a pattern.
  aclmdlDataset* dataset(aclmdlDesc* description, bool of_inputs) {
    aclmdlDataset* const made = aclmdlCreateDataset();
    const std::size_t count = of_inputs ? aclmdlGetNumInputs(description) : aclmdlGetNumOutputs(description);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bytes =
          of_inputs ? aclmdlGetInputSizeByIndex(description, i) : aclmdlGetOutputSizeByIndex(description, i);
      void* const block = allocate(bytes);
      if (of_inputs) {
        std::vector<float> values(bytes / sizeof(float));
        for (std::size_t j = 0; j < values.size(); ++j) values[j] = static_cast<float>(j % 255) / 255.0F;
        EXPECT_EQ(aclrtMemcpy(block, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS) << recent();
      }
      EXPECT_EQ(aclmdlAddDatasetBuffer(made, aclCreateDataBuffer(block, bytes)), ACL_SUCCESS);
    }
    return made;
  }
  void destroy(aclmdlDataset* made) {
    for (std::size_t i = 0; i < aclmdlGetDatasetNumBuffers(made); ++i) {
      aclDataBuffer* const buffer = aclmdlGetDatasetBuffer(made, i);
      EXPECT_EQ(aclrtFree(aclGetDataBufferAddr(buffer)), ACL_SUCCESS) << recent();
      EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
    }
    EXPECT_EQ(aclmdlDestroyDataset(made), ACL_SUCCESS);
  }
  std::vector<float> contents(aclmdlDataset* made, std::size_t count) {
    std::vector<float> values(count);
    aclDataBuffer* const buffer = aclmdlGetDatasetBuffer(made, 0);
    EXPECT_EQ(aclrtMemcpy(values.data(), count * sizeof(float), aclGetDataBufferAddr(buffer), count * sizeof(float),
                          ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_SUCCESS)
        << recent();
    return values;
  }
  aclmdlDesc* describe(std::uint32_t id) {
    aclmdlDesc* const description = aclmdlCreateDesc();
    EXPECT_EQ(aclmdlGetDesc(description, id), ACL_SUCCESS) << recent();
    return description;
  }
};

TEST_F(AclModels, RunsInMemoryOfThePoolAndLeavesNothing) {
  NEEDS_MODELS();
  std::size_t work = 0;
  std::size_t weights = 0;
  ASSERT_EQ(aclmdlQuerySize(kClassifier.c_str(), &work, &weights), ACL_SUCCESS) << recent();
  EXPECT_GT(work, 0U);
  EXPECT_GT(weights, 0U);
  std::uint32_t id = 0;
  ASSERT_EQ(aclmdlLoadFromFile(kClassifier.c_str(), &id), ACL_SUCCESS) << recent();
  EXPECT_GE(id, 1U);
  EXPECT_EQ(used(), work + weights) << "one reservation at load";
  aclmdlDesc* const description = describe(id);
  EXPECT_EQ(aclmdlGetNumInputs(description), 1U);
  aclmdlIODims dims{};
  EXPECT_EQ(aclmdlGetInputDims(description, 0, &dims), ACL_SUCCESS);
  ASSERT_EQ(dims.dimCount, 4U);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(description, 0),
            static_cast<std::size_t>(dims.dims[0] * dims.dims[1] * dims.dims[2] * dims.dims[3]) * sizeof(float));
  EXPECT_EQ(aclmdlGetInputDataType(description, 0), ACL_FLOAT);
  EXPECT_EQ(aclmdlGetInputFormat(description, 0), ACL_FORMAT_NCHW);
  std::size_t index = 9;
  EXPECT_EQ(aclmdlGetInputIndexByName(description, aclmdlGetInputNameByIndex(description, 0), &index), ACL_SUCCESS);
  EXPECT_EQ(index, 0U);
  const std::size_t used_before = used();
  aclmdlDataset* const input = dataset(description, true);
  aclmdlDataset* const output = dataset(description, false);
  ASSERT_EQ(aclmdlExecute(id, input, output), ACL_SUCCESS) << recent();
  const std::vector<float> scores = contents(output, 2);
  EXPECT_NEAR(scores[0] + scores[1], 1.0F, 1e-4F) << "two classes, after a softmax";
  ASSERT_EQ(aclmdlExecute(id, input, output), ACL_SUCCESS) << recent();
  EXPECT_EQ(contents(output, 2), scores) << "the same window, the same result";
  EXPECT_EQ(aclmdlGetCurOutputDims(description, 0, &dims), ACL_SUCCESS);
  EXPECT_EQ(dims.dims[1], 2);
  destroy(input);
  destroy(output);
  EXPECT_EQ(used(), used_before);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  EXPECT_EQ(used(), 0U);
  EXPECT_EQ(aclmdlUnload(id), ACL_ERROR_INVALID_MODEL_ID);
  EXPECT_EQ(aclmdlGetNumInputs(description), 1U) << "a description outlives its model";
  EXPECT_EQ(aclmdlDestroyDesc(description), ACL_SUCCESS);
}

TEST_F(AclModels, LivesInMemoryOfTheProgram) {
  NEEDS_MODELS();
  std::size_t work = 0;
  std::size_t weights = 0;
  ASSERT_EQ(aclmdlQuerySize(kClassifier.c_str(), &work, &weights), ACL_SUCCESS) << recent();
  void* const work_block = allocate(work);
  void* const weight_block = allocate(weights);
  const std::size_t used_before = used();
  std::uint32_t id = 0;
  EXPECT_EQ(aclmdlLoadFromFileWithMem(kClassifier.c_str(), &id, work_block, work - 512, weight_block, weights),
            ACL_ERROR_MODEL_SIZE_INVALID);
  EXPECT_TRUE(contains(recent(), "'workPtr'")) << recent();
  ASSERT_EQ(aclmdlLoadFromFileWithMem(kClassifier.c_str(), &id, work_block, work, weight_block, weights), ACL_SUCCESS)
      << recent();
  EXPECT_EQ(used(), used_before) << "nothing of the pool's";
  std::uint32_t other = 0;
  ASSERT_EQ(aclmdlLoadFromFile(kClassifier.c_str(), &other), ACL_SUCCESS) << recent();
  aclmdlDesc* const description = describe(id);
  aclmdlDataset* const input = dataset(description, true);
  aclmdlDataset* const output = dataset(description, false);
  ASSERT_EQ(aclmdlExecute(other, input, output), ACL_SUCCESS) << recent();
  const std::vector<float> scores = contents(output, 2);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclmdlExecuteAsync(id, input, output, stream), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << recent();
  EXPECT_EQ(contents(output, 2), scores);
  destroy(input);
  destroy(output);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  EXPECT_EQ(aclmdlUnload(other), ACL_SUCCESS);
  EXPECT_EQ(aclmdlDestroyDesc(description), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(work_block), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(weight_block), ACL_SUCCESS);
}

TEST_F(AclModels, DynamicBatchIsChosenByTheDataset) {
  NEEDS_MODELS();
  ::setenv("CISTERN_MODEL_SHAPES", "classification:x:0=1:4;", 1);
  std::uint32_t id = 0;
  const aclError loaded = aclmdlLoadFromFile(kClassifier.c_str(), &id);
  ::unsetenv("CISTERN_MODEL_SHAPES");
  ASSERT_EQ(loaded, ACL_SUCCESS) << recent();
  aclmdlDesc* const description = describe(id);
  ASSERT_EQ(aclmdlGetNumInputs(description), 2U);
  EXPECT_STREQ(aclmdlGetInputNameByIndex(description, 1), ACL_DYNAMIC_TENSOR_NAME);
  std::size_t index = 0;
  EXPECT_EQ(aclmdlGetInputIndexByName(description, ACL_DYNAMIC_TENSOR_NAME, &index), ACL_SUCCESS);
  aclmdlBatch batches{};
  EXPECT_EQ(aclmdlGetDynamicBatch(description, &batches), ACL_SUCCESS);
  ASSERT_EQ(batches.batchCount, 4U);
  EXPECT_EQ(batches.batch[3], 4U);
  aclmdlDataset* const input = dataset(description, true);
  aclmdlDataset* const output = dataset(description, false);
  EXPECT_EQ(aclmdlExecute(id, input, output), ACL_ERROR_MODEL_INPUT_NOT_MATCH);
  EXPECT_TRUE(contains(recent(), "aclmdlSetDynamicBatchSize()")) << recent();
  EXPECT_EQ(aclmdlSetDynamicBatchSize(id, input, index, 5), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetDynamicBatchSize(id, input, 0, 2), ACL_ERROR_INVALID_PARAM);
  for (const std::uint64_t batch : {3U, 1U, 4U}) {
    EXPECT_EQ(aclmdlSetDynamicBatchSize(id, input, index, batch), ACL_SUCCESS) << recent();
    ASSERT_EQ(aclmdlExecute(id, input, output), ACL_SUCCESS) << recent();
    aclmdlIODims dims{};
    EXPECT_EQ(aclmdlGetCurOutputDims(description, 0, &dims), ACL_SUCCESS);
    EXPECT_EQ(dims.dims[0], static_cast<std::int64_t>(batch));
    const std::vector<float> scores = contents(output, 2 * batch);
    EXPECT_NEAR(scores[2 * batch - 2] + scores[2 * batch - 1], 1.0F, 1e-4F);
  }
  destroy(input);
  destroy(output);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  EXPECT_EQ(aclmdlDestroyDesc(description), ACL_SUCCESS);
}

TEST_F(AclModels, WhatDoesNotFitIsNamed) {
  NEEDS_MODELS();
  std::uint32_t id = 0;
  EXPECT_EQ(aclmdlLoadFromFile((kModels + "nothing.onnx").c_str(), &id), ACL_ERROR_INVALID_FILE);
  EXPECT_EQ(aclmdlLoadFromFile((kModels + "dictionary.txt").c_str(), &id), ACL_ERROR_PARSE_MODEL) << recent();
  ASSERT_EQ(aclmdlLoadFromFile(kClassifier.c_str(), &id), ACL_SUCCESS) << recent();
  aclmdlDesc* const description = describe(id);
  aclmdlDataset* const empty = aclmdlCreateDataset();
  aclmdlDataset* const input = dataset(description, true);
  aclmdlDataset* const output = dataset(description, false);
  EXPECT_EQ(aclmdlExecute(id, empty, output), ACL_ERROR_MODEL_INPUT_NOT_MATCH);
  EXPECT_EQ(aclmdlExecute(id, input, empty), ACL_ERROR_MODEL_OUTPUT_NOT_MATCH);
  EXPECT_EQ(aclmdlExecute(id + 1, input, output), ACL_ERROR_INVALID_MODEL_ID);
  EXPECT_EQ(aclmdlSetDynamicBatchSize(id, input, 1, 2), ACL_ERROR_MODEL_NOT_DYNAMIC);
  aclDataBuffer* const buffer = aclmdlGetDatasetBuffer(input, 0);
  void* const data = aclGetDataBufferAddr(buffer);
  const std::size_t bytes = aclGetDataBufferSizeV2(buffer);
  EXPECT_EQ(aclUpdateDataBuffer(buffer, data, bytes - 4), ACL_SUCCESS);
  EXPECT_EQ(aclmdlExecute(id, input, output), ACL_ERROR_MODEL_INPUT_NOT_MATCH);
  EXPECT_TRUE(contains(recent(), "input 0 'x'") && contains(recent(), std::to_string(bytes))) << recent();
  std::vector<char> host(bytes);
  EXPECT_EQ(aclUpdateDataBuffer(buffer, host.data(), bytes), ACL_SUCCESS);
  take_log();
  EXPECT_EQ(aclmdlExecute(id, input, output), ACL_SUCCESS) << "permissive: " << recent();
  EXPECT_TRUE(contains(take_log(), "'input 0 'x'' is host memory where device memory is needed"));
  EXPECT_EQ(aclUpdateDataBuffer(buffer, data, bytes), ACL_SUCCESS);
  destroy(input);
  destroy(output);
  EXPECT_EQ(aclmdlDestroyDataset(empty), ACL_SUCCESS);
  take_log();
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  const std::string log = take_log();
  EXPECT_TRUE(contains(log, "model " + std::to_string(id) + " (classification)")) << log;
  EXPECT_TRUE(contains(log, "model description")) << log;
}

TEST_F(AclModels, ModelsOfAContextShareTheirWork) {
  NEEDS_MODELS();
  const std::string recogniser = kModels + "recognition.onnx";
  std::size_t work[2] = {};
  std::size_t weights[2] = {};
  ASSERT_EQ(aclmdlQuerySize(kClassifier.c_str(), &work[0], &weights[0]), ACL_SUCCESS) << recent();
  ASSERT_EQ(aclmdlQuerySize(recogniser.c_str(), &work[1], &weights[1]), ACL_SUCCESS) << recent();
  std::uint32_t ids[2] = {};
  ASSERT_EQ(aclmdlLoadFromFile(kClassifier.c_str(), &ids[0]), ACL_SUCCESS) << recent();
  ASSERT_EQ(aclmdlLoadFromFile(recogniser.c_str(), &ids[1]), ACL_SUCCESS) << recent();
  EXPECT_EQ(used(), weights[0] + weights[1] + std::max(work[0], work[1]));
  aclrtContext other = nullptr;
  ASSERT_EQ(aclrtCreateContext(&other, 0), ACL_SUCCESS);
  std::uint32_t apart = 0;
  ASSERT_EQ(aclmdlLoadFromFile(kClassifier.c_str(), &apart), ACL_SUCCESS) << recent();
  EXPECT_EQ(used(), weights[0] + work[0]) << "another context, another pool";
  std::vector<char> file;
  std::ifstream stream(kClassifier, std::ios::binary);
  file.assign(std::istreambuf_iterator<char>(stream), {});
  std::size_t from_memory[2] = {};
  EXPECT_EQ(aclmdlQuerySizeFromMem(file.data(), file.size(), &from_memory[0], &from_memory[1]), ACL_ERROR_INVALID_PARAM)
      << "a model without a name has no known extents";
  for (const std::uint32_t id : {ids[0], ids[1], apart}) EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(other), ACL_SUCCESS);
}

TEST_F(AclModels, FilesForAnNpuTellTheirSizesAndAreRefused) {
  const std::vector<std::byte> file = make_om_file(true);
  std::size_t work = 0;
  std::size_t weights = 0;
  EXPECT_EQ(aclmdlQuerySizeFromMem(file.data(), file.size(), &work, &weights), ACL_SUCCESS) << recent();
  EXPECT_EQ(work, 5000000U);
  EXPECT_EQ(weights, 6000U);
  std::uint32_t id = 0;
  EXPECT_EQ(aclmdlLoadFromMem(file.data(), file.size(), &id), ACL_ERROR_FEATURE_UNSUPPORTED);
  EXPECT_TRUE(contains(recent(), "load the ONNX file that it was made of")) << recent();
  EXPECT_TRUE(contains(recent(), "input data[1,-1] 602112 bytes; output prob[1,-1] 4000 bytes")) << recent();
  EXPECT_EQ(aclmdlQuerySizeFromMem(file.data(), file.size() - 1, &work, &weights), ACL_ERROR_PARSE_MODEL);
  EXPECT_TRUE(contains(recent(), "damaged")) << recent();
}

}  // namespace
}  // namespace cistern::test
