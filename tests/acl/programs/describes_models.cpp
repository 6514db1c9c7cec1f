// A program that knows nothing of its model beforehand (C++11): it asks for every input and output by name, extents,
// format and type, chooses batch or picture size where the model leaves the choice, and runs in memory that it has
// reserved by the model's sizes. usage: describes_models MODEL
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "acl/acl.h"

#define MUST(call)                                                             \
  do {                                                                         \
    const aclError code = (call);                                              \
    if (code != ACL_SUCCESS) {                                                 \
      std::fprintf(stderr, "%s: %d, %s\n", #call, code, aclGetRecentErrMsg()); \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)

namespace {

struct Memory {
  void* work;
  void* weights;
  std::vector<void*> buffers;
};

void* device_memory(size_t bytes, Memory* memory) {
  void* data = nullptr;
  MUST(aclrtMalloc(&data, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  memory->buffers.push_back(data);
  return data;
}

void print_dims(const char* what, const char* name, const aclmdlIODims& dims, aclFormat format, aclDataType type) {
  std::printf("%s %s:", what, name);
  for (size_t i = 0; i < dims.dimCount; ++i) std::printf(" %lld", static_cast<long long>(dims.dims[i]));
  std::printf(", format %d, type %d\n", format, type);
}

void describe(aclmdlDesc* desc) {
  for (size_t i = 0; i < aclmdlGetNumInputs(desc); ++i) {
    aclmdlIODims dims;
    MUST(aclmdlGetInputDims(desc, i, &dims));
    const char* const name = aclmdlGetInputNameByIndex(desc, i);
    print_dims("input", name, dims, aclmdlGetInputFormat(desc, i), aclmdlGetInputDataType(desc, i));
    size_t index = 0;
    MUST(aclmdlGetInputIndexByName(desc, name, &index));
    if (index != i) std::exit(2);
  }
  for (size_t i = 0; i < aclmdlGetNumOutputs(desc); ++i) {
    aclmdlIODims dims;
    MUST(aclmdlGetOutputDims(desc, i, &dims));
    print_dims("output", aclmdlGetOutputNameByIndex(desc, i), dims, aclmdlGetOutputFormat(desc, i),
               aclmdlGetOutputDataType(desc, i));
  }
}

aclmdlDataset* make_dataset(aclmdlDesc* desc, bool of_inputs, Memory* memory) {
  aclmdlDataset* const dataset = aclmdlCreateDataset();
  const size_t count = of_inputs ? aclmdlGetNumInputs(desc) : aclmdlGetNumOutputs(desc);
  for (size_t i = 0; i < count; ++i) {
    const size_t bytes = of_inputs ? aclmdlGetInputSizeByIndex(desc, i) : aclmdlGetOutputSizeByIndex(desc, i);
    void* const data = device_memory(bytes, memory);
    void* zeros = nullptr;
    MUST(aclrtMallocHost(&zeros, bytes));
    std::memset(zeros, 0, bytes);
    MUST(aclrtMemcpy(data, bytes, zeros, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    MUST(aclrtFreeHost(zeros));
    MUST(aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(data, bytes)));
  }
  return dataset;
}

void destroy_dataset(aclmdlDataset* dataset) {
  for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(dataset); ++i) {
    aclDataBuffer* const buffer = aclmdlGetDatasetBuffer(dataset, i);
    if (aclGetDataBufferAddr(buffer) == nullptr || aclGetDataBufferSizeV2(buffer) == 0) std::exit(3);
    MUST(aclDestroyDataBuffer(buffer));
  }
  MUST(aclmdlDestroyDataset(dataset));
}

// Once for each choice that the model leaves.
void run_all(uint32_t id, aclmdlDesc* desc, aclmdlDataset* input, aclmdlDataset* output) {
  aclmdlBatch batch;
  aclmdlHW hw;
  MUST(aclmdlGetDynamicBatch(desc, &batch));
  MUST(aclmdlGetDynamicHW(desc, static_cast<size_t>(-1), &hw));
  const size_t choices = batch.batchCount + hw.hwCount;
  for (size_t i = 0; i < (choices == 0 ? 1 : choices); ++i) {
    size_t index = 0;
    if (choices != 0) MUST(aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_TENSOR_NAME, &index));
    if (i < batch.batchCount) {
      MUST(aclmdlSetDynamicBatchSize(id, input, index, batch.batch[i]));
    } else if (choices != 0) {
      const uint64_t* const size = hw.hw[i - batch.batchCount];
      MUST(aclmdlSetDynamicHWSize(id, input, index, size[0], size[1]));
    }
    MUST(aclmdlExecute(id, input, output));
    aclmdlIODims dims;
    MUST(aclmdlGetCurOutputDims(desc, 0, &dims));
    std::printf("run %zu: output 0 has %lld rows\n", i, static_cast<long long>(dims.dims[0]));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  MUST(aclInit(nullptr));
  MUST(aclrtSetDevice(0));
  aclrtContext context = nullptr;
  aclrtStream stream = nullptr;
  MUST(aclrtCreateContext(&context, 0));
  MUST(aclrtCreateStream(&stream));
  aclrtRunMode mode;
  MUST(aclrtGetRunMode(&mode));
  Memory memory;
  size_t work_bytes = 0;
  size_t weight_bytes = 0;
  MUST(aclmdlQuerySize(argv[1], &work_bytes, &weight_bytes));
  MUST(aclrtMalloc(&memory.work, work_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  MUST(aclrtMalloc(&memory.weights, weight_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  uint32_t id = 0;
  MUST(aclmdlLoadFromFileWithMem(argv[1], &id, memory.work, work_bytes, memory.weights, weight_bytes));
  aclmdlDesc* const desc = aclmdlCreateDesc();
  MUST(aclmdlGetDesc(desc, id));
  describe(desc);
  aclmdlDataset* const input = make_dataset(desc, true, &memory);
  aclmdlDataset* const output = make_dataset(desc, false, &memory);
  run_all(id, desc, input, output);
  destroy_dataset(input);
  destroy_dataset(output);
  for (void* buffer : memory.buffers) MUST(aclrtFree(buffer));
  MUST(aclmdlUnload(id));
  MUST(aclmdlDestroyDesc(desc));
  MUST(aclrtFree(memory.work));
  MUST(aclrtFree(memory.weights));
  MUST(aclrtDestroyStream(stream));
  MUST(aclrtDestroyContext(context));
  MUST(aclrtResetDevice(0));
  MUST(aclFinalize());
  return 0;
}
