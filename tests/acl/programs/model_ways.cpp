// The ways in which programs for Ascend use a model (C++11): in memory of their own; a hundred pairs of buffers in
// flight with callbacks; with a batch chosen at run time, forgetting one block on purpose; loaded from the program's
// memory, in turn with another model. usage: model_ways MODEL own_memory|pairs|batch, model_ways MODEL memory OTHER
#include <pthread.h>

#include <atomic>
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

// Not inline and not static, so that the report names it.
extern "C" __attribute__((noinline)) void* forgotten_batch_memory(size_t bytes) {
  void* data = nullptr;
  MUST(aclrtMalloc(&data, bytes, ACL_MEM_MALLOC_NORMAL_ONLY));
  return data;
}

namespace {

// A dataset of one buffer.
aclmdlDataset* make_dataset(void* data, size_t bytes) {
  aclmdlDataset* dataset = aclmdlCreateDataset();
  MUST(aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(data, bytes)));
  return dataset;
}

void destroy_dataset(aclmdlDataset* dataset) {
  for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(dataset); ++i) {
    MUST(aclDestroyDataBuffer(aclmdlGetDatasetBuffer(dataset, i)));
  }
  MUST(aclmdlDestroyDataset(dataset));
}

void* device_memory(size_t bytes) {
  void* data = nullptr;
  MUST(aclrtMalloc(&data, bytes, ACL_MEM_MALLOC_NORMAL_ONLY));
  return data;
}

// The first output of the last run must be probabilities of two classes.
void check_scores(const void* device_output) {
  float* scores = nullptr;
  MUST(aclrtMallocHost(reinterpret_cast<void**>(&scores), 2 * sizeof(float)));
  MUST(aclrtMemcpy(scores, 2 * sizeof(float), device_output, 2 * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST));
  const float sum = scores[0] + scores[1];
  MUST(aclrtFreeHost(scores));
  if (sum < 0.999F || sum > 1.001F) {
    std::fprintf(stderr, "the scores sum up to %f\n", static_cast<double>(sum));
    std::exit(2);
  }
}

void run_in_own_memory(const char* path) {
  size_t work_bytes = 0;
  size_t weight_bytes = 0;
  MUST(aclmdlQuerySize(path, &work_bytes, &weight_bytes));
  void* const work = device_memory(work_bytes);
  void* const weights = device_memory(weight_bytes);
  uint32_t id = 0;
  MUST(aclmdlLoadFromFileWithMem(path, &id, work, work_bytes, weights, weight_bytes));
  aclmdlDesc* desc = aclmdlCreateDesc();
  MUST(aclmdlGetDesc(desc, id));
  const size_t in_bytes = aclmdlGetInputSizeByIndex(desc, 0);
  const size_t out_bytes = aclmdlGetOutputSizeByIndex(desc, 0);
  void* const in = device_memory(in_bytes);
  void* const out = device_memory(out_bytes);
  MUST(aclrtMemset(in, in_bytes, 0, in_bytes));
  aclmdlDataset* input = make_dataset(in, in_bytes);
  aclmdlDataset* output = make_dataset(out, out_bytes);
  for (int i = 0; i < 5; ++i) MUST(aclmdlExecute(id, input, output));
  check_scores(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(output, 0)));
  destroy_dataset(input);
  destroy_dataset(output);
  MUST(aclmdlDestroyDesc(desc));
  MUST(aclmdlUnload(id));
  for (void* block : {in, out, work, weights}) MUST(aclrtFree(block));
}

struct Callbacks {
  aclrtContext context;
  std::atomic<bool> stop;
  std::atomic<int> done;
};

void* process_callbacks(void* user) {
  Callbacks* callbacks = static_cast<Callbacks*>(user);
  MUST(aclrtSetCurrentContext(callbacks->context));
  while (!callbacks->stop) static_cast<void>(aclrtProcessReport(100));  // a time-out is nothing wrong
  return nullptr;
}

void count_one(void* user) { ++static_cast<Callbacks*>(user)->done; }

void run_pairs(const char* path) {
  const int kPairs = 100;
  Callbacks callbacks;
  callbacks.stop = false;
  callbacks.done = 0;
  MUST(aclrtGetCurrentContext(&callbacks.context));
  aclrtStream stream = nullptr;
  MUST(aclrtCreateStream(&stream));
  uint32_t id = 0;
  MUST(aclmdlLoadFromFile(path, &id));
  aclmdlDesc* desc = aclmdlCreateDesc();
  MUST(aclmdlGetDesc(desc, id));
  pthread_t thread;
  if (pthread_create(&thread, nullptr, &process_callbacks, &callbacks) != 0) std::exit(3);
  MUST(aclrtSubscribeReport(static_cast<uint64_t>(thread), stream));
  std::vector<aclmdlDataset*> inputs;
  std::vector<aclmdlDataset*> outputs;
  for (int i = 0; i < kPairs; ++i) {
    const size_t in_bytes = aclmdlGetInputSizeByIndex(desc, 0);
    const size_t out_bytes = aclmdlGetOutputSizeByIndex(desc, 0);
    inputs.push_back(make_dataset(device_memory(in_bytes), in_bytes));
    outputs.push_back(make_dataset(device_memory(out_bytes), out_bytes));
    void* const in = aclGetDataBufferAddr(aclmdlGetDatasetBuffer(inputs.back(), 0));
    MUST(aclrtMemsetAsync(in, in_bytes, 0, in_bytes, stream));
    MUST(aclmdlExecuteAsync(id, inputs.back(), outputs.back(), stream));
    MUST(aclrtLaunchCallback(&count_one, &callbacks, ACL_CALLBACK_BLOCK, stream));
  }
  MUST(aclrtSynchronizeStream(stream));
  if (callbacks.done != kPairs) std::exit(4);
  check_scores(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(outputs.back(), 0)));
  callbacks.stop = true;
  pthread_join(thread, nullptr);
  MUST(aclrtUnSubscribeReport(static_cast<uint64_t>(thread), stream));
  for (const auto& datasets : {inputs, outputs}) {
    for (aclmdlDataset* dataset : datasets) {
      MUST(aclrtFree(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(dataset, 0))));
      destroy_dataset(dataset);
    }
  }
  MUST(aclmdlUnload(id));
  MUST(aclmdlDestroyDesc(desc));
  MUST(aclrtDestroyStream(stream));
}

void run_with_batch(const char* path) {
  uint32_t id = 0;
  MUST(aclmdlLoadFromFile(path, &id));
  aclmdlDesc* desc = aclmdlCreateDesc();
  MUST(aclmdlGetDesc(desc, id));
  if (aclmdlGetNumInputs(desc) != 2) std::exit(5);
  size_t index = 0;
  MUST(aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_TENSOR_NAME, &index));
  const size_t in_bytes = aclmdlGetInputSizeByIndex(desc, 0);
  const size_t out_bytes = aclmdlGetOutputSizeByIndex(desc, 0);
  const size_t batch_bytes = aclmdlGetInputSizeByIndex(desc, index);
  void* const in = device_memory(in_bytes);
  void* const out = device_memory(out_bytes);
  MUST(aclrtMemset(in, in_bytes, 0, in_bytes));
  aclmdlDataset* input = make_dataset(in, in_bytes);
  aclmdlDataset* output = make_dataset(out, out_bytes);
  aclDataBuffer* batch = aclCreateDataBuffer(forgotten_batch_memory(batch_bytes), batch_bytes);
  MUST(aclmdlAddDatasetBuffer(input, batch));
  for (uint64_t size = 1; size <= 4; size *= 2) {
    MUST(aclmdlSetDynamicBatchSize(id, input, index, size));
    MUST(aclmdlExecute(id, input, output));
    check_scores(out);
  }
  destroy_dataset(input);
  destroy_dataset(output);
  MUST(aclrtFree(in));
  MUST(aclrtFree(out));
  MUST(aclmdlDestroyDesc(desc));
  MUST(aclmdlUnload(id));
}

std::vector<char> contents_of(const char* path) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr || std::fseek(file, 0, SEEK_END) != 0) std::exit(8);
  std::vector<char> contents(static_cast<size_t>(std::ftell(file)));
  std::rewind(file);
  if (std::fread(contents.data(), 1, contents.size(), file) != contents.size()) std::exit(8);
  std::fclose(file);
  return contents;
}

// The bytes of the first output, for inputs of zeros.
std::vector<char> output_of(uint32_t id) {
  aclmdlDesc* desc = aclmdlCreateDesc();
  MUST(aclmdlGetDesc(desc, id));
  aclmdlDataset* input = aclmdlCreateDataset();
  for (size_t i = 0; i < aclmdlGetNumInputs(desc); ++i) {
    const size_t bytes = aclmdlGetInputSizeByIndex(desc, i);
    void* const in = device_memory(bytes);
    MUST(aclrtMemset(in, bytes, 0, bytes));
    MUST(aclmdlAddDatasetBuffer(input, aclCreateDataBuffer(in, bytes)));
  }
  std::vector<char> result(aclmdlGetOutputSizeByIndex(desc, 0));
  void* const out = device_memory(result.size());
  aclmdlDataset* output = make_dataset(out, result.size());
  MUST(aclmdlExecute(id, input, output));
  void* host = nullptr;
  MUST(aclrtMallocHost(&host, result.size()));
  MUST(aclrtMemcpy(host, result.size(), out, result.size(), ACL_MEMCPY_DEVICE_TO_HOST));
  std::memcpy(result.data(), host, result.size());
  MUST(aclrtFreeHost(host));
  for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(input); ++i) {
    MUST(aclrtFree(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(input, i))));
  }
  MUST(aclrtFree(out));
  destroy_dataset(input);
  destroy_dataset(output);
  MUST(aclmdlDestroyDesc(desc));
  return result;
}

// Sizes of models that follow each other quickly.
void query_in_turn(const char* const paths[2]) {
  std::vector<char> models[2];
  size_t work[2];
  size_t weights[2];
  for (int i = 0; i < 2; ++i) {
    models[i] = contents_of(paths[i]);
    MUST(aclmdlQuerySize(paths[i], &work[i], &weights[i]));
  }
  const int turns = models[0].size() < 100000 ? 1000 : 4;
  for (int i = 0; i < turns; ++i) {
    size_t found[2];
    MUST(aclmdlQuerySizeFromMem(models[i % 2].data(), models[i % 2].size(), &found[0], &found[1]));
    if (found[0] != work[i % 2] || found[1] != weights[i % 2]) std::exit(11);
  }
}

// Each as the file is, though both follow each other at the same address.
void run_from_memory(const char* first_path, const char* second_path) {
  const char* const paths[] = {first_path, second_path};
  query_in_turn(paths);
  std::vector<char> shared;
  for (int i = 0; i < 8; ++i) {
    const char* const path = paths[i % 2];
    shared = contents_of(path);
    size_t work[2];
    size_t weights[2];
    MUST(aclmdlQuerySize(path, &work[0], &weights[0]));
    MUST(aclmdlQuerySizeFromMem(shared.data(), shared.size(), &work[1], &weights[1]));
    if (work[0] != work[1] || weights[0] != weights[1]) std::exit(9);
    uint32_t ids[3];
    void* const work_block = device_memory(work[1]);
    void* const weight_block = device_memory(weights[1]);
    MUST(aclmdlLoadFromFile(path, &ids[0]));
    MUST(aclmdlLoadFromMem(shared.data(), shared.size(), &ids[1]));
    MUST(
        aclmdlLoadFromMemWithMem(shared.data(), shared.size(), &ids[2], work_block, work[1], weight_block, weights[1]));
    std::memset(shared.data(), 0, shared.size());  // it is the program's again
    const std::vector<char> wanted = output_of(ids[0]);
    if (output_of(ids[1]) != wanted || output_of(ids[2]) != wanted) std::exit(10);
    for (const uint32_t id : ids) MUST(aclmdlUnload(id));
    MUST(aclrtFree(work_block));
    MUST(aclrtFree(weight_block));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 6;
  MUST(aclInit(nullptr));
  MUST(aclrtSetDevice(0));
  aclrtContext context = nullptr;
  MUST(aclrtCreateContext(&context, 0));
  aclrtRunMode mode = ACL_DEVICE;
  MUST(aclrtGetRunMode(&mode));
  if (mode != ACL_HOST) return 7;
  if (std::strcmp(argv[2], "own_memory") == 0) run_in_own_memory(argv[1]);
  if (std::strcmp(argv[2], "pairs") == 0) run_pairs(argv[1]);
  if (std::strcmp(argv[2], "batch") == 0) run_with_batch(argv[1]);
  if (std::strcmp(argv[2], "memory") == 0 && argc == 4) run_from_memory(argv[1], argv[3]);
  MUST(aclrtDestroyContext(context));
  MUST(aclrtResetDevice(0));
  MUST(aclFinalize());
  return 0;
}
