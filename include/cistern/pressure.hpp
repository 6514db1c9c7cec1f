// PressureCallback: a function that gives memory up when a pool is in need (pressure.h), as an object. Part of
// cistern.hpp, which includes this file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "cistern/outcome.hpp"
#include "cistern/pressure.h"

namespace cistern {

using Pressure = cistern_pressure_t;

// Registered as long as it lives. Its end waits for other threads that are inside the function.
class PressureCallback {
 public:
  // True: something was given up.
  using Function = std::function<bool(const Pressure&)>;

  PressureCallback() noexcept = default;
  PressureCallback(PressureCallback&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        id_(std::exchange(other.id_, 0)),
        function_(std::move(other.function_)) {}
  PressureCallback& operator=(PressureCallback&& other) noexcept {
    if (this != &other) {
      remove();
      pool_ = std::exchange(other.pool_, nullptr);
      id_ = std::exchange(other.id_, 0);
      function_ = std::move(other.function_);
    }
    return *this;
  }
  PressureCallback(const PressureCallback&) = delete;
  PressureCallback& operator=(const PressureCallback&) = delete;
  ~PressureCallback() { remove(); }

  void remove() noexcept {
    if (id_ == 0) return;
    static_cast<void>(cistern_remove_pressure_callback(pool_, std::exchange(id_, 0)));  // a pool may have ended before
    function_.reset();
  }

 private:
  friend class Pool;
  static Result<PressureCallback> try_add(cistern_pool_t* pool, std::int32_t priority, Function function) {
    PressureCallback callback;
    callback.function_ = std::make_unique<Function>(std::move(function));
    Status status =
        Status::of(cistern_add_pressure_callback(pool, priority, &call, callback.function_.get(), &callback.id_));
    if (!status.ok()) return status;
    callback.pool_ = pool;
    return callback;
  }
  // The library contains what this throws.
  static std::int32_t call(const cistern_pressure_t* pressure, void* user) {
    return (*static_cast<const Function*>(user))(*pressure) ? 1 : 0;
  }

  cistern_pool_t* pool_ = nullptr;
  std::uint64_t id_ = 0;
  std::unique_ptr<Function> function_;  // its place is known to the library
};

}  // namespace cistern
