#include "engine/model_outline.hpp"

#include <unistd.h>

#include <new>
#include <utility>

#include "base/units.hpp"

namespace cistern::engine {
namespace {

using base::Status;

// Axis 0 of every input that has a range there must have the same: the batches of the model.
Status read_batches(const ShapeRules& rules, ModelOutline* outline) {
  DimRange range{1, 1, 1};
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    const auto& axes = rules.rules[i];
    if (axes.empty() || axes[0].range.lo == axes[0].range.hi) continue;
    if (outline->has_dynamic_batch() && !(axes[0].range == range)) {
      return base::unsupported("inputs of model '" + outline->name + "' with different ranges of axis 0");
    }
    range = axes[0].range;
    outline->inputs[i].has_batch = true;
    outline->batches.clear();
    for (std::int64_t batch = range.lo; batch <= range.hi; batch += range.step) {
      outline->batches.push_back(static_cast<std::uint64_t>(batch));
      if (outline->batches.size() > kMostBatches) {
        return base::unsupported("more than " + std::to_string(kMostBatches) + " batches");
      }
    }
  }
  if (outline->batches.empty()) outline->batches.push_back(1);
  return {};
}

Status read_inputs(const Model& model, const ShapeRules& rules, ModelOutline* outline) {
  const auto shapes = largest_shapes(rules);
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const TensorInfo& info = model.inputs()[i];
    auto bytes = tensor_bytes(info.type, shapes[i]);
    if (!bytes.is_ok()) return bytes.take_status();
    outline->inputs.push_back({info.name, info.type, shapes[i], bytes.value(), false});
  }
  return read_batches(rules, outline);
}

// What a run at `batch` gave, put to what larger batches gave.
void learn_outputs(const Outputs& outputs, std::uint64_t batch, ModelOutline* outline) {
  const bool is_first = outline->outputs.empty();
  for (std::size_t i = 0; i < outputs.tensors().size(); ++i) {
    const TensorView& view = outputs.tensors()[i];
    if (is_first) {
      const bool has_batch = outline->has_dynamic_batch() && !view.shape.empty() &&
                             view.shape[0] == static_cast<std::int64_t>(outline->batches.back());
      outline->outputs.push_back({std::string(view.name), view.type, view.shape, view.bytes.size(), has_batch});
      continue;
    }
    TensorOutline& output = outline->outputs[i];
    if (view.shape != ModelOutline::extents_at(output, batch)) output.has_batch = false;
    if (view.bytes.size() <= output.bytes) continue;
    output.extents = view.shape;
    output.bytes = view.bytes.size();
  }
}

// Zeros for every input. Asked for more than the machine has, many systems would promise it and end the process later.
Status make_zeros(const ModelOutline& outline, std::uint64_t batch, std::vector<Tensor>* zeros) {
  const std::uint64_t most =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t total = 0;
  for (const TensorOutline& input : outline.inputs) {
    Tensor tensor{input.type, ModelOutline::extents_at(input, batch), {}};
    auto bytes = tensor_bytes(tensor.type, tensor.shape);
    if (!bytes.is_ok()) return bytes.take_status();
    total += bytes.value();
    if (total > most) {
      return Status(base::StatusCode::out_of_memory, "up to input '" + input.name + "' the inputs need " +
                                                         base::format_bytes(total) + " of host memory, there are " +
                                                         base::format_bytes(most));
    }
    tensor.bytes.resize(bytes.value());
    zeros->push_back(std::move(tensor));
  }
  return {};
}

Status run_at(Model& model, std::uint64_t batch, ModelOutline* outline) {
  std::vector<Tensor> zeros;
  try {
    if (Status failed = make_zeros(*outline, batch, &zeros); !failed.is_ok()) return failed;
  } catch (const std::bad_alloc&) {
    return Status(base::StatusCode::out_of_memory, "no host memory for the inputs");
  }
  auto outputs = model.run(zeros);
  if (!outputs.is_ok()) return outputs.take_status();
  learn_outputs(outputs.value(), batch, outline);
  return {};
}

bool is_signature_of(const Model& model, const ModelOutline& outline) {
  if (model.inputs().size() != outline.inputs.size()) return false;
  for (std::size_t i = 0; i < outline.inputs.size(); ++i) {
    const TensorInfo& info = model.inputs()[i];
    const TensorOutline& input = outline.inputs[i];
    if (info.name != input.name || info.type != input.type || info.axes.size() != input.extents.size()) return false;
  }
  return true;
}

}  // namespace

std::vector<std::int64_t> ModelOutline::extents_at(const TensorOutline& tensor, std::uint64_t batch) {
  std::vector<std::int64_t> extents = tensor.extents;
  if (tensor.has_batch) extents[0] = static_cast<std::int64_t>(batch);
  return extents;
}

base::Result<ModelProbe> ModelProbe::open(Environment& environment, const std::string& path) noexcept {
  auto memory = ProbeWindows::create();
  if (!memory.is_ok()) return memory.take_status();
  auto model = environment.load(path, memory.value());
  if (!model.is_ok()) return model.take_status();
  return ModelProbe(memory.take(), model.take(), environment.runtime().version());
}

base::Result<ModelOutline> ModelProbe::measure(const ShapeRules& rules) noexcept { return measure(rules, {}); }

base::Result<ModelOutline> ModelProbe::measure(const ShapeRules& rules,
                                               const std::vector<std::uint64_t>& batches) noexcept {
  ModelOutline outline;
  outline.name = model_.name();
  outline.measured_by = runtime_version_;
  if (Status failed = read_inputs(model_, rules, &outline); !failed.is_ok()) return failed;
  if (!batches.empty()) outline.batches = batches;
  if (Status failed = run_at(model_, outline.batches.back(), &outline); !failed.is_ok()) return failed;
  for (std::size_t i = batches.size(); i-- > 1;) {
    if (Status failed = run_at(model_, batches[i - 1], &outline); !failed.is_ok()) return failed;
  }
  outline.weight_bytes = memory_->weight_bytes();
  outline.work_bytes = memory_->work_bytes();
  return outline;
}

base::Result<ModelOutline> ModelProbe::measure_again(const ModelOutline& outline) noexcept {
  if (!is_signature_of(model_, outline)) {
    return Status(base::StatusCode::corrupted, "the model has other inputs than were written down of it");
  }
  ShapeRules rules;
  for (const TensorOutline& input : outline.inputs) {
    auto& axes = rules.rules.emplace_back();
    for (const std::int64_t extent : input.extents) axes.push_back({{extent, extent, 1}, {}});
    if (!input.has_batch || !outline.has_dynamic_batch()) continue;
    const auto least = static_cast<std::int64_t>(outline.batches.front());
    const auto most = static_cast<std::int64_t>(outline.batches.back());
    axes[0].range = {least, most, most - least};
  }
  auto measured = outline.has_dynamic_batch() ? measure(rules, outline.batches) : measure(rules);
  if (measured.is_ok()) measured.value().name = outline.name;
  return measured;
}

}  // namespace cistern::engine
