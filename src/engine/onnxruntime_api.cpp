// Finding the library, checking its age, and filling the table of calls from slot numbers.
#include "engine/onnxruntime_api.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>
#include <system_error>

namespace cistern::engine {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

constexpr std::string_view kGetOne = "get one with `./dev setup`, or name another in CISTERN_ONNXRUNTIME";

using AnyFunction = void (*)();

// What OrtGetApiBase returns.
struct ApiBase {
  const AnyFunction* (*get_api)(std::uint32_t version);
  const char* (*get_version)();
};

template <typename Function>
void bind(Function& call, const AnyFunction* slots, std::size_t slot) noexcept {
  call = reinterpret_cast<Function>(slots[slot]);
}

void bind_handles(ort::Calls& calls, const AnyFunction* slots) noexcept {
  bind(calls.get_error_code, slots, 1);
  bind(calls.get_error_message, slots, 2);
  bind(calls.create_env, slots, 3);
  bind(calls.create_cpu_memory_info, slots, 69);
  bind(calls.release_env, slots, 92);
  bind(calls.release_failure, slots, 93);
  bind(calls.release_memory_info, slots, 94);
  bind(calls.register_allocator, slots, 176);
  bind(calls.unregister_allocator, slots, 177);
}

void bind_sessions(ort::Calls& calls, const AnyFunction* slots) noexcept {
  bind(calls.create_session, slots, 7);
  bind(calls.run, slots, 9);
  bind(calls.create_session_options, slots, 10);
  bind(calls.disable_mem_pattern, slots, 17);
  bind(calls.disable_cpu_mem_arena, slots, 19);
  bind(calls.set_graph_optimization_level, slots, 23);
  bind(calls.set_intra_op_num_threads, slots, 24);
  bind(calls.set_inter_op_num_threads, slots, 25);
  bind(calls.input_count, slots, 30);
  bind(calls.output_count, slots, 31);
  bind(calls.input_type, slots, 33);
  bind(calls.output_type, slots, 34);
  bind(calls.input_name, slots, 36);
  bind(calls.output_name, slots, 37);
  bind(calls.create_run_options, slots, 39);
  bind(calls.terminate_run, slots, 46);
  bind(calls.release_session, slots, 95);
  bind(calls.release_run_options, slots, 97);
  bind(calls.release_session_options, slots, 100);
  bind(calls.add_session_config_entry, slots, 130);
  bind(calls.add_initializer, slots, 150);
}

void bind_tensors(ort::Calls& calls, const AnyFunction* slots) noexcept {
  bind(calls.create_tensor, slots, 48);
  bind(calls.create_tensor_over, slots, 49);
  bind(calls.tensor_data, slots, 51);
  bind(calls.tensor_shape_of_type, slots, 55);
  bind(calls.onnx_type, slots, 56);
  bind(calls.element_type, slots, 60);
  bind(calls.axis_count, slots, 61);
  bind(calls.axis_extents, slots, 62);
  bind(calls.axis_symbols, slots, 63);
  bind(calls.tensor_shape_of_value, slots, 65);
  bind(calls.allocator_free, slots, 76);
  bind(calls.default_allocator, slots, 78);
  bind(calls.release_value, slots, 96);
  bind(calls.release_type, slots, 98);
  bind(calls.release_tensor_shape, slots, 99);
}

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

StatusCode code_of(std::int32_t error) noexcept {
  switch (error) {
    case ort::kInvalidArgument:
      return StatusCode::invalid_argument;
    case ort::kNoSuchFile:
      return StatusCode::not_found;
    case ort::kNoModel:
    case ort::kInvalidProtobuf:
    case ort::kInvalidGraph:
      return StatusCode::corrupted;
    case ort::kNotImplemented:
      return StatusCode::unsupported;
    default:
      return StatusCode::device_error;
  }
}

bool file_exists(const std::string& path) noexcept {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string last_dl_error() {
  const char* text = dlerror();
  return text != nullptr ? on_one_line(text) : "unknown reason";
}

}  // namespace

Status take_failure(const ort::Calls& calls, ort::Failure* failure) {
  if (failure == nullptr) return {};
  const std::int32_t error = calls.get_error_code(failure);
  Status status(code_of(error), "ONNX Runtime: " + on_one_line(calls.get_error_message(failure)), error);
  calls.release_failure(failure);
  return status;
}

std::vector<std::string> usual_runtime_places() {
  namespace fs = std::filesystem;
  const fs::path local = fs::path(".deps") / "onnxruntime" / "libonnxruntime.so.1";
  std::vector<std::string> places{local.string()};
  std::error_code error;
  fs::path directory = fs::read_symlink("/proc/self/exe", error).parent_path();
  // A built program lies a few directories below the project's root: build/<preset>/bin.
  for (int level = 0; !error && level < 5 && directory.has_relative_path(); ++level) {
    places.push_back((directory / local).string());
    directory = directory.parent_path();
  }
  places.emplace_back("libonnxruntime.so.1");
  places.emplace_back("libonnxruntime.so");
  return places;
}

// The library stays loaded for the life of the process: the runtime keeps thread-local state whose destructors would
// otherwise run in unmapped code.
Result<std::shared_ptr<const OnnxRuntime>> OnnxRuntime::open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status(StatusCode::io_error,
                  "cannot load ONNX Runtime from " + path + ": " + last_dl_error() + "; " + std::string(kGetOne));
  }
  using GetApiBase = const ApiBase* (*)();
  const auto get_base = reinterpret_cast<GetApiBase>(dlsym(library, "OrtGetApiBase"));
  const ApiBase* api_base = get_base != nullptr ? get_base() : nullptr;
  if (api_base == nullptr) {
    return base::unsupported(path + " is not ONNX Runtime: it has no usable symbol OrtGetApiBase; " +
                             std::string(kGetOne));
  }
  const char* version = api_base->get_version();
  const AnyFunction* slots = api_base->get_api(ort::kApiVersion);
  if (slots == nullptr) {
    return base::unsupported("ONNX Runtime " + std::string(version) + " at " + path +
                             " is too old: it does not offer API version " + std::to_string(ort::kApiVersion) +
                             " (runtime 1." + std::to_string(ort::kApiVersion) + " or newer is needed); " +
                             std::string(kGetOne));
  }
  std::shared_ptr<OnnxRuntime> runtime(new OnnxRuntime);
  bind_handles(runtime->calls_, slots);
  bind_sessions(runtime->calls_, slots);
  bind_tensors(runtime->calls_, slots);
  runtime->version_ = version;
  runtime->path_ = path;
  return std::shared_ptr<const OnnxRuntime>(std::move(runtime));
}

Result<std::shared_ptr<const OnnxRuntime>> OnnxRuntime::load(const RuntimeSearch& search) noexcept {
  const std::string& chosen = !search.path.empty() ? search.path : search.configured;
  if (!chosen.empty()) {
    const bool is_file_name = chosen.find('/') != std::string::npos;
    if (is_file_name && !file_exists(chosen)) {
      return base::not_found("no ONNX Runtime at " + chosen +
                             (search.path.empty() ? " (named by CISTERN_ONNXRUNTIME)" : "") + "; " +
                             std::string(kGetOne));
    }
    return open(chosen);
  }
  std::string tried;
  for (const std::string& place : usual_runtime_places()) {
    const bool is_file_name = place.find('/') != std::string::npos;
    if (is_file_name && file_exists(place)) return open(place);
    if (!is_file_name) {
      // A plain name is only known to the loader; ask it before open() so that absence is not an error yet.
      if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return open(place);
    }
    tried += (tried.empty() ? "" : ", ") + place;
  }
  return base::not_found("ONNX Runtime is not installed (tried " + tried + "); " + std::string(kGetOne));
}

}  // namespace cistern::engine
