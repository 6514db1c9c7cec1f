// Result<T>: a value or the Status that says why there is none.
#pragma once

#include <cassert>
#include <optional>
#include <utility>

#include "base/status.hpp"

namespace cistern::base {

template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit on purpose: `return value;` and `return status;` both read well.
  Result(T initial) noexcept : value_(std::move(initial)) {}
  Result(Status failure) noexcept : status_(std::move(failure)) {
    assert(!status_.is_ok() && "a Result without a value needs a failure");
  }

  bool is_ok() const noexcept { return value_.has_value(); }
  const Status& status() const noexcept { return status_; }
  Status take_status() noexcept { return std::move(status_); }

  T& value() noexcept {
    assert(value_.has_value());
    return *value_;
  }
  const T& value() const noexcept {
    assert(value_.has_value());
    return *value_;
  }
  T take() noexcept {
    assert(value_.has_value());
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace cistern::base
