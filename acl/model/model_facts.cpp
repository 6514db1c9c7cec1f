#include "acl/model/model_facts.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>

#include "base/options.hpp"
#include "engine/mapped_file.hpp"
#include "engine/memory_file.hpp"
#include "engine/om_file.hpp"
#include "engine/om_model.hpp"
#include "engine/shape_rules.hpp"

namespace cistern::acl {
namespace {

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

// The sizes hold for one version of the runtime. Where there is no runtime to ask, they are as written.
Outcome adapt_to_runtime(const engine::OmModel& model, ModelFacts* facts) {
  engine::Environment* environment = nullptr;
  if (!engine_environment(&environment).is_ok()) return {};
  if (environment->runtime().version() == facts->measured_by) return {};
  auto file = engine::MemoryFile::create(model.onnx);
  if (!file.is_ok()) return {ACL_ERROR_BAD_ALLOC, std::string(file.status().text())};
  auto probe = engine::ModelProbe::open(*environment, file.value().path());
  if (!probe.is_ok()) return outcome_of_file(probe.status().with_context(facts->path));
  auto outline = probe.value().measure_again(model.outline);
  if (!outline.is_ok()) return outcome_of(outline.status().with_context(facts->path));
  static_cast<engine::ModelOutline&>(*facts) = outline.take();
  return {};
}

Outcome read_om(std::span<const std::byte> contents, const std::string& path,
                std::shared_ptr<const ModelFacts>* found) {
  auto file = engine::OmFile::read(contents);
  if (!file.is_ok()) return outcome_of_file(file.status().with_context(path));
  if (!file.value().own.empty()) {
    auto model = engine::read_om_model(file.value());
    if (!model.is_ok()) return outcome_of_file(model.status().with_context(path));
    auto facts = std::make_shared<ModelFacts>(model.value().outline);
    facts->path = path;
    facts->is_om = true;
    facts->om_checksum = model.value().checksum;
    if (Outcome failed = adapt_to_runtime(model.value(), facts.get()); !failed.is_ok()) return failed;
    *found = std::move(facts);
    return {};
  }
  auto facts = std::make_shared<ModelFacts>(engine::ModelOutline{});
  facts->path = path;
  facts->weight_bytes = file.value().weight_bytes;
  facts->work_bytes = file.value().work_bytes;
  facts->refusal = path +
                   " is compiled for an NPU and cannot run here; load the ONNX file that it was made of, or what " +
                   "`cistern atc` makes of that. It has " + file.value().describe();
  *found = std::move(facts);
  return {};
}

Outcome measure(const std::string& path, std::shared_ptr<const ModelFacts>* found) {
  {
    auto file = engine::MappedFile::open(path);
    if (!file.is_ok()) return outcome_of_file(file.status());
    const auto contents = file.value().contents();
    if (engine::OmFile::is_om(contents)) return read_om(contents, path, found);
  }
  std::vector<engine::Binding> bindings;
  if (Outcome wrong = read_bindings(&bindings); !wrong.is_ok()) return wrong;
  engine::Environment* environment = nullptr;
  if (Outcome failed = engine_environment(&environment); !failed.is_ok()) return failed;
  auto probe = engine::ModelProbe::open(*environment, path);
  if (!probe.is_ok()) return outcome_of_file(probe.status());
  const engine::Model& model = probe.value().model();
  auto rules = engine::resolve_shape_rules(model.name(), model.inputs(), bindings);
  if (!rules.is_ok()) {
    return invalid_parameter(std::string(rules.status().text()) + " (here: CISTERN_MODEL_SHAPES=\"" + model.name() +
                             ":INPUT:AXIS=EXTENT;...\")");
  }
  auto outline = probe.value().measure(rules.value());
  if (!outline.is_ok()) return outcome_of(outline.status());
  auto facts = std::make_shared<ModelFacts>(outline.take());
  facts->path = path;
  *found = std::move(facts);
  return {};
}

}  // namespace

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

Outcome outcome_of_file(const base::Status& status) {
  const bool no_file = status.code() == base::StatusCode::not_found || status.code() == base::StatusCode::io_error;
  return {no_file ? ACL_ERROR_INVALID_FILE : ACL_ERROR_PARSE_MODEL, std::string(status.text())};
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

Outcome find_facts(const std::string& path, FactsAre kept, std::shared_ptr<const ModelFacts>* facts) {
  if (kept == FactsAre::not_kept) return measure(path, facts);
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
    if (Outcome failed = measure(path, &entry); !failed.is_ok()) {
      known->erase(key);
      return failed;
    }
  }
  *facts = entry;
  return {};
}

}  // namespace cistern::acl
