// How operations of cistern.hpp end: Status, Result<T> and, where exceptions are on, Error.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "cistern/cistern.h"

#if defined(__cpp_exceptions)
#define CISTERN_HAS_EXCEPTIONS 1
#else
#define CISTERN_HAS_EXCEPTIONS 0
#endif

namespace cistern {

// How an operation ended: a code of cistern.h and, for a failure, its text and device.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  // The outcome of a C function that this thread has just called.
  static Status of(cistern_status_t code) {
    Status status;
    if (code == CISTERN_OK) return status;
    status.code_ = code;
    cistern_error_t error{};
    error.struct_size = sizeof error;
    // A failure that found no memory for its text leaves the text of an earlier one behind.
    if (cistern_get_last_error(&error) != CISTERN_OK || error.status != code) return status;
    status.native_code_ = error.native_code;
    status.text_ = error.text;
    status.device_kind_ = error.device_kind;
    status.device_ordinal_ = error.device_ordinal;
    return status;
  }

  bool ok() const noexcept { return code_ == CISTERN_OK; }
  cistern_status_t code() const noexcept { return code_; }
  const char* name() const noexcept { return cistern_status_name(code_); }
  const std::string& text() const noexcept { return text_; }
  std::int64_t native_code() const noexcept { return native_code_; }
  const std::string& device_kind() const noexcept { return device_kind_; }
  std::uint32_t device_ordinal() const noexcept { return device_ordinal_; }

 private:
  cistern_status_t code_ = CISTERN_OK;
  std::uint32_t device_ordinal_ = 0;
  std::int64_t native_code_ = 0;
  std::string text_;
  std::string device_kind_;
};

#if CISTERN_HAS_EXCEPTIONS
// What x() throws where try_x() returns a failure.
class Error : public std::exception {
 public:
  explicit Error(Status status)
      : status_(std::move(status)), what_(std::string(status_.name()) + ": " + status_.text()) {}
  const char* what() const noexcept override { return what_.c_str(); }
  cistern_status_t code() const noexcept { return status_.code(); }
  const Status& status() const noexcept { return status_; }

 private:
  Status status_;
  std::string what_;
};
#endif

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status failure) : status_(std::move(failure)) { assert(!status_.ok()); }

  bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const Status& status() const noexcept { return status_; }

  // The value. Without one: throws Error; where exceptions are off, ends the program. Ask ok() first.
  T& value() & {
    require();
    return *value_;
  }
  const T& value() const& {
    require();
    return *value_;
  }
  T&& value() && {
    require();
    return std::move(*value_);
  }

 private:
  void require() const {
    if (ok()) return;
#if CISTERN_HAS_EXCEPTIONS
    throw Error(status_);
#else
    std::abort();
#endif
  }

  Status status_;
  std::optional<T> value_;
};

#if CISTERN_HAS_EXCEPTIONS
inline void throw_unless_ok(Status status) {
  if (!status.ok()) throw Error(std::move(status));
}
#endif

}  // namespace cistern
