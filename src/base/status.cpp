#include "base/status.hpp"

namespace cistern::base {

std::string_view status_code_name(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::ok:
      return "ok";
    case StatusCode::invalid_argument:
      return "invalid_argument";
    case StatusCode::out_of_memory:
      return "out_of_memory";
    case StatusCode::limit_exceeded:
      return "limit_exceeded";
    case StatusCode::not_found:
      return "not_found";
    case StatusCode::double_free:
      return "double_free";
    case StatusCode::wrong_context:
      return "wrong_context";
    case StatusCode::busy:
      return "busy";
    case StatusCode::unsupported:
      return "unsupported";
    case StatusCode::device_error:
      return "device_error";
    case StatusCode::corrupted:
      return "corrupted";
    case StatusCode::io_error:
      return "io_error";
    case StatusCode::internal:
      return "internal";
  }
  return "unknown";
}

Status::Status(StatusCode code, std::string text, std::int64_t native_code)
    : failure_(std::make_unique<Failure>(Failure{code, native_code, std::move(text)})) {}

Status::Status(const Status& other) : failure_(other.failure_ ? std::make_unique<Failure>(*other.failure_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) failure_ = other.failure_ ? std::make_unique<Failure>(*other.failure_) : nullptr;
  return *this;
}

std::string_view Status::text() const noexcept {
  return failure_ ? std::string_view(failure_->text) : std::string_view();
}

std::string Status::to_string() const {
  if (!failure_) return "ok";
  std::string out(status_code_name(failure_->code));
  if (failure_->native_code != 0) out += " (native code " + std::to_string(failure_->native_code) + ")";
  return out + ": " + failure_->text;
}

Status Status::with_context(std::string_view context) const {
  if (!failure_) return {};
  return Status(failure_->code, std::string(context) + ": " + failure_->text, failure_->native_code);
}

Status invalid_argument(std::string text) { return Status(StatusCode::invalid_argument, std::move(text)); }

Status not_found(std::string text) { return Status(StatusCode::not_found, std::move(text)); }

Status unsupported(std::string text) { return Status(StatusCode::unsupported, std::move(text)); }

Status internal_error(std::string text) { return Status(StatusCode::internal, std::move(text)); }

}  // namespace cistern::base
