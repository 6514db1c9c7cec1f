// Handles: what contexts, streams, events and the like are to the program: numbers in the shape of pointers.
//
// A number is never given twice and never lies where a pointer could, so a destroyed handle is told from a live one for
// ever, a handle of the wrong kind is told by its kind, and nobody can follow one.
//
// Thread-safety: all. An object lives until its last user is done with it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "acl/runtime/outcome.hpp"

namespace cistern::acl {

enum class HandleKind : std::uint8_t {
  context = 1,
  stream,
  event,
  memory_pool,
  physical_memory,
  data_buffer,
  dataset,
  tensor_description,
  model_description,
};

// "stream", for texts.
std::string_view kind_name(HandleKind kind) noexcept;

inline constexpr unsigned kHandleMarkShift = 56;
inline constexpr unsigned kHandleKindShift = 48;
inline constexpr std::uint64_t kHandleMark = 0xAC;  // no pointer of a program begins so

// Why `handle` is none of `kind`; `last` is the last number given out.
std::string explain_handle(HandleKind kind, std::uint64_t handle, std::uint64_t last);

template <typename T>
class Handles {
 public:
  explicit Handles(HandleKind kind) noexcept : kind_(kind) {}

  void* issue(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t handle = first() + ++last_;
    objects_.emplace(handle, std::move(object));
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(handle));
  }
  // Null: explain() says why.
  std::shared_ptr<T> find(const void* handle) const {
    const std::lock_guard lock(mutex_);
    const auto place = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return place == objects_.end() ? nullptr : place->second;
  }
  // Of several threads that end one handle at once, the first gets the object.
  std::shared_ptr<T> withdraw(const void* handle) {
    const std::lock_guard lock(mutex_);
    auto node = objects_.extract(reinterpret_cast<std::uintptr_t>(handle));
    return node.empty() ? nullptr : std::move(node.mapped());
  }
  // Those that belongs() says yes to, in the order in which they were issued.
  template <typename Predicate>
  std::vector<std::shared_ptr<T>> select(const Predicate& belongs) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<T>> chosen;
    for (const auto& [handle, object] : objects_) {
      if (belongs(*object)) chosen.push_back(object);
    }
    return chosen;
  }
  template <typename Predicate>
  std::vector<std::shared_ptr<T>> withdraw_all(const Predicate& belongs) {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<T>> chosen;
    for (auto place = objects_.begin(); place != objects_.end();) {
      if (belongs(*place->second)) {
        chosen.push_back(std::move(place->second));
        place = objects_.erase(place);
      } else {
        ++place;
      }
    }
    return chosen;
  }
  Outcome explain(const void* handle) const {
    const std::lock_guard lock(mutex_);
    return {ACL_ERROR_RT_INVALID_HANDLE, explain_handle(kind_, reinterpret_cast<std::uintptr_t>(handle), last_)};
  }

 private:
  std::uint64_t first() const noexcept {
    return kHandleMark << kHandleMarkShift | static_cast<std::uint64_t>(kind_) << kHandleKindShift;
  }

  const HandleKind kind_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<T>> objects_;
  std::uint64_t last_ = 0;
};

}  // namespace cistern::acl
