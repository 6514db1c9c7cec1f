// OnnxRuntime: the part of ONNX Runtime's C interface that the engine uses, found at run time.
//
// The runtime's one exported symbol is versioned per release, so a program that links to it starts with that release
// only; dlopen and dlsym work with all. Behind the symbol is a table of function pointers whose slots never move, so
// the types and slot numbers declared here are enough, and no header of the vendor is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace cistern::engine {

// The runtime's own types as far as the engine knows them: most are opaque.
namespace ort {

struct Failure;  // the runtime's status object; null is success
struct Env;
struct Session;
struct SessionOptions;
struct RunOptions;
struct Value;
struct MemoryInfo;
struct TypeInfo;
struct TensorShape;

// What a registered allocator looks like to the runtime, 64 bytes on 64-bit machines. Members after `reserve` are
// only read from an allocator that declares a newer version than ours.
struct Allocator {
  std::uint32_t version;
  void* (*alloc)(Allocator*, std::size_t bytes);
  void (*free)(Allocator*, void* memory);
  const MemoryInfo* (*info)(const Allocator*);
  void* (*reserve)(Allocator*, std::size_t bytes);
  void* unused[3];
};
static_assert(sizeof(void*) != 8 || sizeof(Allocator) == 64);

// The interface version the engine asks for: the first whose allocators have `reserve`, which is how the runtime asks
// for weights. Every runtime from 1.18 on offers it.
inline constexpr std::uint32_t kApiVersion = 18;

inline constexpr std::int32_t kDeviceAllocator = 0;
inline constexpr std::int32_t kMemTypeDefault = 0;
inline constexpr std::int32_t kLogFatal = 4;    // failures come back as objects; the runtime need not print them too
inline constexpr std::int32_t kTypeTensor = 1;  // of onnx_type
enum ErrorCode : std::int32_t {
  kInvalidArgument = 2,
  kNoSuchFile = 3,
  kNoModel = 4,
  kInvalidProtobuf = 7,
  kNotImplemented = 9,
  kInvalidGraph = 10
};

struct Calls {
  std::int32_t (*get_error_code)(const Failure*);
  const char* (*get_error_message)(const Failure*);
  void (*release_failure)(Failure*);

  Failure* (*create_env)(std::int32_t log_level, const char* log_name, Env** out);
  void (*release_env)(Env*);
  Failure* (*create_cpu_memory_info)(std::int32_t kind, std::int32_t mem_type, MemoryInfo** out);
  void (*release_memory_info)(MemoryInfo*);
  Failure* (*register_allocator)(Env*, Allocator*);
  Failure* (*unregister_allocator)(Env*, const MemoryInfo*);

  Failure* (*create_session_options)(SessionOptions** out);
  void (*release_session_options)(SessionOptions*);
  Failure* (*disable_mem_pattern)(SessionOptions*);
  Failure* (*disable_cpu_mem_arena)(SessionOptions*);
  Failure* (*set_intra_op_num_threads)(SessionOptions*, int threads);
  Failure* (*set_inter_op_num_threads)(SessionOptions*, int threads);
  Failure* (*set_graph_optimization_level)(SessionOptions*, std::int32_t level);
  // The value stays the caller's and must outlive the session.
  Failure* (*add_initializer)(SessionOptions*, const char* name, const Value* value);
  Failure* (*add_session_config_entry)(SessionOptions*, const char* key, const char* value);

  Failure* (*create_session)(const Env*, const char* path, const SessionOptions*, Session** out);
  void (*release_session)(Session*);
  Failure* (*input_count)(const Session*, std::size_t* out);
  Failure* (*output_count)(const Session*, std::size_t* out);
  Failure* (*input_type)(const Session*, std::size_t index, TypeInfo** out);
  Failure* (*output_type)(const Session*, std::size_t index, TypeInfo** out);
  Failure* (*input_name)(const Session*, std::size_t index, Allocator*, char** out);
  Failure* (*output_name)(const Session*, std::size_t index, Allocator*, char** out);
  Failure* (*default_allocator)(Allocator** out);
  Failure* (*allocator_free)(Allocator*, void* memory);

  Failure* (*onnx_type)(const TypeInfo*, std::int32_t* out);
  Failure* (*tensor_shape_of_type)(const TypeInfo*, const TensorShape** out);  // owned by the type
  void (*release_type)(TypeInfo*);
  Failure* (*tensor_shape_of_value)(const Value*, TensorShape** out);
  void (*release_tensor_shape)(TensorShape*);
  Failure* (*element_type)(const TensorShape*, std::int32_t* out);
  Failure* (*axis_count)(const TensorShape*, std::size_t* out);
  Failure* (*axis_extents)(const TensorShape*, std::int64_t* extents, std::size_t count);
  Failure* (*axis_symbols)(const TensorShape*, const char** symbols, std::size_t count);

  Failure* (*create_tensor)(Allocator*, const std::int64_t* shape, std::size_t axes, std::int32_t element_type,
                            Value** out);
  // Over memory that stays the caller's and must outlive the value.
  Failure* (*create_tensor_over)(const MemoryInfo*, void* data, std::size_t bytes, const std::int64_t* shape,
                                 std::size_t axes, std::int32_t element_type, Value** out);
  Failure* (*tensor_data)(Value*, void** out);
  void (*release_value)(Value*);
  Failure* (*create_run_options)(RunOptions** out);
  void (*release_run_options)(RunOptions*);
  Failure* (*terminate_run)(RunOptions*);  // from any thread, also from within an allocator
  Failure* (*run)(Session*, const RunOptions*, const char* const* input_names, const Value* const* inputs,
                  std::size_t input_count, const char* const* output_names, std::size_t output_count, Value** outputs);
};

}  // namespace ort

// Where to look. The first that is set is the only one tried; with none, the usual places.
struct RuntimeSearch {
  std::string path;        // as given on a command line or by a caller
  std::string configured;  // the value of CISTERN_ONNXRUNTIME
};

class OnnxRuntime {
 public:
  // not_found when there is none, io_error when it can't be loaded, unsupported when it is too old. The text names
  // what was tried and the command that gets a runtime.
  static base::Result<std::shared_ptr<const OnnxRuntime>> load(const RuntimeSearch& search) noexcept;

  const ort::Calls& calls() const noexcept { return calls_; }
  const std::string& version() const noexcept { return version_; }  // "1.30.0"
  const std::string& path() const noexcept { return path_; }

 private:
  OnnxRuntime() = default;
  static base::Result<std::shared_ptr<const OnnxRuntime>> open(const std::string& path);

  ort::Calls calls_{};
  std::string version_;
  std::string path_;
};

// The usual places in order: .deps/onnxruntime under the working directory, then under the directory of the program
// and those above it, then the system's library path (plain names).
std::vector<std::string> usual_runtime_places();

// Takes the failure object and gives it back to the runtime. The text is the runtime's own, on one line; null is ok.
base::Status take_failure(const ort::Calls& calls, ort::Failure* failure);

}  // namespace cistern::engine
