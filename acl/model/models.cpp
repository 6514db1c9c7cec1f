#include "acl/model/models.hpp"

#include <string>
#include <utility>
#include <vector>

namespace cistern::acl {
namespace {

class ModelInventory final : public Inventory {
 public:
  void list(const Npu* npu, std::vector<LeftItem>* items) override {
    models().for_each([&](std::uint32_t id, const LoadedModel& model) {
      if (model.npu().get() != npu) return;
      items->push_back({"model " + std::to_string(id) + " (" + model.facts()->name + ")", 0, model.caller()});
    });
    if (npu != nullptr) return;
    for (const auto& description : model_descriptions().select(all)) {
      items->push_back({"model description", 0, description->caller});
    }
  }
  void end(const Npu* npu) override {
    models().remove_of(npu);
    if (npu == nullptr) model_descriptions().withdraw_all(all);
  }

 private:
  static constexpr auto all = [](const ModelDescription&) { return true; };
};

}  // namespace

std::uint32_t Models::add(std::shared_ptr<LoadedModel> model) {
  const std::lock_guard lock(mutex_);
  models_.emplace(++last_id_, std::move(model));
  return last_id_;
}

Outcome Models::explain(std::uint32_t id) const {
  return {ACL_ERROR_INVALID_MODEL_ID,
          "model " + std::to_string(id) +
              (id != 0 && id <= last_id_ ? " was unloaded, or ended with its device" : " was never loaded")};
}

Outcome Models::find(std::uint32_t id, std::shared_ptr<LoadedModel>* model) const {
  const std::lock_guard lock(mutex_);
  const auto place = models_.find(id);
  if (place == models_.end()) return explain(id);
  *model = place->second;
  return {};
}

Outcome Models::remove(std::uint32_t id) {
  std::shared_ptr<LoadedModel> ended;  // without the lock
  const std::lock_guard lock(mutex_);
  const auto place = models_.find(id);
  if (place == models_.end()) return explain(id);
  ended = std::move(place->second);
  models_.erase(place);
  return {};
}

void Models::remove_of(const Npu* npu) {
  std::vector<std::shared_ptr<LoadedModel>> ended;
  const std::lock_guard lock(mutex_);
  for (auto place = models_.begin(); place != models_.end();) {
    const auto next = std::next(place);
    if (place->second->npu().get() == npu) {
      ended.push_back(std::move(place->second));
      models_.erase(place);
    }
    place = next;
  }
}

Models& models() {
  static auto* const all = new Models;
  return *all;
}

Handles<ModelDescription>& model_descriptions() {
  static auto* const descriptions = new Handles<ModelDescription>(HandleKind::model_description);
  return *descriptions;
}

std::unique_ptr<Inventory> model_inventory() { return std::make_unique<ModelInventory>(); }

}  // namespace cistern::acl
