// Models that serve requests on several threads at once, each with a stream of one pool. The runtime is the fake one,
// which ThreadSanitizer can look into; what the real one computes this way is compared in tests/cli/run_test.py.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "compact/stitcher.hpp"
#include "device/page_pool.hpp"
#include "device/simulated_device.hpp"
#include "engine/pool_memory.hpp"
#include "engine/session.hpp"
#include "engine/tensor_source.hpp"
#include "heap_memory.hpp"

namespace cistern::engine {
namespace {

using testing::HeapMemory;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class StreamRuns : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(model_path_) << "not read by the fake";
    auto made = Environment::create(OnnxRuntime::load({FAKE_ONNXRUNTIME, ""}).take());
    ASSERT_TRUE(made.is_ok()) << made.status().to_string();
    environment_ = std::make_unique<Environment>(made.take());
  }
  void TearDown() override { EXPECT_EQ(environment_->misuses(), 0U) << environment_->first_misuse(); }

  Model load(std::shared_ptr<MemorySource> source) {
    auto loaded = environment_->load(model_path_, std::move(source));
    EXPECT_TRUE(loaded.is_ok()) << loaded.status().to_string();
    return loaded.take();
  }
  static std::vector<Tensor> input(std::int64_t rows, std::uint64_t seed) {
    std::vector<Tensor> inputs;
    inputs.push_back(make_tensor(ElementType::float32, {rows, 4}, seed).take());
    return inputs;
  }

  const std::string model_path_ = ::testing::TempDir() + "doubling_streams.onnx";
  std::unique_ptr<Environment> environment_;
};

bool is_doubled(const Tensor& input, const TensorView& output) {
  for (std::size_t at = 0; at < input.bytes.size(); at += sizeof(float)) {
    float given = 0;
    float got = 0;
    std::memcpy(&given, input.bytes.data() + at, sizeof given);
    std::memcpy(&got, output.bytes.data() + at, sizeof got);
    if (got != 2 * given) return false;
  }
  return true;
}

// Remembers on which stream each call came.
class StreamNotes final : public MemorySource {
 public:
  void admit(ModelContext& model) noexcept override { heap_.admit(model); }
  base::Result<void*> allocate(std::size_t bytes, MemoryUse use, const ModelContext& model) noexcept override {
    ++plain_allocations;
    return heap_.allocate(bytes, use, model);
  }
  base::Status free(void* memory) noexcept override {
    ++plain_frees;
    return heap_.free(memory);
  }
  base::Result<void*> allocate_on(device::StreamHandle stream, std::size_t bytes, MemoryUse use,
                                  const ModelContext& model) noexcept override {
    ++allocations[stream];
    return heap_.allocate(bytes, use, model);
  }
  base::Status free_on(device::StreamHandle stream, void* memory) noexcept override {
    ++frees[stream];
    return heap_.free(memory);
  }
  std::uint64_t modelled_ns() const noexcept override { return 0; }

  int plain_allocations = 0;
  int plain_frees = 0;
  std::map<device::StreamHandle, int> allocations;
  std::map<device::StreamHandle, int> frees;

 private:
  HeapMemory heap_;
};

TEST_F(StreamRuns, AllMemoryOfARequestIsOfItsStreamAndWeightsAreOfNone) {
  auto memory = std::make_shared<StreamNotes>();
  Model model = load(memory);
  EXPECT_EQ(memory->plain_allocations, 2);
  {
    auto first = model.run(input(3, 1), device::StreamHandle{5});
    auto second = model.run(input(3, 2), device::StreamHandle{6});
    ASSERT_TRUE(first.is_ok());
    ASSERT_TRUE(second.is_ok());
    EXPECT_EQ(first.value().usage().peak_bytes, 48U + 1000U);
    EXPECT_EQ(memory->frees[5], 2) << "input and scratch";
    first.value() = second.take();  // gives the first request's outputs back, on its stream
    EXPECT_EQ(memory->frees[5], 3);
    EXPECT_EQ(memory->frees[6], 2);
  }
  EXPECT_EQ(memory->frees[6], 3);
  EXPECT_EQ(memory->allocations, (std::map<device::StreamHandle, int>{{5, 3}, {6, 3}}));
  ASSERT_TRUE(model.run(input(3, 3)).is_ok());
  EXPECT_EQ(memory->plain_allocations, 2 + 3);
  EXPECT_EQ(model.unload().blocks, 0U);
  EXPECT_EQ(memory->plain_frees, 2 + 3);
}

TEST_F(StreamRuns, ThreadsWithAStreamEachShareModelsAndPool) {
  constexpr std::size_t kThreads = 4;
  constexpr std::uint64_t kPage = 65536;
  device::SimulatedConfig config;
  config.capacity_bytes = 256 * kMiB;
  std::shared_ptr<device::Device> device = device::SimulatedDevice::create(config).take();
  auto pages = std::make_shared<device::PagePool>(*device, kPage);
  pool::PoolOptions options;
  options.limit_bytes = 2 * kMiB;  // less than all threads at their largest: they wait for each other's work
  std::shared_ptr<pool::Pool> pool =
      pool::Pool::create(device, pages, options, compact::rescue_steps(options.on_miss)).take();
  auto memory = std::make_shared<PoolMemory>(pool);
  Model models[] = {load(memory), load(memory)};
  std::vector<device::StreamHandle> streams;
  for (std::size_t i = 0; i < kThreads; ++i) streams.push_back(device->create_stream().take());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (std::uint64_t request = 0; request < 60; ++request) {
        const auto rows = static_cast<std::int64_t>(engine::mix(i, request) % 16000 + 1);
        const auto inputs = input(rows, request);
        auto ran = models[request % 2].run(inputs, streams[i]);
        ASSERT_TRUE(ran.is_ok()) << ran.status().to_string();
        EXPECT_TRUE(is_doubled(inputs[0], ran.value().tensors()[0])) << "thread " << i << ", request " << request;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Model& model : models) EXPECT_EQ(model.unload().blocks, 0U);
  EXPECT_EQ(pool->validate(), "");
  EXPECT_EQ(pool->ledger().live_blocks, 0U);
  EXPECT_EQ(memory->live().held(), 0U);
  // The engine counts what the pool has done already: each thread may be one tensor of the pool's count apart.
  const double most_bytes_apart = static_cast<double>(kThreads) * 16000 * 4 * sizeof(float);
  EXPECT_NEAR(static_cast<double>(memory->live().peak()), static_cast<double>(pool->ledger().peak_requested_bytes),
              most_bytes_apart);
  EXPECT_GT(device->counters().events_recorded, 0U);
  for (const device::StreamHandle stream : streams) {
    EXPECT_TRUE(pool->forget_stream(stream).is_ok());
    EXPECT_TRUE(device->destroy_stream(stream).is_ok());
  }
}

}  // namespace
}  // namespace cistern::engine
