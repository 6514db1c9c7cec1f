#include "acl/runtime/memory_pool.hpp"

namespace cistern::acl {
namespace {

class MemoryPools final : public Inventory {
 public:
  void list(const Npu* npu, std::vector<LeftItem>* items) override {
    for (const auto& pool : memory_pools().select([&](const MemoryPool& each) { return is_of(each, npu); })) {
      items->push_back({"memory pool", 0, pool->caller});
    }
  }
  void end(const Npu* npu) override {
    memory_pools().withdraw_all([&](const MemoryPool& each) { return is_of(each, npu); });
  }

 private:
  static bool is_of(const MemoryPool& pool, const Npu* npu) { return pool.pool->npu().get() == npu; }
};

}  // namespace

Handles<MemoryPool>& memory_pools() {
  static auto* const pools = new Handles<MemoryPool>(HandleKind::memory_pool);
  return *pools;
}

void trim_memory_pools(const Npu& npu) {
  for (const auto& pool :
       memory_pools().select([&](const MemoryPool& each) { return each.pool->npu().get() == &npu; })) {
    static_cast<void>(cistern_trim(pool->pool->handle(), pool->release_threshold.load(), nullptr));
  }
}

void forget_in_memory_pools(const Stream& stream) {
  const auto is_near = [&](const MemoryPool& each) { return each.pool->npu() == stream.npu(); };
  for (const auto& pool : memory_pools().select(is_near)) {
    static_cast<void>(cistern_forget_stream(pool->pool->handle(), stream.number()));
  }
}

std::unique_ptr<Inventory> memory_pool_inventory() { return std::make_unique<MemoryPools>(); }

}  // namespace cistern::acl
