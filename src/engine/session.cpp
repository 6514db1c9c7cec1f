// Running a model: stage the inputs in the memory source, run, describe the outputs.
#include "engine/session.hpp"

#include <chrono>
#include <cstring>
#include <utility>

#include "engine/session_state.hpp"

namespace cistern::engine {
namespace {

using base::Result;
using base::Status;

// Values of the runtime that are released together, while their model is at work.
class Values {
 public:
  explicit Values(const ort::Calls& calls) noexcept : calls_(calls) {}
  ~Values() {
    for (ort::Value* value : values) {
      if (value != nullptr) calls_.release_value(value);
    }
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  std::vector<ort::Value*> values;

 private:
  const ort::Calls& calls_;
};

Status check_input(const TensorInfo& asked, const Tensor& given) {
  if (given.type != asked.type) {
    return base::invalid_argument("input " + describe(asked) + " was given as " +
                                  std::string(element_type_name(given.type)));
  }
  bool fits = given.shape.size() == asked.axes.size();
  for (std::size_t i = 0; fits && i < given.shape.size(); ++i) {
    fits = asked.axes[i].is_dynamic() || asked.axes[i].extent == given.shape[i];
  }
  if (!fits) {
    std::string shape;
    for (const std::int64_t extent : given.shape) shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    return base::invalid_argument("input " + describe(asked) + " was given with shape [" + shape + "]");
  }
  auto bytes = tensor_bytes(given.type, given.shape);
  if (!bytes.is_ok()) return bytes.take_status();
  if (bytes.value() != given.bytes.size()) {
    return base::invalid_argument("input " + describe(asked) + " was given " + std::to_string(given.bytes.size()) +
                                  " bytes where its shape has " + std::to_string(bytes.value()));
  }
  return {};
}

Status check_inputs(const ModelState& model, std::span<const Tensor> inputs) {
  if (inputs.size() != model.inputs.size()) {
    return base::invalid_argument("the model has " + std::to_string(model.inputs.size()) + " inputs, " +
                                  std::to_string(inputs.size()) + " were given");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (Status status = check_input(model.inputs[i], inputs[i]); !status.is_ok()) return status;
  }
  return {};
}

Status stage(ModelState& model, const Tensor& input, Values& staged) {
  const ort::Calls& calls = model.calls();
  ort::Value* value = nullptr;
  Status status =
      take_failure(calls, calls.create_tensor(model.environment->bridge().allocator(), input.shape.data(),
                                              input.shape.size(), static_cast<std::int32_t>(input.type), &value));
  if (!status.is_ok()) return status;
  staged.values.push_back(value);
  if (input.bytes.empty()) return {};
  void* data = nullptr;
  status = take_failure(calls, calls.tensor_data(value, &data));
  if (!status.is_ok()) return status;
  if (data == nullptr) return base::internal_error("ONNX Runtime made an input tensor without memory");
  std::memcpy(data, input.bytes.data(), input.bytes.size());
  return {};
}

Status compute(ModelState& model, ModelAtWork& work, const Values& staged, Values& results) {
  ort::RunOptions* raw = nullptr;
  if (Status status = take_failure(model.calls(), model.calls().create_run_options(&raw)); !status.is_ok())
    return status;
  const Handle<ort::RunOptions> options(raw, model.calls().release_run_options);
  work.end_on_refusal(model.calls(), options.get());
  std::vector<const char*> input_names;
  std::vector<const char*> output_names;
  for (const TensorInfo& info : model.inputs) input_names.push_back(info.name.c_str());
  for (const TensorInfo& info : model.outputs) output_names.push_back(info.name.c_str());
  results.values.resize(output_names.size(), nullptr);
  Status status =
      take_failure(model.calls(), model.calls().run(model.session, options.get(), input_names.data(),
                                                    staged.values.data(), staged.values.size(), output_names.data(),
                                                    output_names.size(), results.values.data()));
  work.end_on_refusal(model.calls(), nullptr);
  return status;
}

Result<TensorView> view_output(ModelState& model, const TensorInfo& promised, ort::Value* value) {
  const ort::Calls& calls = model.calls();
  ort::TensorShape* raw = nullptr;
  if (Status status = take_failure(calls, calls.tensor_shape_of_value(value, &raw)); !status.is_ok()) return status;
  const Handle<ort::TensorShape> shape(raw, calls.release_tensor_shape);
  auto info = read_shape(calls, shape.get(), "output '" + promised.name + "'");
  if (!info.is_ok()) return info.take_status();
  TensorView view;
  view.name = promised.name;
  view.type = info.value().type;
  for (const Axis& axis : info.value().axes) view.shape.push_back(axis.extent);
  auto bytes = tensor_bytes(view.type, view.shape);
  if (!bytes.is_ok()) return bytes.take_status();
  void* data = nullptr;
  if (Status status = take_failure(calls, calls.tensor_data(value, &data)); !status.is_ok()) return status;
  view.bytes = {static_cast<const std::byte*>(data), bytes.value()};
  return view;
}

// Inputs are given back as soon as the run is over, before the outputs are looked at.
Status run_staged(ModelState& model, ModelAtWork& work, std::span<const Tensor> inputs, Values& results) {
  Values staged(model.calls());
  for (const Tensor& input : inputs) {
    if (Status status = stage(model, input, staged); !status.is_ok()) return status;
  }
  if (work.was_refused()) return {};  // the caller asks for the reason
  return compute(model, work, staged, results);
}

}  // namespace

Outputs& Outputs::operator=(Outputs&& other) noexcept {
  if (this != &other) {
    release();
    model_ = std::move(other.model_);
    values_ = std::exchange(other.values_, {});
    views_ = std::exchange(other.views_, {});
    usage_ = other.usage_;
    run_ns_ = other.run_ns_;
    stream_ = other.stream_;
  }
  return *this;
}

Outputs::~Outputs() { release(); }

void Outputs::release() noexcept {
  views_.clear();
  if (model_ == nullptr || values_.empty()) return;
  const ModelAtWork work(model_->account, MemoryUse::activations, stream_);
  for (ort::Value* value : values_) model_->calls().release_value(value);
  values_.clear();
  usage_ += work.usage();
}

Result<Outputs> Model::run(std::span<const Tensor> inputs, std::optional<device::StreamHandle> stream) noexcept {
  if (state_ == nullptr || state_->session == nullptr) return base::invalid_argument("the model was unloaded");
  ModelState& model = *state_;
  if (Status status = check_inputs(model, inputs); !status.is_ok()) return status.with_context(name());

  const auto start = std::chrono::steady_clock::now();
  ModelAtWork work(model.account, MemoryUse::activations, stream);
  Values results(model.calls());
  Status status = run_staged(model, work, inputs, results);
  if (Status refused = work.take_failure(); !refused.is_ok()) status = std::move(refused);
  if (!status.is_ok()) return status.with_context(name());

  Outputs outputs(state_);
  outputs.stream_ = stream;
  for (std::size_t i = 0; i < results.values.size(); ++i) {
    auto view = view_output(model, model.outputs[i], results.values[i]);
    if (!view.is_ok()) return view.take_status().with_context(name());
    outputs.views_.push_back(view.take());
  }
  outputs.values_ = std::exchange(results.values, {});
  outputs.usage_ = work.usage();
  const auto elapsed = std::chrono::steady_clock::now() - start;
  outputs.run_ns_ = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
  return outputs;
}

MemoryHeld Model::unload() noexcept {
  if (state_ == nullptr) return {};
  state_->release();
  const MemoryHeld held = state_->account->held();
  state_.reset();
  return held;
}

const std::string& Model::name() const noexcept { return state_->account->context.name; }
const std::string& Model::path() const noexcept { return state_->path; }
const std::vector<TensorInfo>& Model::inputs() const noexcept { return state_->inputs; }
const std::vector<TensorInfo>& Model::outputs() const noexcept { return state_->outputs; }
const MemoryUsage& Model::load_usage() const noexcept { return state_->load_usage; }
std::uint64_t Model::load_ns() const noexcept { return state_->load_ns; }
MemoryHeld Model::held() const noexcept { return state_->account->held(); }
void Model::reset_peak() noexcept { state_->account->peak_bytes.store(state_->account->bytes.load()); }

Result<Environment> Environment::create(std::shared_ptr<const OnnxRuntime> runtime) noexcept {
  auto state = EnvironmentState::create(std::move(runtime));
  if (!state.is_ok()) return state.take_status();
  return Environment(state.take());
}

Result<Model> Environment::load(const std::string& path, std::shared_ptr<MemorySource> source,
                                GraphOptimization optimization) noexcept {
  auto model = std::make_shared<ModelState>(state_, path, std::move(source));
  if (Status status = model->load(optimization); !status.is_ok()) return status;
  return Model(std::move(model));
}

const OnnxRuntime& Environment::runtime() const noexcept { return state_->runtime(); }
std::uint64_t Environment::misuses() const noexcept { return state_->bridge().misuses(); }
std::string Environment::first_misuse() const { return state_->bridge().first_misuse(); }

}  // namespace cistern::engine
