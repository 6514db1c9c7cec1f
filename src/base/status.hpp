// Status: the outcome of an operation, without exceptions.
//
// The core and the pool are noexcept and cross a C ABI, so every operation that can fail says so in its return value.
// Success is a null pointer (8 bytes, nothing allocated), so that a Status costs nothing on the paths that matter;
// a failure carries a frozen code, a text written for the person who reads the log, and the native code of the device
// where one exists.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cistern::base {

// Frozen: these numbers are the C ABI's (cistern_status_t). New codes go at the end.
enum class StatusCode : std::int32_t {
  ok = 0,
  invalid_argument = 1,  // the request itself is wrong: size 0, alignment not a power of two, unknown option
  out_of_memory = 2,     // the device has no room, whatever the limits say
  limit_exceeded = 3,    // a limit set by somebody (pool, context) stands in the way
  not_found = 4,         // no such block, name, file or device
  double_free = 5,       // the block was already given back
  wrong_context = 6,     // the block or stream belongs to another context
  busy = 7,              // in use; try again after the work on it is complete
  unsupported = 8,       // this device or build can't do that
  device_error = 9,      // the device's driver refused; native_code() has its number
  corrupted = 10,        // bookkeeping or data contradicts itself
  io_error = 11,         // a file could not be read or written
  internal = 12,         // a bug in Cistern
};

// The code's name as the C ABI, logs and JSON spell it, e.g. "out_of_memory".
std::string_view status_code_name(StatusCode code) noexcept;

class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(StatusCode code, std::string text, std::int64_t native_code = 0);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  Status(const Status& other);
  Status& operator=(const Status& other);
  ~Status() = default;

  bool is_ok() const noexcept { return failure_ == nullptr; }
  StatusCode code() const noexcept { return failure_ ? failure_->code : StatusCode::ok; }
  std::string_view text() const noexcept;
  // The driver's own number for a device_error; 0 where there is none.
  std::int64_t native_code() const noexcept { return failure_ ? failure_->native_code : 0; }
  // "out_of_memory: <text>", with the native code where there is one; "ok" on success.
  std::string to_string() const;
  // The same failure with "<context>: " before its text; success stays success.
  Status with_context(std::string_view context) const;

 private:
  struct Failure {
    StatusCode code;
    std::int64_t native_code;
    std::string text;
  };
  std::unique_ptr<Failure> failure_;
};

Status invalid_argument(std::string text);
Status not_found(std::string text);
Status unsupported(std::string text);
Status internal_error(std::string text);

}  // namespace cistern::base
