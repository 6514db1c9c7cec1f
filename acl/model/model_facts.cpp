#include "acl/model/model_facts.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>

#include "acl/acl_mdl.h"
#include "acl/model/model_memory.hpp"
#include "acl/model/om_file.hpp"
#include "base/options.hpp"
#include "engine/shape_rules.hpp"

namespace cistern::acl {
namespace {

Outcome read_failure(const base::Status& status) {
  const bool no_file = status.code() == base::StatusCode::not_found || status.code() == base::StatusCode::io_error;
  return {no_file ? ACL_ERROR_INVALID_FILE : ACL_ERROR_PARSE_MODEL, std::string(status.text())};
}

aclDataType type_of(engine::ElementType type) noexcept {
  switch (type) {
    case engine::ElementType::float32:
      return ACL_FLOAT;
    case engine::ElementType::uint8:
      return ACL_UINT8;
    case engine::ElementType::int8:
      return ACL_INT8;
    case engine::ElementType::int32:
      return ACL_INT32;
    case engine::ElementType::int64:
      return ACL_INT64;
    case engine::ElementType::boolean:
      return ACL_BOOL;
    case engine::ElementType::float16:
      return ACL_FLOAT16;
    case engine::ElementType::float64:
      return ACL_DOUBLE;
  }
  return ACL_DT_UNDEFINED;
}

// "MODEL:INPUT:AXIS=LO[:HI[:STEP]];..." of CISTERN_MODEL_SHAPES.
Outcome read_bindings(std::vector<engine::Binding>* bindings) {
  auto options = base::OptionSet::from_environment(environ);
  if (!options.is_ok()) return invalid_parameter(std::string(options.status().text()));
  std::string text = options.value().text("CISTERN_MODEL_SHAPES");
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    const std::string one = text.substr(0, end);
    text.erase(0, end == std::string::npos ? end : end + 1);
    if (one.empty()) continue;
    auto binding = engine::parse_binding(one);
    if (!binding.is_ok()) return invalid_parameter("CISTERN_MODEL_SHAPES: " + std::string(binding.status().text()));
    bindings->push_back(binding.take());
  }
  return {};
}

// Axis 0 of every input that has a range there must have the same: the batches of the model.
Outcome read_batches(const engine::ShapeRules& rules, ModelFacts* facts) {
  engine::DimRange range{1, 1, 1};
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    const auto& axes = rules.rules[i];
    if (axes.empty() || axes[0].range.lo == axes[0].range.hi) continue;
    if (facts->has_dynamic_batch() && !(axes[0].range == range)) {
      return unsupported("inputs of model '" + facts->name + "' with different ranges of axis 0");
    }
    range = axes[0].range;
    facts->inputs[i].has_batch = true;
    facts->batches.clear();
    for (std::int64_t batch = range.lo; batch <= range.hi; batch += range.step) {
      facts->batches.push_back(static_cast<std::uint64_t>(batch));
      if (facts->batches.size() > ACL_MAX_BATCH_NUM) return unsupported("more than 128 batches");
    }
  }
  if (facts->batches.empty()) facts->batches.push_back(1);
  return {};
}

Outcome read_inputs(const engine::Model& model, const engine::ShapeRules& rules, ModelFacts* facts) {
  const auto shapes = engine::largest_shapes(rules);
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const engine::TensorInfo& info = model.inputs()[i];
    auto bytes = engine::tensor_bytes(info.type, shapes[i]);
    if (!bytes.is_ok()) return outcome_of(bytes.status());
    facts->inputs.push_back({info.name, type_of(info.type), info.type, shapes[i], bytes.value(), false});
  }
  return read_batches(rules, facts);
}

Outcome run_once(engine::Model& model, ModelFacts* facts) {
  std::vector<engine::Tensor> zeros;
  for (const TensorFacts& input : facts->inputs) {
    zeros.push_back({input.element, input.extents, std::vector<std::byte>(input.bytes)});
  }
  auto outputs = model.run(zeros);
  if (!outputs.is_ok()) return outcome_of(outputs.status());
  for (const engine::TensorView& view : outputs.value().tensors()) {
    TensorFacts output{std::string(view.name), type_of(view.type), view.type, view.shape, view.bytes.size(), false};
    output.has_batch = facts->has_dynamic_batch() && !view.shape.empty() &&
                       view.shape[0] == static_cast<std::int64_t>(facts->batches.back());
    facts->outputs.push_back(std::move(output));
  }
  return {};
}

// A file in memory, for as long as this lives.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path, std::size_t bytes) noexcept : bytes_(bytes) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    void* const mapped = bytes == 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    if (mapped != MAP_FAILED) data_ = static_cast<const std::byte*>(mapped);
  }
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> contents() const noexcept { return {data_, data_ == nullptr ? 0 : bytes_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t bytes_;
};

Outcome read_om(std::span<const std::byte> contents, const std::string& path,
                std::shared_ptr<const ModelFacts>* found) {
  auto file = OmFile::read(contents);
  if (!file.is_ok()) return {ACL_ERROR_PARSE_MODEL, path + ": " + std::string(file.status().text())};
  auto facts = std::make_shared<ModelFacts>();
  facts->path = path;
  facts->weight_bytes = file.value().weight_bytes;
  facts->work_bytes = file.value().work_bytes;
  facts->refusal = path +
                   " is compiled for an NPU and cannot run here; load the ONNX file that it was made of. It has " +
                   file.value().describe();
  *found = std::move(facts);
  return {};
}

Outcome measure(const std::string& path, std::size_t bytes, std::shared_ptr<const ModelFacts>* found) {
  {
    const MappedFile file(path, bytes);
    if (OmFile::is_om(file.contents())) return read_om(file.contents(), path, found);
  }
  std::vector<engine::Binding> bindings;
  if (Outcome wrong = read_bindings(&bindings); !wrong.is_ok()) return wrong;
  engine::Environment* environment = nullptr;
  if (Outcome failed = engine_environment(&environment); !failed.is_ok()) return failed;
  auto memory = ProbeMemory::create();
  if (!memory.is_ok()) return outcome_of(memory.status());
  auto model = environment->load(path, memory.value());
  if (!model.is_ok()) return read_failure(model.status());
  auto facts = std::make_shared<ModelFacts>();
  facts->path = path;
  facts->name = model.value().name();
  auto rules = engine::resolve_shape_rules(facts->name, model.value().inputs(), bindings);
  if (!rules.is_ok()) {
    return invalid_parameter(std::string(rules.status().text()) + " (here: CISTERN_MODEL_SHAPES=\"" + facts->name +
                             ":INPUT:AXIS=EXTENT;...\")");
  }
  if (Outcome failed = read_inputs(model.value(), rules.value(), facts.get()); !failed.is_ok()) return failed;
  if (Outcome failed = run_once(model.value(), facts.get()); !failed.is_ok()) return failed;
  facts->weight_bytes = memory.value()->weight_bytes();
  facts->work_bytes = memory.value()->work_bytes();
  *found = std::move(facts);
  return {};
}

}  // namespace

std::vector<std::int64_t> ModelFacts::extents_at(const TensorFacts& tensor, std::uint64_t batch) {
  std::vector<std::int64_t> extents = tensor.extents;
  if (tensor.has_batch) extents[0] = static_cast<std::int64_t>(batch);
  return extents;
}

Outcome engine_environment(engine::Environment** environment) {
  static std::mutex mutex;
  static auto* const opened = new std::unique_ptr<engine::Environment>;
  const std::lock_guard lock(mutex);
  if (*opened == nullptr) {
    auto options = base::OptionSet::from_environment(environ);
    if (!options.is_ok()) return invalid_parameter(std::string(options.status().text()));
    auto runtime = engine::OnnxRuntime::load({.path = {}, .configured = options.value().text("CISTERN_ONNXRUNTIME")});
    if (!runtime.is_ok()) return {ACL_ERROR_GE_FAILURE, std::string(runtime.status().text())};
    auto created = engine::Environment::create(runtime.take());
    if (!created.is_ok()) return {ACL_ERROR_GE_FAILURE, std::string(created.status().text())};
    *opened = std::make_unique<engine::Environment>(created.take());
  }
  *environment = opened->get();
  return {};
}

Outcome find_facts(const std::string& path, std::shared_ptr<const ModelFacts>* facts) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return {ACL_ERROR_INVALID_FILE, "there is no file '" + path + "'"};
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::string>;
  const char* const shapes = ::getenv("CISTERN_MODEL_SHAPES");
  const Key key{path, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec, shapes == nullptr ? "" : shapes};
  static std::mutex mutex;
  static auto* const known = new std::map<Key, std::shared_ptr<const ModelFacts>>;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const ModelFacts>& entry = (*known)[key];
  if (entry == nullptr) {
    if (Outcome failed = measure(path, static_cast<std::size_t>(file.st_size), &entry); !failed.is_ok()) {
      known->erase(key);
      return failed;
    }
  }
  *facts = entry;
  return {};
}

}  // namespace cistern::acl
