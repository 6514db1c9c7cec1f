// Several models on one NPU and one stream, all memory from pools: load them, look at the pool, run each, look again.
//
//   multi_model MODEL.onnx... [--context-per-model]
//
// Plain AscendCL but for aclrtGetMemPoolInfo(), which is Cistern's. With --context-per-model each model lives in a
// context of its own, so that no model can take another's memory.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "acl/acl.h"

namespace {

bool is_ok(aclError code, const char* what) {
  if (code == ACL_SUCCESS) return true;
  std::fprintf(stderr, "%s failed with %d: %s\n", what, code, aclGetRecentErrMsg());
  return false;
}

struct Model {
  std::string path;
  aclrtContext context = nullptr;  // null: the device's default one
  uint32_t id = 0;
  aclmdlDesc* desc = nullptr;
};

// Memory of the device in a dataset, given back when it goes out of scope.
class Tensors {
 public:
  Tensors() : dataset_(aclmdlCreateDataset()) {}
  ~Tensors() {
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(dataset_); ++i) {
      aclDataBuffer* buffer = aclmdlGetDatasetBuffer(dataset_, i);
      is_ok(aclrtFree(aclGetDataBufferAddr(buffer)), "aclrtFree");
      is_ok(aclDestroyDataBuffer(buffer), "aclDestroyDataBuffer");
    }
    is_ok(aclmdlDestroyDataset(dataset_), "aclmdlDestroyDataset");
  }
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  void* add(size_t bytes) {
    void* data = nullptr;
    if (!is_ok(aclrtMalloc(&data, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc")) return nullptr;
    aclDataBuffer* buffer = aclCreateDataBuffer(data, bytes);
    if (is_ok(aclmdlAddDatasetBuffer(dataset_, buffer), "aclmdlAddDatasetBuffer")) return data;
    return nullptr;
  }
  aclmdlDataset* get() const { return dataset_; }

 private:
  aclmdlDataset* dataset_;
};

bool fill_inputs(const Model& model, Tensors& inputs) {
  for (size_t i = 0; i < aclmdlGetNumInputs(model.desc); ++i) {
    const size_t bytes = aclmdlGetInputSizeByIndex(model.desc, i);
    std::vector<float> values(bytes / sizeof(float));
    for (size_t j = 0; j < values.size(); ++j) values[j] = static_cast<float>(j % 255) / 255.0F;
    void* data = inputs.add(bytes);
    if (data == nullptr) return false;
    if (!is_ok(aclrtMemcpy(data, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy")) return false;
  }
  return true;
}

// 64-bit FNV-1a, to compare outputs by.
bool print_outputs(const Model& model, const Tensors& outputs) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(outputs.get()); ++i) {
    aclDataBuffer* buffer = aclmdlGetDatasetBuffer(outputs.get(), i);
    std::vector<unsigned char> bytes(aclGetDataBufferSizeV2(buffer));
    const aclError code =
        aclrtMemcpy(bytes.data(), bytes.size(), aclGetDataBufferAddr(buffer), bytes.size(), ACL_MEMCPY_DEVICE_TO_HOST);
    if (!is_ok(code, "aclrtMemcpy")) return false;
    for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3U;
  }
  std::printf("%s: outputs %016" PRIx64 "\n", model.path.c_str(), hash);
  return true;
}

class MultiModel {
 public:
  ~MultiModel() {
    // In this order: models, stream, everything else.
    for (const Model& model : models_) {
      if (model.desc != nullptr) aclmdlDestroyDesc(model.desc);
      if (model.id != 0) aclmdlUnload(model.id);
    }
    if (stream_ != nullptr) aclrtDestroyStream(stream_);
    for (const Model& model : models_) {
      if (model.context != nullptr) aclrtDestroyContext(model.context);
    }
    aclFinalize();
  }

  bool begin(const std::vector<std::string>& paths, bool context_per_model) {
    if (!is_ok(aclInit(nullptr), "aclInit") || !is_ok(aclrtSetDevice(0), "aclrtSetDevice")) return false;
    if (!is_ok(aclrtCreateStream(&stream_), "aclrtCreateStream")) return false;
    for (const std::string& path : paths) {
      models_.emplace_back();
      Model& model = models_.back();
      model.path = path;
      if (context_per_model && !is_ok(aclrtCreateContext(&model.context, 0), "aclrtCreateContext")) return false;
      if (!is_ok(aclmdlLoadFromFile(path.c_str(), &model.id), "aclmdlLoadFromFile")) return false;
      model.desc = aclmdlCreateDesc();
      if (!is_ok(aclmdlGetDesc(model.desc, model.id), "aclmdlGetDesc")) return false;
      std::printf("%s: model %u\n", path.c_str(), model.id);
    }
    return true;
  }

  bool infer(const Model& model) {
    if (model.context != nullptr && !is_ok(aclrtSetCurrentContext(model.context), "aclrtSetCurrentContext")) {
      return false;
    }
    Tensors inputs;
    Tensors outputs;
    if (!fill_inputs(model, inputs)) return false;
    for (size_t i = 0; i < aclmdlGetNumOutputs(model.desc); ++i) {
      if (outputs.add(aclmdlGetOutputSizeByIndex(model.desc, i)) == nullptr) return false;
    }
    return is_ok(aclmdlExecuteAsync(model.id, inputs.get(), outputs.get(), stream_), "aclmdlExecuteAsync") &&
           is_ok(aclrtSynchronizeStream(stream_), "aclrtSynchronizeStream") && print_outputs(model, outputs);
  }

  bool infer_all() {
    for (const Model& model : models_) {
      if (!infer(model)) return false;
    }
    return true;
  }

  // Of each context that has a model.
  bool print_status(const char* when) const {
    for (const Model& model : models_) {
      if (model.context != nullptr) aclrtSetCurrentContext(model.context);
      size_t total = 0;
      size_t used = 0;
      size_t free_bytes = 0;
      if (!is_ok(aclrtGetMemPoolInfo(&total, &used, &free_bytes), "aclrtGetMemPoolInfo")) return false;
      std::printf("%s: %zu bytes, used %zu (%.1f %%), free %zu\n", when, total, used,
                  total == 0 ? 0.0 : 100.0 * static_cast<double>(used) / static_cast<double>(total), free_bytes);
      if (model.context == nullptr) break;  // one pool for all
    }
    return true;
  }

 private:
  aclrtStream stream_ = nullptr;
  std::vector<Model> models_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> paths;
  bool context_per_model = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--context-per-model") == 0) {
      context_per_model = true;
    } else {
      paths.emplace_back(argv[i]);
    }
  }
  if (paths.empty()) {
    std::fprintf(stderr, "usage: multi_model MODEL.onnx... [--context-per-model]\n");
    return 2;
  }
  MultiModel program;
  const bool done = program.begin(paths, context_per_model) && program.print_status("pool before") &&
                    program.infer_all() && program.print_status("pool after");
  return done ? 0 : 1;
}
