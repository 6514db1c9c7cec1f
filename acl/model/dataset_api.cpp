// Data buffers and datasets of the interface: handles in, objects of datasets.hpp out.
#include "acl/acl.h"
#include "acl/model/datasets.hpp"

using namespace cistern::acl;

namespace {

// Opaque pointers of the interface are handles.
template <typename T>
T* as(void* handle) noexcept {
  return static_cast<T*>(handle);
}

// The object, or null with a text for aclGetRecentErrMsg().
template <typename T>
std::shared_ptr<T> look_up(std::string_view function, const Handles<T>& handles, const void* handle) noexcept {
  std::shared_ptr<T> found;
  static_cast<void>(enter(function, [&]() -> Outcome {
    found = handles.find(handle);
    return found == nullptr ? handles.explain(handle) : Outcome();
  }));
  return found;
}

template <typename T>
aclError destroy(std::string_view function, Handles<T>& handles, const void* handle) noexcept {
  return enter(function,
               [&]() -> Outcome { return handles.withdraw(handle) == nullptr ? handles.explain(handle) : Outcome(); });
}

}  // namespace

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  const void* const caller = __builtin_return_address(0);
  aclDataBuffer* created = nullptr;
  static_cast<void>(enter("aclCreateDataBuffer", [&]() -> Outcome {
    if (data == nullptr && size != 0) return invalid_parameter("'data' is NULL, but has a size");
    created = as<aclDataBuffer>(data_buffers().issue(std::make_shared<DataBuffer>(DataBuffer{data, size, caller})));
    return {};
  }));
  return created;
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return destroy("aclDestroyDataBuffer", data_buffers(), dataBuffer);
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return enter("aclUpdateDataBuffer", [&]() -> Outcome {
    const auto buffer = data_buffers().find(dataBuffer);
    if (buffer == nullptr) return data_buffers().explain(dataBuffer);
    if (data == nullptr && size != 0) return invalid_parameter("'data' is NULL, but has a size");
    buffer->data = data;
    buffer->bytes = size;
    return {};
  });
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  const auto buffer = look_up("aclGetDataBufferAddr", data_buffers(), dataBuffer);
  return buffer == nullptr ? nullptr : buffer->data;
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  const auto buffer = look_up("aclGetDataBufferSize", data_buffers(), dataBuffer);
  return buffer == nullptr ? 0 : static_cast<uint32_t>(buffer->bytes);
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  const auto buffer = look_up("aclGetDataBufferSizeV2", data_buffers(), dataBuffer);
  return buffer == nullptr ? 0 : buffer->bytes;
}

aclmdlDataset* aclmdlCreateDataset(void) {
  const void* const caller = __builtin_return_address(0);
  aclmdlDataset* created = nullptr;
  static_cast<void>(enter("aclmdlCreateDataset", [&]() -> Outcome {
    created = as<aclmdlDataset>(datasets().issue(std::make_shared<Dataset>(Dataset{{}, caller, 0})));
    return {};
  }));
  return created;
}

aclError aclmdlDestroyDataset(const aclmdlDataset* dataset) {
  return destroy("aclmdlDestroyDataset", datasets(), dataset);
}

aclError aclmdlAddDatasetBuffer(aclmdlDataset* dataset, aclDataBuffer* dataBuffer) {
  return enter("aclmdlAddDatasetBuffer", [&]() -> Outcome {
    const auto found = datasets().find(dataset);
    if (found == nullptr) return datasets().explain(dataset);
    if (data_buffers().find(dataBuffer) == nullptr) return data_buffers().explain(dataBuffer);
    found->buffers.push_back(dataBuffer);
    return {};
  });
}

size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset* dataset) {
  const auto found = look_up("aclmdlGetDatasetNumBuffers", datasets(), dataset);
  return found == nullptr ? 0 : found->buffers.size();
}

aclDataBuffer* aclmdlGetDatasetBuffer(const aclmdlDataset* dataset, size_t index) {
  const auto found = look_up("aclmdlGetDatasetBuffer", datasets(), dataset);
  if (found != nullptr && index < found->buffers.size()) return found->buffers[index];
  if (found != nullptr) {
    static_cast<void>(enter("aclmdlGetDatasetBuffer", [&] {
      return invalid_parameter("index " + std::to_string(index) + " of " + std::to_string(found->buffers.size()) +
                               " buffers");
    }));
  }
  return nullptr;
}
