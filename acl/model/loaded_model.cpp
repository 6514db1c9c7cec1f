#include "acl/model/loaded_model.hpp"

#include <cstring>
#include <map>
#include <utility>

#include "engine/mapped_file.hpp"
#include "engine/memory_file.hpp"
#include "engine/om_file.hpp"
#include "engine/om_model.hpp"

namespace cistern::acl {
namespace {

std::string extents_text(const std::vector<std::int64_t>& extents) {
  std::string text;
  for (const std::int64_t extent : extents) text += (text.empty() ? "" : ",") + std::to_string(extent);
  return "[" + text + "]";
}

Outcome read_range(const Range& range, std::vector<std::byte>* bytes) {
  if (range.is_on_device()) {
    return outcome_of(range.block->npu->device().copy_to_host(bytes->data(), range.address, bytes->size()));
  }
  std::memcpy(bytes->data(), range.pointer(), bytes->size());
  return {};
}

Outcome write_range(const Range& range, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (range.is_on_device()) {
    return outcome_of(range.block->npu->device().copy_from_host(range.address, bytes.data(), bytes.size()));
  }
  std::memcpy(range.pointer(), bytes.data(), bytes.size());
  return {};
}

}  // namespace

// --- Blocks and windows --------------------------------------------------------------------------

Outcome OwnBlock::create(std::shared_ptr<DevicePool> pool, std::uint64_t bytes, const std::string& tag,
                         std::unique_ptr<OwnBlock>* block) {
  cistern_allocation_t allocation{};
  allocation.struct_size = sizeof allocation;
  allocation.bytes = bytes;
  allocation.tag = tag.c_str();
  allocation.lifetime = CISTERN_LIFETIME_WEIGHTS;
  allocation.flags = CISTERN_ALLOCATION_PINNED;
  cistern_address_t address = 0;
  const cistern_status_t status = cistern_allocate_with(pool->handle(), &allocation, &address);
  if (status != CISTERN_OK) return outcome_of_call(status);
  block->reset(new OwnBlock(std::move(pool), address, bytes));
  return {};
}

OwnBlock::~OwnBlock() { static_cast<void>(cistern_free(pool_->handle(), address_)); }

std::byte* OwnBlock::host_view() const noexcept {
  return static_cast<std::byte*>(pool_->npu()->device().host_alias(address_));
}

std::shared_ptr<WorkWindow> WorkWindow::of(const std::shared_ptr<DevicePool>& pool) {
  static std::mutex mutex;
  static auto* const windows = new std::map<const DevicePool*, std::weak_ptr<WorkWindow>>;
  const std::lock_guard lock(mutex);
  std::erase_if(*windows, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<WorkWindow>& entry = (*windows)[pool.get()];
  std::shared_ptr<WorkWindow> window = entry.lock();
  if (window == nullptr) {
    window = std::make_shared<WorkWindow>(pool);
    entry = window;
  }
  return window;
}

Outcome WorkWindow::grow(std::uint64_t bytes) {
  const std::lock_guard lock(turn_);
  if (block_ != nullptr && block_->bytes() >= bytes) return {};
  const std::uint64_t before = block_ == nullptr ? 0 : block_->bytes();
  block_.reset();  // nothing lives in it between runs
  Outcome grown = OwnBlock::create(pool_, bytes, "work", &block_);
  // The models that are there need what they had. It was free a moment ago.
  if (!grown.is_ok() && before != 0) static_cast<void>(OwnBlock::create(pool_, before, "work", &block_));
  return grown;
}

// --- Models --------------------------------------------------------------------------------------

Outcome LoadedModel::load(std::shared_ptr<const ModelFacts> facts, const Context& context, const BroughtMemory& work,
                          const BroughtMemory& weights, const void* caller, std::shared_ptr<LoadedModel>* loaded) {
  engine::Environment* environment = nullptr;
  if (Outcome failed = engine_environment(&environment); !failed.is_ok()) return failed;
  std::shared_ptr<LoadedModel> model(new LoadedModel(std::move(facts), context.npu, caller));
  model->memory_ = std::make_shared<engine::ModelWindows>();
  const base::Status opened = model->memory_->open(model->facts_->weight_bytes, model->facts_->work_bytes);
  if (!opened.is_ok()) return outcome_of(opened);
  if (Outcome failed = model->place_weights(context, weights); !failed.is_ok()) return failed;
  if (Outcome failed = model->place_work(context, work); !failed.is_ok()) return failed;
  if (Outcome failed = model->open(*environment); !failed.is_ok()) return failed;
  *loaded = std::move(model);
  return {};
}

Outcome LoadedModel::open(engine::Environment& environment) {
  if (!facts_->is_om) return open_file(environment, facts_->path);
  auto file = engine::MappedFile::open(facts_->path);
  if (!file.is_ok()) return outcome_of_file(file.status());
  auto om = engine::OmFile::read(file.value().contents());
  if (!om.is_ok()) return outcome_of_file(om.status().with_context(facts_->path));
  auto model = engine::read_om_model(om.value());
  if (!model.is_ok()) return outcome_of_file(model.status().with_context(facts_->path));
  if (model.value().checksum != facts_->om_checksum) {
    return {ACL_ERROR_READ_MODEL_FAILURE,
            facts_->path + " has become another model while it was loaded: load it again"};
  }
  auto onnx = engine::MemoryFile::create(model.value().onnx);
  if (!onnx.is_ok()) return {ACL_ERROR_BAD_ALLOC, std::string(onnx.status().text())};
  return open_file(environment, onnx.value().path());
}

Outcome LoadedModel::open_file(engine::Environment& environment, const std::string& path) {
  auto made = environment.load(path, memory_);
  if (!made.is_ok()) return outcome_of(made.status());
  model_ = std::make_unique<engine::Model>(made.take());
  return {};
}

Outcome LoadedModel::place_weights(const Context& context, const BroughtMemory& weights) {
  if (facts_->weight_bytes == 0) return {};
  if (weights.bytes != 0) {
    memory_->place_weights(weights.base);
    return {};
  }
  const std::string tag = "weights/" + facts_->name;
  Outcome failed = OwnBlock::create(context.pool, facts_->weight_bytes, tag, &weights_);
  if (failed.is_ok()) memory_->place_weights(weights_->host_view());
  return failed;
}

Outcome LoadedModel::place_work(const Context& context, const BroughtMemory& work) {
  if (facts_->work_bytes == 0) return {};
  if (work.bytes != 0) {
    memory_->place_work(work.base);
    return {};
  }
  work_ = WorkWindow::of(context.pool);
  return work_->grow(facts_->work_bytes);
}

Outcome LoadedModel::run(const std::vector<Range>& inputs, const std::vector<Range>& outputs, std::uint64_t batch) {
  std::vector<engine::Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    engine::Tensor tensor{facts_->inputs[i].type, ModelFacts::extents_at(facts_->inputs[i], batch), {}};
    auto bytes = engine::tensor_bytes(tensor.type, tensor.shape);
    if (!bytes.is_ok()) return outcome_of(bytes.status());
    tensor.bytes.resize(bytes.value());
    if (Outcome failed = read_range(inputs[i], &tensor.bytes); !failed.is_ok()) return failed;
    tensors.push_back(std::move(tensor));
  }
  if (work_ == nullptr) {
    const std::lock_guard turn(own_turn_);
    return run_placed(tensors, outputs);
  }
  const std::lock_guard turn(work_->turn());
  if (work_->host_view() == nullptr) {
    return {ACL_ERROR_RT_MEMORY_ALLOCATION,
            "the models' work window was lost to a load that found no memory; unload a "
            "model and load this one again"};
  }
  memory_->place_work(work_->host_view());
  return run_placed(tensors, outputs);
}

Outcome LoadedModel::run_placed(const std::vector<engine::Tensor>& inputs, const std::vector<Range>& outputs) {
  auto results = model_->run(inputs);
  if (!results.is_ok()) return {ACL_ERROR_GE_FAILURE, std::string(results.status().text())};
  std::vector<std::vector<std::int64_t>> extents;
  for (std::size_t i = 0; i < results.value().tensors().size(); ++i) {
    const engine::TensorView& view = results.value().tensors()[i];
    if (view.bytes.size() > outputs[i].bytes) {
      return {ACL_ERROR_MODEL_OUTPUT_NOT_MATCH, "output " + std::to_string(i) + " '" + std::string(view.name) +
                                                    "' came out as " + extents_text(view.shape) + ", " +
                                                    std::to_string(view.bytes.size()) + " bytes; its buffer has " +
                                                    std::to_string(outputs[i].bytes)};
    }
    if (Outcome failed = write_range(outputs[i], view.bytes); !failed.is_ok()) return failed;
    extents.push_back(view.shape);
  }
  const std::lock_guard lock(extents_mutex_);
  last_extents_ = std::move(extents);
  return {};
}

std::vector<std::int64_t> LoadedModel::last_extents(std::size_t output) const {
  const std::lock_guard lock(extents_mutex_);
  return output < last_extents_.size() ? last_extents_[output] : facts_->outputs[output].extents;
}

}  // namespace cistern::acl
