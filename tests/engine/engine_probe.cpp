// engine_probe MODEL.onnx...: what a model asks of its memory source, and what passes it by. The figures of
// docs on the engine come from here. Heap growth is the process's, by mallinfo2, less what the source itself took.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/units.hpp"
#include "engine/session.hpp"
#include "engine/shape_rules.hpp"
#include "engine/tensor_source.hpp"
#include "heap_memory.hpp"

namespace {

using namespace cistern;

std::int64_t heap_bytes() {
  const auto info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

// The source's own blocks, at their padded sizes, are taken off roughly: 1 KiB a block at most.
void print_usage(const char* what, const engine::MemoryUsage& usage, std::uint64_t wall_ns) {
  std::printf("  %-10s weights %4llu calls %10s  activations %4llu calls %10s  frees %4llu  memory %s of %s\n", what,
              static_cast<unsigned long long>(usage.weight_allocations), base::format_bytes(usage.weight_bytes).c_str(),
              static_cast<unsigned long long>(usage.activation_allocations),
              base::format_bytes(usage.activation_bytes).c_str(), static_cast<unsigned long long>(usage.frees),
              base::format_nanoseconds(static_cast<double>(usage.measured_ns)).c_str(),
              base::format_nanoseconds(static_cast<double>(wall_ns)).c_str());
}

int probe(engine::Environment& environment, const std::string& path) {
  auto source = std::make_shared<engine::testing::HeapMemory>();
  const std::int64_t before = heap_bytes();
  auto loaded = environment.load(path, source);
  if (!loaded.is_ok()) {
    std::fprintf(stderr, "%s\n", loaded.status().to_string().c_str());
    return 1;
  }
  engine::Model model = loaded.take();
  std::printf("%s\n", model.name().c_str());
  for (const auto& info : model.inputs()) std::printf("  in  %s\n", engine::describe(info).c_str());
  for (const auto& info : model.outputs()) std::printf("  out %s\n", engine::describe(info).c_str());
  print_usage("load", model.load_usage(), model.load_ns());
  const std::int64_t grown = heap_bytes() - before - static_cast<std::int64_t>(source->live_bytes);
  std::printf("  past the source after load: %lld bytes (held by it: %llu)\n", static_cast<long long>(grown),
              static_cast<unsigned long long>(source->live_bytes));
  auto rules = engine::resolve_shape_rules(model.name(), model.inputs(), {});
  if (!rules.is_ok()) {
    std::fprintf(stderr, "%s\n", rules.status().to_string().c_str());
    return 1;
  }
  for (std::uint64_t request = 0; request < 3; ++request) {
    auto inputs = engine::make_inputs(model.inputs(), engine::draw_shapes(rules.value(), 1, request), request);
    const std::int64_t idle = heap_bytes();
    auto outputs = model.run(inputs.value());
    if (!outputs.is_ok()) {
      std::fprintf(stderr, "%s\n", outputs.status().to_string().c_str());
      return 1;
    }
    const std::uint64_t hash = outputs.value().hash();
    std::string shape;
    for (const auto extent : outputs.value().tensors()[0].shape) shape += " " + std::to_string(extent);
    outputs.value().release();
    print_usage(("request " + std::to_string(request)).c_str(), outputs.value().usage(), outputs.value().run_ns());
    std::printf("    out%s  hash %016llx  peak %s  heap after, against before %lld\n", shape.c_str(),
                static_cast<unsigned long long>(hash), base::format_bytes(model.held().peak_bytes).c_str(),
                static_cast<long long>(heap_bytes() - idle));
  }
  const auto left = model.unload();
  std::printf("  left after unload: %llu blocks; misuses %llu\n", static_cast<unsigned long long>(left.blocks),
              static_cast<unsigned long long>(environment.misuses()));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const char* configured = std::getenv("CISTERN_ONNXRUNTIME");
  auto runtime = engine::OnnxRuntime::load({"", configured != nullptr ? configured : ""});
  if (!runtime.is_ok()) {
    std::fprintf(stderr, "%s\n", runtime.status().to_string().c_str());
    return 1;
  }
  std::printf("ONNX Runtime %s at %s\n", runtime.value()->version().c_str(), runtime.value()->path().c_str());
  auto environment = engine::Environment::create(runtime.take());
  if (!environment.is_ok()) {
    std::fprintf(stderr, "%s\n", environment.status().to_string().c_str());
    return 1;
  }
  for (int i = 1; i < count; ++i) {
    if (probe(environment.value(), arguments[i]) != 0) return 1;
  }
  return 0;
}
