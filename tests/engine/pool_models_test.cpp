// Real models with all their memory in a pool: the same outputs bit for bit, tags that say whose memory it is, no
// driver allocation once the pool is warm, nothing left at the end.
#include <algorithm>

#include "device/page_pool.hpp"
#include "device/simulated_device.hpp"
#include "engine/direct_memory.hpp"
#include "engine/pool_memory.hpp"
#include "heap_memory.hpp"
#include "pool/pool.hpp"
#include "real_models.hpp"

namespace cistern::engine {
namespace {

using testing::kModelNames;
using testing::RealModels;

struct PoolOnDevice {
  std::shared_ptr<device::Device> device;
  std::shared_ptr<pool::Pool> pool;
};

PoolOnDevice make_pool(pool::Growth growth, bool strict, std::uint64_t limit_bytes) {
  constexpr std::uint64_t kPage = 65536;
  device::SimulatedConfig config;
  config.capacity_bytes = std::uint64_t{1} << 30;
  config.strict = strict;
  auto device = device::SimulatedDevice::create(config);
  EXPECT_TRUE(device.is_ok()) << device.status().to_string();
  PoolOnDevice made;
  made.device = device.take();
  auto pages = std::make_shared<device::PagePool>(*made.device, kPage);
  pool::PoolOptions options;
  options.growth = growth;
  options.limit_bytes = limit_bytes;
  options.page_bytes = kPage;
  auto pool = pool::Pool::create(made.device, pages, options);
  EXPECT_TRUE(pool.is_ok()) << pool.status().to_string();
  made.pool = pool.take();
  return made;
}

std::uint64_t tagged_bytes(const pool::Pool& pool, std::string_view tag) {
  std::uint64_t bytes = 0;
  for (const auto& row : pool.snapshot().tags) bytes += row.tag == tag ? row.requested_bytes : 0;
  return bytes;
}

// Three models share one pool, run in turn and are compared with the same runs on driver allocations.
void compare_with_direct(const std::vector<Model*>& on_pool, const std::vector<Model*>& direct,
                         const std::vector<std::vector<Tensor>>& inputs) {
  for (std::size_t i = 0; i < on_pool.size(); ++i) {
    SCOPED_TRACE(on_pool[i]->name());
    auto expected = direct[i]->run(inputs[i]);
    auto got = on_pool[i]->run(inputs[i]);
    ASSERT_TRUE(expected.is_ok()) << expected.status().to_string();
    ASSERT_TRUE(got.is_ok()) << got.status().to_string();
    EXPECT_EQ(first_difference(got.value().tensors(), expected.value().tensors()), "");
    EXPECT_EQ(got.value().usage().activation_allocations, expected.value().usage().activation_allocations);
  }
}

TEST_F(RealModels, OutputsFromAPoolEqualThoseFromTheDriverBitForBit) {
  for (const pool::Growth growth : {pool::Growth::expandable, pool::Growth::arenas}) {
    auto pooled = make_pool(growth, /*strict=*/true, std::uint64_t{512} << 20);
    auto pool_memory = std::make_shared<PoolMemory>(pooled.pool);
    auto direct_memory = std::make_shared<DirectMemory>(device::SimulatedDevice::create().take());
    std::vector<std::unique_ptr<Model>> models;
    std::vector<Model*> on_pool;
    std::vector<Model*> direct;
    for (const char* name : kModelNames) {
      on_pool.push_back(models.emplace_back(std::make_unique<Model>(load(name, pool_memory))).get());
      direct.push_back(models.emplace_back(std::make_unique<Model>(load(name, direct_memory))).get());
    }
    for (std::uint64_t request = 0; request < (growth == pool::Growth::expandable ? 2U : 1U); ++request) {
      std::vector<std::vector<Tensor>> inputs;
      for (const Model* model : on_pool) inputs.push_back(inputs_of(*model, request));
      compare_with_direct(on_pool, direct, inputs);
    }
    EXPECT_EQ(pooled.pool->validate(), "");
    for (Model* model : on_pool) EXPECT_EQ(model->unload().blocks, 0U);
    EXPECT_TRUE(pooled.pool->live_allocations().empty());
    EXPECT_EQ(pooled.pool->ledger().requested_bytes, 0U);
  }
}

TEST_F(RealModels, AWarmPoolServesRequestsWithoutTheDriver) {
  auto pooled = make_pool(pool::Growth::expandable, /*strict=*/false, std::uint64_t{512} << 20);
  Model model = load("recognition", std::make_shared<PoolMemory>(pooled.pool));
  const auto inputs = inputs_of(model, 1);
  ASSERT_TRUE(model.run(inputs).is_ok());
  const auto warm = pooled.device->counters();
  for (int request = 0; request < 5; ++request) {
    auto ran = model.run(inputs);
    ASSERT_TRUE(ran.is_ok());
    ran.value().release();
    EXPECT_GT(ran.value().usage().activation_allocations, 300U);
    EXPECT_EQ(ran.value().usage().modelled_ns, 0U);
    EXPECT_GT(ran.value().usage().measured_ns, 0U);
  }
  EXPECT_EQ(pooled.device->counters().driver_allocations(), warm.driver_allocations());
  EXPECT_EQ(pooled.device->counters().modelled_ns, warm.modelled_ns);
}

TEST_F(RealModels, TagsSayWhoseMemoryItIs) {
  auto pooled = make_pool(pool::Growth::expandable, /*strict=*/false, std::uint64_t{512} << 20);
  auto memory = std::make_shared<PoolMemory>(pooled.pool);
  Model recognition = load("recognition", memory);
  Model classification = load("classification", memory);
  EXPECT_EQ(tagged_bytes(*pooled.pool, "weights/recognition"), recognition.load_usage().weight_bytes);
  EXPECT_EQ(tagged_bytes(*pooled.pool, "weights/classification"), classification.load_usage().weight_bytes);
  EXPECT_EQ(tagged_bytes(*pooled.pool, "activations/recognition"), 0U);
  auto ran = recognition.run(inputs_of(recognition, 0));
  ASSERT_TRUE(ran.is_ok());
  EXPECT_EQ(tagged_bytes(*pooled.pool, "activations/recognition"), ran.value().tensors()[0].bytes.size());
  EXPECT_EQ(tagged_bytes(*pooled.pool, "activations/classification"), 0U);
  ran.value().release();
  EXPECT_EQ(tagged_bytes(*pooled.pool, "activations/recognition"), 0U);
  EXPECT_EQ(pooled.pool->ledger().requested_bytes, recognition.held().bytes + classification.held().bytes);
}

TEST_F(RealModels, APoolThatIsTooSmallFailsTheRequestWithItsOwnExplanationAndServesTheNext) {
  auto pooled = make_pool(pool::Growth::expandable, /*strict=*/true, std::uint64_t{16} << 20);
  Model model = load("recognition", std::make_shared<PoolMemory>(pooled.pool));
  const std::vector<Binding> wide = {{"recognition", "*", "3", {4000, 4000, 1}}};
  const auto status = model.run(inputs_of(model, 0, wide)).status();
  EXPECT_EQ(status.code(), base::StatusCode::limit_exceeded) << status.to_string();
  EXPECT_NE(status.text().find("recognition"), std::string_view::npos) << status.text();
  EXPECT_NE(status.text().find("weights/recognition"), std::string_view::npos) << "holders: " << status.text();
  EXPECT_EQ(pooled.pool->ledger().requested_bytes, model.held().bytes);
  EXPECT_EQ(pooled.pool->validate(), "");
  EXPECT_TRUE(model.run(inputs_of(model, 0)).is_ok());
}

}  // namespace
}  // namespace cistern::engine
