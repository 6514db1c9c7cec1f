// engine_results MODEL.onnx...: what the engine itself makes of the models, without AscendCL: the same inputs as
// examples/ascendcl/multi_model.cpp, the same line for each model, so that both can be compared.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "engine/heap_memory.hpp"
#include "engine/session.hpp"
#include "engine/shape_rules.hpp"

namespace {

using namespace cistern;

[[noreturn]] void fail(const base::Status& status) {
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  std::exit(1);
}

std::vector<engine::Tensor> inputs_of(const engine::Model& model) {
  auto rules = engine::resolve_shape_rules(model.name(), model.inputs(), {});
  if (!rules.is_ok()) fail(rules.status());
  const auto shapes = engine::largest_shapes(rules.value());
  std::vector<engine::Tensor> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    engine::Tensor tensor{model.inputs()[i].type, shapes[i], {}};
    tensor.bytes.resize(engine::tensor_bytes(tensor.type, tensor.shape).value());
    auto* const values = reinterpret_cast<float*>(tensor.bytes.data());
    for (std::size_t j = 0; j < tensor.bytes.size() / sizeof(float); ++j) {
      values[j] = static_cast<float>(j % 255) / 255.0F;
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

std::uint64_t hash_of(const engine::Outputs& outputs) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const engine::TensorView& view : outputs.tensors()) {
    for (const std::byte byte : view.bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  return hash;
}

}  // namespace

int main(int argc, char** argv) {
  auto runtime = engine::OnnxRuntime::load({});
  if (!runtime.is_ok()) fail(runtime.status());
  auto environment = engine::Environment::create(runtime.take());
  if (!environment.is_ok()) fail(environment.status());
  for (int i = 1; i < argc; ++i) {
    auto model = environment.value().load(argv[i], std::make_shared<engine::testing::HeapMemory>());
    if (!model.is_ok()) fail(model.status());
    auto outputs = model.value().run(inputs_of(model.value()));
    if (!outputs.is_ok()) fail(outputs.status());
    std::printf("%s: outputs %016" PRIx64 "\n", argv[i], hash_of(outputs.value()));
  }
  return 0;
}
