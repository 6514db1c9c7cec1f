// A runtime of a few functions behind the real entry point: one float input "x" and one output "y" of shape [?, 4], two
// weights, one scratch allocation a run, and whatever else the script says. Slots that the engine has no business with
// end the program.
#include "fake_onnxruntime.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "engine/onnxruntime_api.hpp"

namespace cistern::engine::ort {

struct Failure {
  std::int32_t code;
  std::string text;
};
struct MemoryInfo {};
struct Env {
  Allocator* allocator = nullptr;
  std::vector<void*> kept;
};
struct SessionOptions {};
struct RunOptions {
  bool ended = false;
};
struct Session {
  Env* env;
  void* weights[2];
};
struct TypeInfo {};
struct TensorShape {
  std::int32_t element_type;
  std::vector<std::int64_t> extents;
};
struct Value {
  Allocator* allocator;
  TensorShape shape;
  void* data;
};

}  // namespace cistern::engine::ort

namespace {

using namespace cistern::engine::ort;
using cistern::engine::testing::FakeScript;
using cistern::engine::testing::Misbehaviour;

FakeScript g_script;
MemoryInfo g_memory_info;
TypeInfo g_input_type;
TypeInfo g_output_type;
TensorShape g_input_shape;
TensorShape g_output_shape;

Failure* fail(std::int32_t code, const char* text) {
  ++g_script.failures;
  return new Failure{code, text};
}

std::int32_t error_code(const Failure* failure) { return failure->code; }
const char* error_message(const Failure* failure) { return failure->text.c_str(); }
void release_failure(Failure* failure) {
  --g_script.failures;
  delete failure;
}

Failure* create_env(std::int32_t, const char*, Env** out) {
  if (g_script.fail_environment) return fail(1, "no environment\n  today");
  ++g_script.environments;
  *out = new Env;
  return nullptr;
}
void release_env(Env* env) {
  for (void* memory : env->kept) env->allocator->free(env->allocator, memory);
  if (g_script.misbehaviour == Misbehaviour::stray_allocation) {
    void* memory = env->allocator->alloc(env->allocator, 64);
    std::memset(memory, 1, 64);
    env->allocator->free(env->allocator, memory);
  }
  --g_script.environments;
  delete env;
}
Failure* create_cpu_memory_info(std::int32_t, std::int32_t, MemoryInfo** out) {
  *out = &g_memory_info;
  return nullptr;
}
void release_memory_info(MemoryInfo*) {}
Failure* register_allocator(Env* env, Allocator* allocator) {
  if (g_script.fail_registration) return fail(2, "no allocator wanted");
  if (allocator->info(allocator) != &g_memory_info) return fail(2, "an allocator without a place");
  g_script.registered_version = static_cast<std::int32_t>(allocator->version);
  env->allocator = allocator;
  return nullptr;
}
Failure* unregister_allocator(Env*, const MemoryInfo*) { return nullptr; }

Failure* create_session_options(SessionOptions** out) {
  ++g_script.options;
  *out = new SessionOptions;
  return nullptr;
}
void release_session_options(SessionOptions* options) {
  --g_script.options;
  delete options;
}
Failure* set_nothing(SessionOptions*) { return nullptr; }
Failure* set_number(SessionOptions*, int) { return nullptr; }
Failure* set_entry(SessionOptions*, const char*, const char*) { return nullptr; }

Failure* create_session(const Env* env, const char*, const SessionOptions*, Session** out) {
  if (g_script.fail_session) return fail(7, "Protobuf parsing failed.");
  Allocator* allocator = env->allocator;
  *out = new Session{const_cast<Env*>(env), {allocator->reserve(allocator, 4096), allocator->reserve(allocator, 100)}};
  ++g_script.sessions;
  return nullptr;
}
void release_session(Session* session) {
  for (void* weight : session->weights) session->env->allocator->free(session->env->allocator, weight);
  --g_script.sessions;
  delete session;
}
Failure* count_one(const Session*, std::size_t* out) {
  *out = 1;
  return nullptr;
}
Failure* input_type(const Session*, std::size_t, TypeInfo** out) {
  *out = &g_input_type;
  return nullptr;
}
Failure* output_type(const Session*, std::size_t, TypeInfo** out) {
  *out = &g_output_type;
  return nullptr;
}
void release_type(TypeInfo*) {}
Failure* name(const char* text, Allocator* allocator, char** out) {
  *out = static_cast<char*>(allocator->alloc(allocator, 2));
  std::memcpy(*out, text, 2);
  return nullptr;
}
Failure* input_name(const Session*, std::size_t, Allocator* allocator, char** out) { return name("x", allocator, out); }
Failure* output_name(const Session*, std::size_t, Allocator* allocator, char** out) {
  return name("y", allocator, out);
}
Allocator g_heap = {30,
                    [](Allocator*, std::size_t bytes) { return std::malloc(bytes); },
                    [](Allocator*, void* memory) { std::free(memory); },
                    [](const Allocator*) -> const MemoryInfo* { return &g_memory_info; },
                    nullptr,
                    {}};
Failure* default_allocator(Allocator** out) {
  *out = &g_heap;
  return nullptr;
}
Failure* allocator_free(Allocator* allocator, void* memory) {
  allocator->free(allocator, memory);
  return nullptr;
}

Failure* onnx_type(const TypeInfo* type, std::int32_t* out) {
  *out = type == &g_input_type ? g_script.input_kind : 1;
  return nullptr;
}
Failure* shape_of_type(const TypeInfo* type, const TensorShape** out) {
  g_input_shape = {g_script.input_type, {-1, 4}};
  g_output_shape = {1, {-1, 4}};
  *out = type == &g_input_type ? &g_input_shape : &g_output_shape;
  return nullptr;
}
Failure* shape_of_value(const Value* value, TensorShape** out) {
  *out = new TensorShape(value->shape);
  return nullptr;
}
void release_shape(TensorShape* shape) { delete shape; }
Failure* element_type(const TensorShape* shape, std::int32_t* out) {
  *out = shape->element_type;
  return nullptr;
}
Failure* axis_count(const TensorShape* shape, std::size_t* out) {
  *out = shape->extents.size();
  return nullptr;
}
Failure* axis_extents(const TensorShape* shape, std::int64_t* out, std::size_t count) {
  std::memcpy(out, shape->extents.data(), count * sizeof(std::int64_t));
  return nullptr;
}
Failure* axis_symbols(const TensorShape*, const char** out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = "";
  return nullptr;
}

Failure* create_tensor(Allocator* allocator, const std::int64_t* shape, std::size_t axes, std::int32_t type,
                       Value** out) {
  std::size_t bytes = 4;
  for (std::size_t i = 0; i < axes; ++i) bytes *= static_cast<std::size_t>(shape[i]);
  ++g_script.values;
  *out = new Value{allocator, {type, {shape, shape + axes}}, allocator->alloc(allocator, bytes)};
  return nullptr;
}
Failure* tensor_data(Value* value, void** out) {
  *out = value->data;
  return nullptr;
}
void release_value(Value* value) {
  value->allocator->free(value->allocator, value->data);
  --g_script.values;
  delete value;
}
Failure* create_run_options(RunOptions** out) {
  ++g_script.options;
  *out = new RunOptions;
  return nullptr;
}
void release_run_options(RunOptions* options) {
  --g_script.options;
  delete options;
}
Failure* terminate_run(RunOptions* options) {
  options->ended = true;
  return nullptr;
}

void misbehave(Env& env, Allocator* allocator, void* scratch) {
  static char elsewhere[512];
  switch (g_script.misbehaviour) {
    case Misbehaviour::double_free:
      allocator->free(allocator, scratch);
      allocator->free(allocator, scratch);
      return;
    case Misbehaviour::foreign_free:
      allocator->free(allocator, elsewhere);
      break;
    case Misbehaviour::interior_free:
      allocator->free(allocator, static_cast<char*>(scratch) + 64);
      break;
    case Misbehaviour::leak:
      return;
    case Misbehaviour::late_free:
      return env.kept.push_back(scratch);
    default:
      break;
  }
  allocator->free(allocator, scratch);
}

// y = 2x.
Failure* run(Session* session, const RunOptions* options, const char* const*, const Value* const* inputs, std::size_t,
             const char* const*, std::size_t, Value** outputs) {
  ++g_script.runs;
  if (g_script.fail_run) return fail(6, "Non-zero status code returned while running Mul node.");
  Allocator* allocator = session->env->allocator;
  void* scratch = allocator->alloc(allocator, 1000);
  std::memset(scratch, 0x5a, 1000);
  misbehave(*session->env, allocator, scratch);
  if (options->ended) return fail(1, "Exiting due to terminate flag being set to true.");
  const Value& input = *inputs[0];
  create_tensor(allocator, input.shape.extents.data(), input.shape.extents.size(), 1, &outputs[0]);
  const auto count = static_cast<std::size_t>(input.shape.extents[0] * 4);
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<float*>(outputs[0]->data)[i] = 2 * static_cast<const float*>(input.data)[i];
  }
  return nullptr;
}

void unexpected() {
  std::fputs("the engine called a slot that the fake runtime does not have\n", stderr);
  std::abort();
}

using AnyFunction = void (*)();
struct ApiBase {
  const AnyFunction* (*get_api)(std::uint32_t);
  const char* (*get_version)();
};

template <typename Function>
void put(AnyFunction* slots, std::size_t slot, Function function) {
  slots[slot] = reinterpret_cast<AnyFunction>(function);
}

void fill(AnyFunction* slots) {
  put(slots, 1, error_code), put(slots, 2, error_message), put(slots, 3, create_env), put(slots, 7, create_session);
  put(slots, 9, run), put(slots, 10, create_session_options), put(slots, 17, set_nothing), put(slots, 19, set_nothing);
  put(slots, 23, set_number), put(slots, 24, set_number), put(slots, 25, set_number), put(slots, 30, count_one);
  put(slots, 31, count_one), put(slots, 33, input_type), put(slots, 34, output_type), put(slots, 36, input_name);
  put(slots, 37, output_name), put(slots, 39, create_run_options), put(slots, 46, terminate_run);
  put(slots, 48, create_tensor), put(slots, 51, tensor_data), put(slots, 55, shape_of_type), put(slots, 56, onnx_type);
  put(slots, 60, element_type), put(slots, 61, axis_count), put(slots, 62, axis_extents), put(slots, 63, axis_symbols);
  put(slots, 65, shape_of_value), put(slots, 69, create_cpu_memory_info), put(slots, 76, allocator_free);
  put(slots, 78, default_allocator), put(slots, 92, release_env), put(slots, 93, release_failure);
  put(slots, 94, release_memory_info), put(slots, 95, release_session), put(slots, 96, release_value);
  put(slots, 97, release_run_options), put(slots, 98, release_type), put(slots, 99, release_shape);
  put(slots, 100, release_session_options), put(slots, 130, set_entry), put(slots, 176, register_allocator);
  put(slots, 177, unregister_allocator);
}

const AnyFunction* get_api(std::uint32_t version) {
  static AnyFunction slots[425];
  for (AnyFunction& slot : slots) slot = unexpected;
  fill(slots);
  return version <= g_script.newest_api ? slots : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const ApiBase* OrtGetApiBase() {
  static const ApiBase base = {get_api, [] { return "1.99.0"; }};
  return &base;
}

extern "C" __attribute__((visibility("default"))) FakeScript* fake_script() { return &g_script; }
