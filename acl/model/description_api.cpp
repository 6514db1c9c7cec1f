// Descriptions of models: what a program asks before it makes buffers.
#include <algorithm>
#include <cstring>
#include <string>

#include "acl/acl_mdl.h"
#include "acl/model/models.hpp"

using namespace cistern::acl;

namespace {

// The batch that a program chooses is data of a model's last input.
const TensorFacts& batch_input() {
  static const auto* const kInput =
      new TensorFacts{ACL_DYNAMIC_TENSOR_NAME, cistern::engine::ElementType::int64, {1}, 8, false};
  return *kInput;
}

Outcome find_description(const aclmdlDesc* handle, std::shared_ptr<ModelDescription>* found) {
  *found = model_descriptions().find(handle);
  if (*found == nullptr) return model_descriptions().explain(handle);
  if ((*found)->facts == nullptr) return invalid_parameter("the description is empty: call aclmdlGetDesc() first");
  return {};
}

std::size_t count(const ModelFacts& facts, bool of_inputs) noexcept {
  return of_inputs ? facts.inputs.size() + (facts.has_dynamic_batch() ? 1 : 0) : facts.outputs.size();
}

const TensorFacts& tensor_at(const ModelFacts& facts, bool of_inputs, std::size_t index) noexcept {
  if (!of_inputs) return facts.outputs[index];
  return index < facts.inputs.size() ? facts.inputs[index] : batch_input();
}

// Calls action(const TensorFacts&, const ModelDescription&) -> Outcome.
template <typename Action>
aclError with_tensor(std::string_view function, const aclmdlDesc* handle, bool of_inputs, std::size_t index,
                     const Action& action) noexcept {
  return enter(function, [&]() -> Outcome {
    std::shared_ptr<ModelDescription> description;
    if (Outcome wrong = find_description(handle, &description); !wrong.is_ok()) return wrong;
    const std::size_t most = count(*description->facts, of_inputs);
    if (index >= most) {
      return invalid_parameter("index " + std::to_string(index) + " of " + std::to_string(most) +
                               (of_inputs ? " inputs" : " outputs"));
    }
    return action(tensor_at(*description->facts, of_inputs, index), *description);
  });
}

std::size_t count_of(std::string_view function, const aclmdlDesc* handle, bool of_inputs) noexcept {
  std::size_t found = 0;
  static_cast<void>(enter(function, [&]() -> Outcome {
    std::shared_ptr<ModelDescription> description;
    if (Outcome wrong = find_description(handle, &description); !wrong.is_ok()) return wrong;
    found = count(*description->facts, of_inputs);
    return {};
  }));
  return found;
}

// One property of a tensor, or `otherwise`.
template <typename T, typename Read>
T property(std::string_view function, const aclmdlDesc* handle, bool of_inputs, std::size_t index, T otherwise,
           const Read& read) noexcept {
  T value = otherwise;
  static_cast<void>(with_tensor(function, handle, of_inputs, index,
                                [&](const TensorFacts& tensor, const ModelDescription&) -> Outcome {
                                  value = read(tensor);
                                  return {};
                                }));
  return value;
}

Outcome write_dims(const TensorFacts& tensor, const std::vector<std::int64_t>& extents, aclmdlIODims* dims) {
  if (dims == nullptr) return invalid_parameter("'dims' is NULL");
  if (extents.size() > ACL_MAX_DIM_CNT) return unsupported("more than 128 extents");
  *dims = {};
  std::strncpy(dims->name, tensor.name.c_str(), sizeof dims->name - 1);
  dims->dimCount = extents.size();
  std::copy(extents.begin(), extents.end(), dims->dims);
  return {};
}

aclError write_general_dims(std::string_view function, const aclmdlDesc* handle, bool of_inputs, std::size_t index,
                            aclmdlIODims* dims) noexcept {
  return with_tensor(function, handle, of_inputs, index,
                     [&](const TensorFacts& tensor, const ModelDescription&) -> Outcome {
                       std::vector<std::int64_t> extents = tensor.extents;
                       if (tensor.has_batch) extents[0] = -1;
                       return write_dims(tensor, extents, dims);
                     });
}

aclFormat format_of(const TensorFacts& tensor) noexcept {
  return tensor.extents.size() == 4 ? ACL_FORMAT_NCHW : ACL_FORMAT_ND;
}

aclError find_index(std::string_view function, const aclmdlDesc* handle, bool of_inputs, const char* name,
                    std::size_t* index) noexcept {
  return enter(function, [&]() -> Outcome {
    std::shared_ptr<ModelDescription> description;
    if (Outcome wrong = find_description(handle, &description); !wrong.is_ok()) return wrong;
    if (name == nullptr || index == nullptr) return invalid_parameter("an argument is NULL");
    for (std::size_t i = 0; i < count(*description->facts, of_inputs); ++i) {
      if (tensor_at(*description->facts, of_inputs, i).name != name) continue;
      *index = i;
      return {};
    }
    return invalid_parameter("model '" + description->facts->name + "' has no " + (of_inputs ? "input '" : "output '") +
                             name + "'");
  });
}

}  // namespace

aclmdlDesc* aclmdlCreateDesc(void) {
  const void* const caller = __builtin_return_address(0);
  aclmdlDesc* created = nullptr;
  static_cast<void>(enter("aclmdlCreateDesc", [&]() -> Outcome {
    auto description = std::make_shared<ModelDescription>();
    description->caller = caller;
    created = static_cast<aclmdlDesc*>(model_descriptions().issue(std::move(description)));
    return {};
  }));
  return created;
}

aclError aclmdlDestroyDesc(aclmdlDesc* modelDesc) {
  return enter("aclmdlDestroyDesc", [&]() -> Outcome {
    return model_descriptions().withdraw(modelDesc) == nullptr ? model_descriptions().explain(modelDesc) : Outcome();
  });
}

aclError aclmdlGetDesc(aclmdlDesc* modelDesc, uint32_t modelId) {
  return enter_running("aclmdlGetDesc", [&](Runtime&) -> Outcome {
    const auto description = model_descriptions().find(modelDesc);
    if (description == nullptr) return model_descriptions().explain(modelDesc);
    std::shared_ptr<LoadedModel> model;
    if (Outcome wrong = models().find(modelId, &model); !wrong.is_ok()) return wrong;
    description->facts = model->facts();
    description->model = model;
    return {};
  });
}

size_t aclmdlGetNumInputs(aclmdlDesc* modelDesc) { return count_of("aclmdlGetNumInputs", modelDesc, true); }

size_t aclmdlGetNumOutputs(aclmdlDesc* modelDesc) { return count_of("aclmdlGetNumOutputs", modelDesc, false); }

size_t aclmdlGetInputSizeByIndex(aclmdlDesc* modelDesc, size_t index) {
  return property<size_t>("aclmdlGetInputSizeByIndex", modelDesc, true, index, 0,
                          [](const TensorFacts& tensor) { return tensor.bytes; });
}

size_t aclmdlGetOutputSizeByIndex(aclmdlDesc* modelDesc, size_t index) {
  return property<size_t>("aclmdlGetOutputSizeByIndex", modelDesc, false, index, 0,
                          [](const TensorFacts& tensor) { return tensor.bytes; });
}

aclError aclmdlGetInputDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims) {
  return write_general_dims("aclmdlGetInputDims", modelDesc, true, index, dims);
}

aclError aclmdlGetInputDimsV2(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims) {
  return write_general_dims("aclmdlGetInputDimsV2", modelDesc, true, index, dims);
}

aclError aclmdlGetOutputDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims) {
  return write_general_dims("aclmdlGetOutputDims", modelDesc, false, index, dims);
}

aclError aclmdlGetCurOutputDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims) {
  return with_tensor("aclmdlGetCurOutputDims", modelDesc, false, index,
                     [&](const TensorFacts& tensor, const ModelDescription& description) -> Outcome {
                       const std::shared_ptr<LoadedModel> model = description.model.lock();
                       return write_dims(tensor, model == nullptr ? tensor.extents : model->last_extents(index), dims);
                     });
}

const char* aclmdlGetInputNameByIndex(const aclmdlDesc* modelDesc, size_t index) {
  return property<const char*>("aclmdlGetInputNameByIndex", modelDesc, true, index, nullptr,
                               [](const TensorFacts& tensor) { return tensor.name.c_str(); });
}

const char* aclmdlGetOutputNameByIndex(const aclmdlDesc* modelDesc, size_t index) {
  return property<const char*>("aclmdlGetOutputNameByIndex", modelDesc, false, index, nullptr,
                               [](const TensorFacts& tensor) { return tensor.name.c_str(); });
}

aclFormat aclmdlGetInputFormat(const aclmdlDesc* modelDesc, size_t index) {
  return property<aclFormat>("aclmdlGetInputFormat", modelDesc, true, index, ACL_FORMAT_UNDEFINED, format_of);
}

aclFormat aclmdlGetOutputFormat(const aclmdlDesc* modelDesc, size_t index) {
  return property<aclFormat>("aclmdlGetOutputFormat", modelDesc, false, index, ACL_FORMAT_UNDEFINED, format_of);
}

aclDataType aclmdlGetInputDataType(const aclmdlDesc* modelDesc, size_t index) {
  return property<aclDataType>("aclmdlGetInputDataType", modelDesc, true, index, ACL_DT_UNDEFINED,
                               [](const TensorFacts& tensor) { return type_of(tensor.type); });
}

aclDataType aclmdlGetOutputDataType(const aclmdlDesc* modelDesc, size_t index) {
  return property<aclDataType>("aclmdlGetOutputDataType", modelDesc, false, index, ACL_DT_UNDEFINED,
                               [](const TensorFacts& tensor) { return type_of(tensor.type); });
}

aclError aclmdlGetInputIndexByName(const aclmdlDesc* modelDesc, const char* name, size_t* index) {
  return find_index("aclmdlGetInputIndexByName", modelDesc, true, name, index);
}

aclError aclmdlGetOutputIndexByName(const aclmdlDesc* modelDesc, const char* name, size_t* index) {
  return find_index("aclmdlGetOutputIndexByName", modelDesc, false, name, index);
}

aclError aclmdlGetDynamicBatch(const aclmdlDesc* modelDesc, aclmdlBatch* batch) {
  return enter("aclmdlGetDynamicBatch", [&]() -> Outcome {
    std::shared_ptr<ModelDescription> description;
    if (Outcome wrong = find_description(modelDesc, &description); !wrong.is_ok()) return wrong;
    if (batch == nullptr) return invalid_parameter("'batch' is NULL");
    *batch = {};
    if (!description->facts->has_dynamic_batch()) return {};
    batch->batchCount = description->facts->batches.size();
    std::copy(description->facts->batches.begin(), description->facts->batches.end(), batch->batch);
    return {};
  });
}

aclError aclmdlGetDynamicHW(const aclmdlDesc* modelDesc, size_t, aclmdlHW* hw) {
  return enter("aclmdlGetDynamicHW", [&]() -> Outcome {
    std::shared_ptr<ModelDescription> description;
    if (Outcome wrong = find_description(modelDesc, &description); !wrong.is_ok()) return wrong;
    if (hw == nullptr) return invalid_parameter("'hw' is NULL");
    hw->hwCount = 0;
    return {};
  });
}

aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc* modelDesc, size_t, size_t* gearCount) {
  return enter("aclmdlGetInputDynamicGearCount", [&]() -> Outcome {
    std::shared_ptr<ModelDescription> description;
    if (Outcome wrong = find_description(modelDesc, &description); !wrong.is_ok()) return wrong;
    if (gearCount == nullptr) return invalid_parameter("'gearCount' is NULL");
    *gearCount = 0;
    return {};
  });
}
