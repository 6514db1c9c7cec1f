#include "acl/model/datasets.hpp"

namespace cistern::acl {
namespace {

// Of no device: they end with everything.
class Datasets final : public Inventory {
 public:
  void list(const Npu* npu, std::vector<LeftItem>* items) override {
    if (npu != nullptr) return;
    for (const auto& dataset : datasets().select(all)) items->push_back({"dataset", 0, dataset->caller});
    for (const auto& buffer : data_buffers().select(all)) items->push_back({"data buffer", 0, buffer->caller});
    for (const auto& description : tensor_descriptions().select(all)) {
      items->push_back({"tensor description", 0, description->caller});
    }
  }
  void end(const Npu* npu) override {
    if (npu != nullptr) return;
    datasets().withdraw_all(all);
    data_buffers().withdraw_all(all);
    tensor_descriptions().withdraw_all(all);
  }

 private:
  static constexpr auto all = [](const auto&) { return true; };
};

}  // namespace

Handles<DataBuffer>& data_buffers() {
  static auto* const buffers = new Handles<DataBuffer>(HandleKind::data_buffer);
  return *buffers;
}

Handles<Dataset>& datasets() {
  static auto* const sets = new Handles<Dataset>(HandleKind::dataset);
  return *sets;
}

Handles<TensorDescription>& tensor_descriptions() {
  static auto* const descriptions = new Handles<TensorDescription>(HandleKind::tensor_description);
  return *descriptions;
}

std::unique_ptr<Inventory> dataset_inventory() { return std::make_unique<Datasets>(); }

}  // namespace cistern::acl
