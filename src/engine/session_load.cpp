// Starting the environment, loading a model, reading its signature.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/log.hpp"
#include "engine/onnx_weights.hpp"
#include "engine/session_state.hpp"

namespace cistern::engine {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

std::atomic<bool> g_environment_alive{false};

std::uint64_t elapsed_ns(std::chrono::steady_clock::time_point start) noexcept {
  const auto elapsed = std::chrono::steady_clock::now() - start;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
}

// The runtime reports a missing file in several lines and a directory as an internal error.
Status check_readable(const std::string& path) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) return base::not_found("no model file " + path);
  if (kind == std::filesystem::file_type::directory) {
    return base::invalid_argument(path + " is a directory; name an .onnx file");
  }
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return Status(StatusCode::io_error, "cannot read model file " + path + ": " + std::strerror(errno), errno);
  }
  const bool is_empty = std::fgetc(file) == EOF;
  std::fclose(file);
  if (is_empty) return Status(StatusCode::corrupted, "model file " + path + " is empty");
  return {};
}

// Smaller weights the runtime asks for itself, from 1.18 on and in 1.30 too.
constexpr std::size_t kLeastBroughtBytes = 128;

// A file mapped for reading.
class FileBytes {
 public:
  FileBytes() = default;
  ~FileBytes() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  Status read(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return cannot_read(path);
    struct stat about = {};
    const bool known = ::fstat(file, &about) == 0;
    if (known && S_ISREG(about.st_mode) && about.st_size > 0) {
      void* mapped = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (mapped != MAP_FAILED) {
        data_ = mapped;
        size_ = static_cast<std::size_t>(about.st_size);
      }
    }
    Status status;
    if (data_ == nullptr) status = cannot_read(path);
    ::close(file);
    return status;
  }

  std::span<const std::byte> bytes() const noexcept { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  static Status cannot_read(const std::string& path) {
    return Status(StatusCode::io_error, "cannot read model file " + path + ": " + std::strerror(errno), errno);
  }

  void* data_ = nullptr;
  std::size_t size_ = 0;
};

Status configure(const ort::Calls& calls, ort::SessionOptions* options, GraphOptimization optimization) {
  constexpr std::pair<const char*, const char*> kEntries[] = {
      {"session.use_env_allocators", "1"},
      {"session.disable_prepacking", "1"},
  };
  for (ort::Failure* failure : {calls.disable_mem_pattern(options), calls.disable_cpu_mem_arena(options),
                                calls.set_intra_op_num_threads(options, 1), calls.set_inter_op_num_threads(options, 1),
                                calls.set_graph_optimization_level(options, static_cast<std::int32_t>(optimization))}) {
    if (Status status = take_failure(calls, failure); !status.is_ok()) return status;
  }
  for (const auto& [key, value] : kEntries) {
    if (Status status = take_failure(calls, calls.add_session_config_entry(options, key, value)); !status.is_ok()) {
      return status;
    }
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<EnvironmentState>> EnvironmentState::create(std::shared_ptr<const OnnxRuntime> runtime) {
  if (g_environment_alive.exchange(true)) {
    return Status(StatusCode::busy,
                  "an environment of ONNX Runtime is alive in this process already; load all models in that one");
  }
  std::shared_ptr<EnvironmentState> state(new EnvironmentState(std::move(runtime)));
  const ort::Calls& calls = state->calls();
  Status status = take_failure(calls, calls.create_env(ort::kLogFatal, "cistern", &state->env_));
  if (!status.is_ok()) return status;
  status = take_failure(
      calls, calls.create_cpu_memory_info(ort::kDeviceAllocator, ort::kMemTypeDefault, &state->memory_info_));
  if (!status.is_ok()) return status;
  state->bridge_ = std::make_unique<AllocatorBridge>(state->memory_info_);
  status = take_failure(calls, calls.register_allocator(state->env_, state->bridge_->allocator()));
  if (!status.is_ok()) return status.with_context("registering the engine's allocator");
  state->registered_ = true;
  return state;
}

EnvironmentState::~EnvironmentState() {
  if (registered_) {
    const Status status = take_failure(calls(), calls().unregister_allocator(env_, memory_info_));
    if (!status.is_ok()) base::log(base::LogLevel::error, "engine", status.to_string());
  }
  if (env_ != nullptr) calls().release_env(env_);
  bridge_.reset();
  if (memory_info_ != nullptr) calls().release_memory_info(memory_info_);
  g_environment_alive.store(false);
}

ModelState::ModelState(std::shared_ptr<EnvironmentState> environment_in, std::string path_in,
                       std::shared_ptr<MemorySource> source)
    : environment(std::move(environment_in)), path(std::move(path_in)), account(std::make_shared<ModelAccount>()) {
  account->context.name = std::filesystem::path(path).stem().string();
  account->source = std::move(source);
}

Status ModelState::load(GraphOptimization optimization) {
  if (Status status = check_readable(path); !status.is_ok()) return status;
  const auto start = std::chrono::steady_clock::now();
  account->source->admit(account->context);
  ModelAtWork work(account, MemoryUse::weights);
  Status status = create_session(optimization);
  if (status.is_ok()) status = read_signature();
  if (!status.is_ok()) release();
  load_usage = work.usage();
  load_ns = elapsed_ns(start);
  // The runtime reports a refusal as its own failure; the memory source knows the reason.
  if (Status refused = work.take_failure(); !refused.is_ok()) {
    release();
    return refused.with_context("loading " + path);
  }
  return status;
}

Status ModelState::create_session(GraphOptimization optimization) {
  ort::SessionOptions* raw = nullptr;
  if (Status status = take_failure(calls(), calls().create_session_options(&raw)); !status.is_ok()) return status;
  const Handle<ort::SessionOptions> options(raw, calls().release_session_options);
  if (Status status = configure(calls(), options.get(), optimization); !status.is_ok()) return status;
  FileBytes file;
  if (Status status = file.read(path); !status.is_ok()) return status;
  if (Status status = bring_weights(options.get(), file.bytes()); !status.is_ok()) return status;
  Status status =
      take_failure(calls(), calls().create_session(environment->env(), path.c_str(), options.get(), &session));
  return status.with_context("cannot load model " + path);
}

Status ModelState::bring_weights(ort::SessionOptions* options, std::span<const std::byte> file) {
  for (const OnnxWeight& weight : find_onnx_weights(file)) {
    if (weight.bytes().size() < kLeastBroughtBytes) continue;
    if (Status status = bring_weight(options, weight); !status.is_ok()) {
      return status.with_context("weight '" + std::string(weight.name) + "'");
    }
  }
  return {};
}

Status ModelState::bring_weight(ort::SessionOptions* options, const OnnxWeight& weight) {
  const std::size_t size = weight.bytes().size();
  ort::Allocator* allocator = environment->bridge().allocator();
  BroughtWeight& brought = weights.emplace_back();
  brought.memory = allocator->reserve(allocator, size);
  if (brought.memory == nullptr) {
    return Status(StatusCode::out_of_memory, "no memory for its " + std::to_string(size) + " bytes");
  }
  std::memcpy(brought.memory, weight.bytes().data(), size);
  Status status = take_failure(
      calls(), calls().create_tensor_over(environment->memory_info(), brought.memory, size, weight.shape.data(),
                                          weight.shape.size(), weight.element_type, &brought.value));
  if (!status.is_ok()) return status;
  const std::string name(weight.name);
  return take_failure(calls(), calls().add_initializer(options, name.c_str(), brought.value));
}

void ModelState::release() noexcept {
  if (session == nullptr && weights.empty()) return;
  const ModelAtWork work(account);
  if (session != nullptr) calls().release_session(std::exchange(session, nullptr));
  ort::Allocator* allocator = environment->bridge().allocator();
  for (const BroughtWeight& weight : weights) {
    if (weight.value != nullptr) calls().release_value(weight.value);
    allocator->free(allocator, weight.memory);
  }
  weights.clear();
}

Status ModelState::read_signature() {
  for (const bool is_input : {true, false}) {
    std::size_t count = 0;
    const auto count_of = is_input ? calls().input_count : calls().output_count;
    if (Status status = take_failure(calls(), count_of(session, &count)); !status.is_ok()) return status;
    for (std::size_t i = 0; i < count; ++i) {
      auto info = read_tensor_info(is_input, i);
      if (!info.is_ok()) return info.take_status();
      (is_input ? inputs : outputs).push_back(info.take());
    }
  }
  return {};
}

Result<TensorInfo> ModelState::read_tensor_info(bool is_input, std::size_t index) {
  ort::Allocator* names = nullptr;  // the runtime's own: names are no tensors
  if (Status status = take_failure(calls(), calls().default_allocator(&names)); !status.is_ok()) return status;
  char* raw_name = nullptr;
  const auto name_of = is_input ? calls().input_name : calls().output_name;
  if (Status status = take_failure(calls(), name_of(session, index, names, &raw_name)); !status.is_ok()) return status;
  const std::string name(raw_name);
  if (Status status = take_failure(calls(), calls().allocator_free(names, raw_name)); !status.is_ok()) return status;

  ort::TypeInfo* raw_type = nullptr;
  const auto type_of = is_input ? calls().input_type : calls().output_type;
  if (Status status = take_failure(calls(), type_of(session, index, &raw_type)); !status.is_ok()) return status;
  const Handle<ort::TypeInfo> type(raw_type, calls().release_type);
  std::int32_t kind = 0;
  if (Status status = take_failure(calls(), calls().onnx_type(type.get(), &kind)); !status.is_ok()) return status;
  const std::string where = std::string(is_input ? "input" : "output") + " '" + name + "' of model " + path;
  if (kind != ort::kTypeTensor) {
    return base::unsupported(where + " is no tensor (ONNX type " + std::to_string(kind) +
                             "); the engine serves tensors only");
  }
  const ort::TensorShape* shape = nullptr;
  if (Status status = take_failure(calls(), calls().tensor_shape_of_type(type.get(), &shape)); !status.is_ok()) {
    return status;
  }
  auto info = read_shape(calls(), shape, where);
  if (info.is_ok()) info.value().name = name;
  return info;
}

Result<TensorInfo> read_shape(const ort::Calls& calls, const ort::TensorShape* shape, std::string_view where) {
  std::int32_t number = 0;
  if (Status status = take_failure(calls, calls.element_type(shape, &number)); !status.is_ok()) return status;
  auto type = element_type_from_onnx(number, where);
  if (!type.is_ok()) return type.take_status();
  std::size_t count = 0;
  if (Status status = take_failure(calls, calls.axis_count(shape, &count)); !status.is_ok()) return status;
  std::vector<std::int64_t> extents(count);
  std::vector<const char*> symbols(count);
  if (count > 0) {
    Status status = take_failure(calls, calls.axis_extents(shape, extents.data(), count));
    if (status.is_ok()) status = take_failure(calls, calls.axis_symbols(shape, symbols.data(), count));
    if (!status.is_ok()) return status;
  }
  TensorInfo info;
  info.type = type.value();
  for (std::size_t i = 0; i < count; ++i) {
    info.axes.push_back({extents[i] < 0 ? kDynamic : extents[i], symbols[i] != nullptr ? symbols[i] : ""});
  }
  return info;
}

}  // namespace cistern::engine
