#include "acl/runtime/inventories.hpp"

#include "acl/model/datasets.hpp"
#include "acl/model/models.hpp"
#include "acl/runtime/memory_pool.hpp"
#include "acl/runtime/runtime.hpp"
#include "acl/runtime/virtual_memory.hpp"

namespace cistern::acl {
namespace {

// Streams and events of a device; their work is cancelled where it waits for the program, else waited for.
class Queues final : public Inventory {
 public:
  explicit Queues(Runtime& runtime) noexcept : runtime_(runtime) {}

  void list(const Npu* npu, std::vector<LeftItem>* items) override {
    for (const auto& stream : runtime_.streams.select([&](const Stream& each) { return each.npu().get() == npu; })) {
      items->push_back({stream->name(), 0, stream->caller()});
    }
    for (const auto& event : runtime_.events.select([&](const Event& each) { return each.npu().get() == npu; })) {
      items->push_back({"event", 0, event->caller()});
    }
  }

  void end(const Npu* npu) override {
    const auto streams = runtime_.streams.withdraw_all([&](const Stream& each) { return each.npu().get() == npu; });
    for (const auto& stream : streams) runtime_.reports.forget(*stream);  // all, as they may wait for each other
    for (const auto& stream : streams) runtime_.end_stream(*stream);
    runtime_.events.withdraw_all([&](const Event& each) { return each.npu().get() == npu; });
  }

 private:
  Runtime& runtime_;
};

class Blocks final : public Inventory {
 public:
  explicit Blocks(Runtime& runtime) noexcept : runtime_(runtime) {}

  void list(const Npu* npu, std::vector<LeftItem>* items) override {
    for (const Block& block : runtime_.blocks.select([&](const Block& each) { return is_of(each, npu); })) {
      items->push_back({npu == nullptr ? "host memory" : "block of " + block.pool->name(), block.bytes, block.caller});
    }
  }

  void end(const Npu* npu) override {
    runtime_.blocks.drop([&](const Block& each) { return is_of(each, npu); });
  }

 private:
  static bool is_of(const Block& block, const Npu* npu) {
    return block.npu.get() == npu && block.kind != BlockKind::mapping;
  }
  Runtime& runtime_;
};

class Contexts final : public Inventory {
 public:
  explicit Contexts(Runtime& runtime) noexcept : runtime_(runtime) {}

  void list(const Npu* npu, std::vector<LeftItem>* items) override {
    for (const auto& context : runtime_.contexts.select([&](const Context& each) { return is_of(each, npu); })) {
      if (!context->is_default) items->push_back({context->name, 0, context->caller});
    }
  }

  void end(const Npu* npu) override {
    for (const auto& context : runtime_.contexts.withdraw_all([&](const Context& each) { return is_of(each, npu); })) {
      const std::shared_ptr<Stream> stream = context->take_default_stream();
      if (stream != nullptr) runtime_.end_stream(*stream);
    }
  }

 private:
  static bool is_of(const Context& context, const Npu* npu) { return context.npu.get() == npu; }
  Runtime& runtime_;
};

}  // namespace

void add_inventories(Runtime* runtime) {
  runtime->add_inventory(std::make_unique<Queues>(*runtime));
  runtime->add_inventory(model_inventory());
  runtime->add_inventory(virtual_memory_inventory());
  runtime->add_inventory(std::make_unique<Blocks>(*runtime));
  runtime->add_inventory(memory_pool_inventory());
  runtime->add_inventory(dataset_inventory());
  runtime->add_inventory(std::make_unique<Contexts>(*runtime));
}

}  // namespace cistern::acl
