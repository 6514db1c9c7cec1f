#include "acl/runtime/outcome.hpp"

#include <cstdio>
#include <exception>
#include <new>

namespace cistern::acl {
namespace {

// Trivially destructible, so that a destructor of the program that runs late in its thread may still fail.
thread_local constinit char* last_text = nullptr;

void keep(std::string_view function, const std::string& text) {
  std::string whole(function);
  whole.append(": ").append(text);
  delete[] std::exchange(last_text, nullptr);
  last_text = new char[whole.size() + 1];
  whole.copy(last_text, whole.size());
  last_text[whole.size()] = '\0';
  struct Guard {  // the thread's end frees it
    ~Guard() { delete[] std::exchange(last_text, nullptr); }
  };
  thread_local const Guard guard;
  static_cast<void>(guard);
}

}  // namespace

Outcome invalid_parameter(std::string text) { return {ACL_ERROR_INVALID_PARAM, std::move(text)}; }
Outcome invalid_runtime_parameter(std::string text) { return {ACL_ERROR_RT_PARAM_INVALID, std::move(text)}; }
Outcome unsupported(std::string text) { return {ACL_ERROR_RT_FEATURE_NOT_SUPPORT, std::move(text)}; }

aclError code_of(cistern_status_t status) noexcept {
  switch (status) {
    case CISTERN_OK:
      return ACL_SUCCESS;
    case CISTERN_INVALID_ARGUMENT:
    case CISTERN_NOT_FOUND:
    case CISTERN_DOUBLE_FREE:
    case CISTERN_WRONG_CONTEXT:
      return ACL_ERROR_RT_PARAM_INVALID;
    case CISTERN_OUT_OF_MEMORY:
    case CISTERN_LIMIT_EXCEEDED:
      return ACL_ERROR_RT_MEMORY_ALLOCATION;
    case CISTERN_UNSUPPORTED:
      return ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
    case CISTERN_DEVICE_ERROR:
      return ACL_ERROR_RT_DRV_INTERNAL_ERROR;
    case CISTERN_IO_ERROR:
      return ACL_ERROR_INVALID_FILE;
    default:
      return ACL_ERROR_RT_INTERNAL_ERROR;
  }
}

Outcome outcome_of(const base::Status& status) {
  if (status.is_ok()) return {};
  return {code_of(static_cast<cistern_status_t>(status.code())), std::string(status.text())};
}

Outcome outcome_of_call(cistern_status_t status) {
  if (status == CISTERN_OK) return {};
  return {code_of(status), cistern_last_error_text()};
}

aclError record(std::string_view function, const Outcome& outcome) noexcept {
  try {
    keep(function, outcome.text());
  } catch (const std::bad_alloc&) {
    // The code stands without its text: the host has no memory for words.
  }
  return outcome.code();
}

const char* recent_text() noexcept { return last_text == nullptr ? "" : last_text; }

Outcome outcome_of_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {ACL_ERROR_BAD_ALLOC, "no host memory"};  // short enough to need none
  } catch (const std::exception& exception) {
    return {ACL_ERROR_INTERNAL_ERROR, std::string("unexpected exception: ") + exception.what()};
  } catch (...) {
    return {ACL_ERROR_INTERNAL_ERROR, "unexpected exception of unknown type"};
  }
}

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace cistern::acl
