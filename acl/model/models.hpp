// The models of the process by their ids, and descriptions of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "acl/model/loaded_model.hpp"
#include "acl/runtime/runtime.hpp"

namespace cistern::acl {

// Ids begin at 1 and are never given twice. Thread-safety: all.
class Models {
 public:
  std::uint32_t add(std::shared_ptr<LoadedModel> model);
  Outcome find(std::uint32_t id, std::shared_ptr<LoadedModel>* model) const;
  Outcome remove(std::uint32_t id);
  template <typename Action>
  void for_each(const Action& action) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, model] : models_) action(id, *model);
  }
  void remove_of(const Npu* npu);

 private:
  Outcome explain(std::uint32_t id) const;  // with the lock held
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<LoadedModel>> models_;
  std::uint32_t last_id_ = 0;
};

Models& models();

struct ModelDescription {
  std::weak_ptr<LoadedModel> model;         // a description keeps no model loaded
  std::shared_ptr<const ModelFacts> facts;  // null: not filled in
  const void* caller = nullptr;
};

Handles<ModelDescription>& model_descriptions();

std::unique_ptr<Inventory> model_inventory();

}  // namespace cistern::acl
