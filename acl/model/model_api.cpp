// Loading, sizes and running of models: arguments are checked here, the work is in loaded_model.hpp.
#include <algorithm>
#include <string>

#include "acl/acl_mdl.h"
#include "acl/model/datasets.hpp"
#include "acl/model/models.hpp"
#include "acl/runtime/copies.hpp"
#include "engine/memory_file.hpp"

using namespace cistern::acl;

namespace {

// Where a model is; a path of the program's may be NULL.
struct ModelPlace {
  const char* path = nullptr;
  FactsAre kept = FactsAre::kept;
};

// A model in the program's memory, given to action(place) as a file.
template <typename Action>
Outcome with_copy(const void* model, std::size_t bytes, const Action& action) {
  if (model == nullptr || bytes == 0) return invalid_parameter("there is no model at the address");
  auto file = cistern::engine::MemoryFile::create({static_cast<const std::byte*>(model), bytes});
  if (!file.is_ok()) return {ACL_ERROR_BAD_ALLOC, std::string(file.status().text())};
  return action(ModelPlace{file.value().path().c_str(), FactsAre::not_kept});
}

struct Brought {
  void* work = nullptr;
  std::size_t work_bytes = 0;
  void* weights = nullptr;
  std::size_t weight_bytes = 0;
};

Outcome adopt(Runtime& runtime, const char* argument, void* memory, std::size_t bytes, std::uint64_t needed,
              const void* caller, BroughtMemory* brought) {
  if (memory == nullptr) return {};
  if (bytes < needed) {
    return {ACL_ERROR_MODEL_SIZE_INVALID, std::string("'") + argument + "' has " + std::to_string(bytes) +
                                              " bytes, the model needs " + std::to_string(needed)};
  }
  if (bytes == 0) return {};
  Range range;
  if (Outcome wrong = locate(runtime, argument, memory, bytes, &range); !wrong.is_ok()) return wrong;
  if (Outcome wrong = check_side(runtime, range, true, caller); !wrong.is_ok()) return wrong;
  brought->base =
      static_cast<std::byte*>(range.is_on_device() ? range.block->npu->device().host_alias(range.address) : memory);
  brought->bytes = bytes;
  return {};
}

Outcome load(Runtime& runtime, const Context& context, const ModelPlace& place, const Brought& brought,
             const void* caller, std::uint32_t* id) {
  if (place.path == nullptr || id == nullptr) return invalid_parameter("an argument is NULL");
  std::shared_ptr<const ModelFacts> facts;
  if (Outcome wrong = find_facts(place.path, place.kept, &facts); !wrong.is_ok()) return wrong;
  if (!facts->refusal.empty()) return {ACL_ERROR_FEATURE_UNSUPPORTED, facts->refusal};
  BroughtMemory work;
  BroughtMemory weights;
  Outcome wrong = adopt(runtime, "workPtr", brought.work, brought.work_bytes, facts->work_bytes, caller, &work);
  if (!wrong.is_ok()) return wrong;
  wrong = adopt(runtime, "weightPtr", brought.weights, brought.weight_bytes, facts->weight_bytes, caller, &weights);
  if (!wrong.is_ok()) return wrong;
  std::shared_ptr<LoadedModel> model;
  Outcome failed = LoadedModel::load(facts, context, work, weights, caller, &model);
  if (failed.is_ok()) *id = models().add(std::move(model));
  return failed;
}

Outcome query(const ModelPlace& place, std::size_t* work, std::size_t* weights) {
  if (place.path == nullptr || work == nullptr || weights == nullptr) return invalid_parameter("an argument is NULL");
  std::shared_ptr<const ModelFacts> facts;
  if (Outcome wrong = find_facts(place.path, place.kept, &facts); !wrong.is_ok()) return wrong;
  *work = facts->work_bytes;
  *weights = facts->weight_bytes;
  return {};
}

// --- Running -------------------------------------------------------------------------------------

struct Run {
  std::shared_ptr<LoadedModel> model;
  std::vector<Range> inputs;
  std::vector<Range> outputs;
  std::uint64_t batch = 1;
};

Outcome buffer_of(const Dataset& dataset, std::size_t index, DataBuffer* buffer) {
  const auto found = data_buffers().find(dataset.buffers[index]);
  if (found == nullptr) return data_buffers().explain(dataset.buffers[index]);
  *buffer = *found;
  return {};
}

Outcome plan_tensor(Runtime& runtime, const Dataset& dataset, std::size_t index, const TensorFacts& tensor,
                    std::uint64_t batch, bool is_input, const void* caller, Range* range) {
  DataBuffer buffer;
  if (Outcome wrong = buffer_of(dataset, index, &buffer); !wrong.is_ok()) return wrong;
  auto needed = cistern::engine::tensor_bytes(tensor.type, ModelFacts::extents_at(tensor, batch));
  if (!needed.is_ok()) return outcome_of(needed.status());
  const std::string name =
      std::string(is_input ? "input " : "output ") + std::to_string(index) + " '" + tensor.name + "'";
  if (buffer.bytes < needed.value()) {
    return {
        is_input ? ACL_ERROR_MODEL_INPUT_NOT_MATCH : ACL_ERROR_MODEL_OUTPUT_NOT_MATCH,
        name + " needs " + std::to_string(needed.value()) + " bytes, its buffer has " + std::to_string(buffer.bytes)};
  }
  if (Outcome wrong = locate(runtime, name, buffer.data, is_input ? needed.value() : buffer.bytes, range);
      !wrong.is_ok()) {
    return wrong;
  }
  return check_side(runtime, *range, true, caller);
}

Outcome plan_batch(const ModelFacts& facts, const Dataset& input, std::uint64_t* batch) {
  const std::size_t wanted = facts.inputs.size() + (facts.has_dynamic_batch() ? 1 : 0);
  if (input.buffers.size() != wanted) {
    return {ACL_ERROR_MODEL_INPUT_NOT_MATCH, "model '" + facts.name + "' has " + std::to_string(wanted) +
                                                 " inputs, the dataset has " + std::to_string(input.buffers.size())};
  }
  *batch = facts.batches.back();
  if (!facts.has_dynamic_batch()) return {};
  if (input.batch == 0) {
    return {ACL_ERROR_MODEL_INPUT_NOT_MATCH, "the batch was not chosen: call aclmdlSetDynamicBatchSize() first"};
  }
  *batch = input.batch;
  return {};
}

Outcome plan_run(Runtime& runtime, std::uint32_t id, const aclmdlDataset* input, const aclmdlDataset* output,
                 const void* caller, Run* run) {
  if (Outcome wrong = models().find(id, &run->model); !wrong.is_ok()) return wrong;
  const ModelFacts& facts = *run->model->facts();
  const auto given = datasets().find(input);
  const auto wanted = datasets().find(output);
  if (given == nullptr) return datasets().explain(input);
  if (wanted == nullptr) return datasets().explain(output);
  if (Outcome wrong = plan_batch(facts, *given, &run->batch); !wrong.is_ok()) return wrong;
  if (wanted->buffers.size() != facts.outputs.size()) {
    return {ACL_ERROR_MODEL_OUTPUT_NOT_MATCH, "model '" + facts.name + "' has " + std::to_string(facts.outputs.size()) +
                                                  " outputs, the dataset has " +
                                                  std::to_string(wanted->buffers.size())};
  }
  run->inputs.resize(facts.inputs.size());
  run->outputs.resize(facts.outputs.size());
  for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
    Outcome wrong = plan_tensor(runtime, *given, i, facts.inputs[i], run->batch, true, caller, &run->inputs[i]);
    if (!wrong.is_ok()) return wrong;
  }
  for (std::size_t i = 0; i < facts.outputs.size(); ++i) {
    Outcome wrong = plan_tensor(runtime, *wanted, i, facts.outputs[i], run->batch, false, caller, &run->outputs[i]);
    if (!wrong.is_ok()) return wrong;
  }
  return {};
}

Outcome check_still_there(const Runtime& runtime, const Run& run) {
  for (const auto* ranges : {&run.inputs, &run.outputs}) {
    for (const Range& range : *ranges) {
      if (Outcome gone = check_still_there(runtime, range); !gone.is_ok()) return gone;
    }
  }
  return {};
}

Outcome only_batches(const char* what) {
  return unsupported(std::string(what) +
                     " are fixed when a model is loaded (CISTERN_MODEL_SHAPES, or `cistern atc`); only the " +
                     "batch can be dynamic");
}

}  // namespace

// --- Loading -------------------------------------------------------------------------------------

aclError aclmdlQuerySize(const char* fileName, size_t* workSize, size_t* weightSize) {
  return enter_running("aclmdlQuerySize", [&](Runtime&) { return query({fileName}, workSize, weightSize); });
}

aclError aclmdlQuerySizeFromMem(const void* model, size_t modelSize, size_t* workSize, size_t* weightSize) {
  return enter_running("aclmdlQuerySizeFromMem", [&](Runtime&) -> Outcome {
    return with_copy(model, modelSize, [&](const ModelPlace& place) { return query(place, workSize, weightSize); });
  });
}

aclError aclmdlLoadFromFile(const char* modelPath, uint32_t* modelId) {
  const void* const caller = __builtin_return_address(0);
  return enter_context("aclmdlLoadFromFile", [&](Runtime& runtime, const Context& context) {
    return load(runtime, context, {modelPath}, {}, caller, modelId);
  });
}

aclError aclmdlLoadFromMem(const void* model, size_t modelSize, uint32_t* modelId) {
  const void* const caller = __builtin_return_address(0);
  return enter_context("aclmdlLoadFromMem", [&](Runtime& runtime, const Context& context) -> Outcome {
    return with_copy(model, modelSize,
                     [&](const ModelPlace& place) { return load(runtime, context, place, {}, caller, modelId); });
  });
}

aclError aclmdlLoadFromFileWithMem(const char* modelPath, uint32_t* modelId, void* workPtr, size_t workSize,
                                   void* weightPtr, size_t weightSize) {
  const void* const caller = __builtin_return_address(0);
  return enter_context("aclmdlLoadFromFileWithMem", [&](Runtime& runtime, const Context& context) {
    return load(runtime, context, {modelPath}, {workPtr, workSize, weightPtr, weightSize}, caller, modelId);
  });
}

aclError aclmdlLoadFromMemWithMem(const void* model, size_t modelSize, uint32_t* modelId, void* workPtr,
                                  size_t workSize, void* weightPtr, size_t weightSize) {
  const void* const caller = __builtin_return_address(0);
  return enter_context("aclmdlLoadFromMemWithMem", [&](Runtime& runtime, const Context& context) -> Outcome {
    return with_copy(model, modelSize, [&](const ModelPlace& place) {
      return load(runtime, context, place, {workPtr, workSize, weightPtr, weightSize}, caller, modelId);
    });
  });
}

aclError aclmdlUnload(uint32_t modelId) {
  return enter_running("aclmdlUnload", [&](Runtime&) { return models().remove(modelId); });
}

aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output) {
  const void* const caller = __builtin_return_address(0);
  return enter_running("aclmdlExecute", [&](Runtime& runtime) -> Outcome {
    Run run;
    Outcome wrong = plan_run(runtime, modelId, input, output, caller, &run);
    return wrong.is_ok() ? run.model->run(run.inputs, run.outputs, run.batch) : wrong;
  });
}

aclError aclmdlExecuteAsync(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output, aclrtStream stream) {
  const void* const caller = __builtin_return_address(0);
  return enter_stream("aclmdlExecuteAsync", stream, [&](Runtime& runtime, Stream& found) -> Outcome {
    auto run = std::make_shared<Run>();
    if (Outcome wrong = plan_run(runtime, modelId, input, output, caller, run.get()); !wrong.is_ok()) return wrong;
    return found.submit([&runtime, run]() -> Outcome {
      Outcome gone = check_still_there(runtime, *run);
      return gone.is_ok() ? run->model->run(run->inputs, run->outputs, run->batch) : gone;
    });
  });
}

aclError aclmdlSetDynamicBatchSize(uint32_t modelId, aclmdlDataset* dataset, size_t index, uint64_t batchSize) {
  return enter_running("aclmdlSetDynamicBatchSize", [&](Runtime&) -> Outcome {
    std::shared_ptr<LoadedModel> model;
    if (Outcome wrong = models().find(modelId, &model); !wrong.is_ok()) return wrong;
    const ModelFacts& facts = *model->facts();
    const auto found = datasets().find(dataset);
    if (found == nullptr) return datasets().explain(dataset);
    if (!facts.has_dynamic_batch()) {
      return {ACL_ERROR_MODEL_NOT_DYNAMIC, "the batch of model '" + facts.name + "' is fixed"};
    }
    if (index != facts.inputs.size()) {
      return invalid_parameter("'" ACL_DYNAMIC_TENSOR_NAME "' is input " + std::to_string(facts.inputs.size()) +
                               ", not " + std::to_string(index));
    }
    if (std::find(facts.batches.begin(), facts.batches.end(), batchSize) == facts.batches.end()) {
      std::string batches;
      for (const std::uint64_t batch : facts.batches) batches += (batches.empty() ? "" : ", ") + std::to_string(batch);
      return invalid_parameter("batch " + std::to_string(batchSize) + " is none of the model's: " + batches);
    }
    found->batch = batchSize;
    return {};
  });
}

aclError aclmdlSetDynamicHWSize(uint32_t, aclmdlDataset*, size_t, uint64_t, uint64_t) {
  return enter("aclmdlSetDynamicHWSize", [] { return only_batches("height and width"); });
}

aclError aclmdlSetInputDynamicDims(uint32_t, aclmdlDataset*, size_t, const aclmdlIODims*) {
  return enter("aclmdlSetInputDynamicDims", [] { return only_batches("extents"); });
}
