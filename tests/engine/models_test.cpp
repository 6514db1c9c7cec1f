// Real models on the real runtime: every tensor comes from the source, everything comes back, whatever fails.
#include <malloc.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "device/host_device.hpp"
#include "device/simulated_device.hpp"
#include "engine/direct_memory.hpp"
#include "engine/onnx_weights.hpp"
#include "heap_memory.hpp"
#include "real_models.hpp"

namespace cistern::engine {
namespace {

using base::StatusCode;
using testing::HeapMemory;
using testing::kModelNames;
using testing::model_path;
using testing::RealModels;

std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(RealModels, SignaturesAreRead) {
  auto memory = std::make_shared<HeapMemory>();
  const Model detection = load("detection", memory);
  ASSERT_EQ(detection.inputs().size(), 1U);
  EXPECT_EQ(detection.name(), "detection");
  EXPECT_EQ(describe(detection.inputs()[0]),
            "float32 x[p2o.DynamicDimension.0,3,p2o.DynamicDimension.1,p2o.DynamicDimension.2]");
  const Model recognition = load("recognition", memory);
  EXPECT_EQ(describe(recognition.inputs()[0]), "float32 x[p2o.DynamicDimension.0,3,48,p2o.DynamicDimension.1]");
  ASSERT_EQ(recognition.outputs().size(), 1U);
  EXPECT_EQ(recognition.outputs()[0].axes.back().extent, 6625);
}

TEST_F(RealModels, EveryWeightOfTheFileIsInTheSource) {
  for (const char* name : kModelNames) {
    SCOPED_TRACE(name);
    const std::string file = file_content(model_path(name));
    std::uint64_t weight_bytes = 0;
    for (const auto& weight : find_onnx_weights({reinterpret_cast<const std::byte*>(file.data()), file.size()})) {
      weight_bytes += weight.bytes().size();
    }
    EXPECT_GT(weight_bytes, file.size() * 9 / 10);
    auto memory = std::make_shared<HeapMemory>();
    Model exact = load(name, memory, GraphOptimization::none);
    EXPECT_EQ(exact.load_usage().weight_bytes, weight_bytes);
    EXPECT_EQ(exact.load_usage().activation_allocations, 0U);
    Model optimized = load(name, memory);
    EXPECT_GE(optimized.load_usage().weight_bytes, weight_bytes * 99 / 100);
    EXPECT_LE(optimized.load_usage().weight_bytes, weight_bytes * 101 / 100);
  }
}

// The runtime must use the weights that were brought, not copies of its own: without its copy the heap grows by less
// than the weights. The sanitizers' allocators do not keep these statistics.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(RealModels, TheRuntimeKeepsNoWeightsOnItsHeap) {
  auto heap_bytes = [] {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  auto memory = std::make_shared<DirectMemory>(device::HostDevice::create().take());
  { const Model first = load("recognition", memory); }  // what the runtime makes once
  const std::uint64_t before = heap_bytes();
  const Model model = load("recognition", memory);
  EXPECT_GT(model.held().bytes, 10'000'000U);
  EXPECT_LT(heap_bytes() - before, 5'000'000U);
}
#endif

TEST_F(RealModels, BroughtWeightsComputeTheSameAsTheRuntimesOwn) {
  // Changing a weight in the source must change the result; changing it back must restore it: the runtime computes with
  // the very bytes in the source.
  class Watched final : public MemorySource {
   public:
    void admit(ModelContext& model) noexcept override { heap_.admit(model); }
    base::Result<void*> allocate(std::size_t bytes, MemoryUse use, const ModelContext& model) noexcept override {
      auto memory = heap_.allocate(bytes, use, model);
      if (use == MemoryUse::weights && bytes > largest_bytes) {
        largest = static_cast<unsigned char*>(memory.value());
        largest_bytes = bytes;
      }
      return memory;
    }
    base::Status free(void* memory) noexcept override { return heap_.free(memory); }
    std::uint64_t modelled_ns() const noexcept override { return 0; }
    unsigned char* largest = nullptr;
    std::size_t largest_bytes = 0;

   private:
    HeapMemory heap_;
  };
  auto memory = std::make_shared<Watched>();
  Model model = load("classification", memory);
  const auto inputs = inputs_of(model, 0);
  const std::uint64_t before = model.run(inputs).value().hash();
  for (std::size_t i = 0; i < memory->largest_bytes; ++i) memory->largest[i] ^= 0x40;
  EXPECT_NE(model.run(inputs).value().hash(), before);
  for (std::size_t i = 0; i < memory->largest_bytes; ++i) memory->largest[i] ^= 0x40;
  EXPECT_EQ(model.run(inputs).value().hash(), before);
}

TEST_F(RealModels, RequestsAskForEveryTensorEveryTimeAndGiveAllBack) {
  auto memory = std::make_shared<HeapMemory>();
  for (const char* name : kModelNames) {
    SCOPED_TRACE(name);
    Model model = load(name, memory);
    const std::uint64_t weights = model.held().blocks;
    std::uint64_t first_count = 0;
    for (std::uint64_t request = 0; request < 3; ++request) {
      auto ran = model.run(inputs_of(model, request));
      ASSERT_TRUE(ran.is_ok()) << ran.status().to_string();
      Outputs outputs = ran.take();
      outputs.release();
      const MemoryUsage& usage = outputs.usage();
      EXPECT_GT(usage.activation_allocations, 100U);
      EXPECT_EQ(usage.weight_allocations, 0U);
      EXPECT_EQ(usage.frees, usage.activation_allocations);
      EXPECT_GT(usage.measured_ns, 0U);
      if (request == 0) first_count = usage.activation_allocations;
      EXPECT_EQ(usage.activation_allocations, first_count) << "the stream does not shrink after the first request";
      EXPECT_EQ(model.held().blocks, weights);
    }
    EXPECT_EQ(model.unload().blocks, 0U);
    EXPECT_EQ(memory->live_blocks(), 0U);
  }
  EXPECT_EQ(memory->overruns, 0U) << "the runtime wrote behind its blocks";
  EXPECT_EQ(memory->wrong_frees, 0U);
}

TEST_F(RealModels, DirectMemoryOfEveryDeviceGivesTheSameOutputs) {
  auto heap = std::make_shared<HeapMemory>();
  for (const char* name : kModelNames) {
    SCOPED_TRACE(name);
    Model reference = load(name, heap);
    const auto inputs = inputs_of(reference, 3);
    auto expected = reference.run(inputs);
    ASSERT_TRUE(expected.is_ok()) << expected.status().to_string();
    for (const bool strict : {false, true}) {
      device::SimulatedConfig config;
      config.strict = strict;
      std::shared_ptr<device::Device> device = device::SimulatedDevice::create(config).take();
      Model model = load(name, std::make_shared<DirectMemory>(device));
      const auto before = device->counters();
      auto got = model.run(inputs);
      ASSERT_TRUE(got.is_ok()) << got.status().to_string();
      EXPECT_EQ(first_difference(got.value().tensors(), expected.value().tensors()), "");
      EXPECT_EQ(got.value().hash(), expected.value().hash());
      got.value().release();
      const MemoryUsage& usage = got.value().usage();
      EXPECT_EQ(device->counters().mallocs - before.mallocs, usage.activation_allocations);
      EXPECT_EQ(device->counters().frees - before.frees, usage.frees);
      EXPECT_EQ(device->counters().modelled_ns - before.modelled_ns, usage.modelled_ns);
      EXPECT_EQ(model.unload().blocks, 0U);
      EXPECT_EQ(device->counters().driver_bytes, 0U);
    }
  }
}

TEST_F(RealModels, ModelsOnSeveralThreadsKeepTheirMemoryApart) {
  auto shared = std::make_shared<HeapMemory>();
  Model alone = load("classification", shared);
  const auto inputs = inputs_of(alone, 5);
  const std::uint64_t expected = alone.run(inputs).value().hash();
  std::vector<std::shared_ptr<HeapMemory>> memories;
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> left(3, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    memories.push_back(std::make_shared<HeapMemory>());
    threads.emplace_back([&, i] {
      Model own = load("classification", memories[i]);
      for (int run = 0; run < 10; ++run) {
        EXPECT_EQ(own.run(inputs).value().hash(), expected);
        EXPECT_EQ(alone.run(inputs).value().hash(), expected) << "one model on several threads";
      }
      left[i] = own.unload().blocks;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(left[i], 0U);
    EXPECT_EQ(memories[i]->live_blocks(), 0U);
    EXPECT_EQ(memories[i]->wrong_frees, 0U);
  }
  EXPECT_EQ(alone.unload().blocks, 0U);
  EXPECT_EQ(shared->live_blocks(), 0U);
}

// The runtime itself would follow a null pointer here.
TEST_F(RealModels, AnyRefusedRequestIsAnErrorThatLeavesNothing) {
  std::uint64_t total = 0;
  {
    auto memory = std::make_shared<HeapMemory>();
    Model model = load("classification", memory);
    ASSERT_TRUE(model.run(inputs_of(model, 0)).is_ok());
    total = memory->calls;
  }
  for (std::uint64_t refused = 1; refused <= total; refused += refused % 13 + 5) {
    auto memory = std::make_shared<HeapMemory>();
    memory->fail_at = refused;
    auto loaded = environment_->load(model_path("classification"), memory);
    base::Status status = loaded.status();
    if (loaded.is_ok()) {
      status = loaded.value().run(inputs_of(loaded.value(), 0)).status();
      EXPECT_TRUE(loaded.value().run(inputs_of(loaded.value(), 0)).is_ok()) << "the model is usable afterwards";
      EXPECT_EQ(loaded.value().unload().blocks, 0U);
    }
    EXPECT_EQ(status.code(), StatusCode::out_of_memory) << "call " << refused << ": " << status.to_string();
    EXPECT_NE(status.text().find("scripted refusal"), std::string_view::npos);
    EXPECT_EQ(memory->live_blocks(), 0U) << "call " << refused;
  }
}

TEST_F(RealModels, FilesThatAreNoModelsAreOneLineThatNamesThem) {
  auto memory = std::make_shared<HeapMemory>();
  const std::string directory = ::testing::TempDir();
  const std::string empty = directory + "empty.onnx";
  std::ofstream(empty).flush();
  const std::string garbage = directory + "garbage.onnx";
  std::ofstream(garbage) << std::string(1000, 'g');
  const std::string cut = directory + "cut.onnx";
  std::ofstream(cut, std::ios::binary) << file_content(model_path("classification")).substr(0, 300'000);
  for (const auto& [path, code] : {std::pair{directory + "absent.onnx", StatusCode::not_found},
                                   {directory, StatusCode::invalid_argument},
                                   {empty, StatusCode::corrupted},
                                   {garbage, StatusCode::corrupted},
                                   {cut, StatusCode::corrupted}}) {
    const auto status = environment_->load(path, memory).status();
    EXPECT_EQ(status.code(), code) << status.to_string();
    EXPECT_NE(status.text().find(path), std::string_view::npos) << status.text();
    EXPECT_EQ(status.text().find('\n'), std::string_view::npos) << status.text();
    EXPECT_EQ(memory->live_blocks(), 0U);
  }
  for (const auto& path : {empty, garbage, cut}) std::filesystem::remove(path);
}

TEST_F(RealModels, AShapeThatTheGraphCannotTakeIsTheRuntimesErrorAndLeavesNothing) {
  auto memory = std::make_shared<HeapMemory>();
  Model model = load("detection", memory);
  const std::uint64_t weights = memory->live_blocks();
  std::vector<Tensor> inputs;
  inputs.push_back(make_tensor(ElementType::float32, {1, 3, 33, 70}, 1).take());  // no multiple of 32
  const auto status = model.run(inputs).status();
  EXPECT_FALSE(status.is_ok());
  EXPECT_NE(status.text().find("detection: ONNX Runtime: "), std::string_view::npos) << status.to_string();
  EXPECT_EQ(status.text().find('\n'), std::string_view::npos);
  EXPECT_EQ(memory->live_blocks(), weights);
  EXPECT_TRUE(model.run(inputs_of(model, 0)).is_ok());
}

TEST_F(RealModels, EnvironmentsFollowOneAnother) {
  auto runtime = OnnxRuntime::load({DEPS_DIRECTORY "/onnxruntime/libonnxruntime.so.1", ""}).take();
  for (int round = 0; round < 3; ++round) {
    environment_.reset();
    auto made = Environment::create(runtime);
    ASSERT_TRUE(made.is_ok()) << made.status().to_string();
    environment_ = std::make_unique<Environment>(made.take());
    auto memory = std::make_shared<HeapMemory>();
    Model model = load("classification", memory);
    EXPECT_TRUE(model.run(inputs_of(model, 0)).is_ok());
    EXPECT_EQ(model.unload().blocks, 0U);
    EXPECT_EQ(memory->live_blocks(), 0U);
  }
}

}  // namespace
}  // namespace cistern::engine
