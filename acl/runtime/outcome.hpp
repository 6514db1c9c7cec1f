// Outcome: what an AscendCL function came to: a code of the interface and, where it failed, a text for people.
//
// enter() is the way into every function: it lets no exception out, and keeps a failure's text, with the function's
// name before it, for aclGetRecentErrMsg() of the calling thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "acl/acl_base.h"
#include "base/status.hpp"
#include "cistern/cistern.h"

namespace cistern::acl {

class [[nodiscard]] Outcome {
 public:
  Outcome() noexcept = default;
  Outcome(aclError code, std::string text) noexcept : code_(code), text_(std::move(text)) {}
  bool is_ok() const noexcept { return code_ == ACL_SUCCESS; }
  aclError code() const noexcept { return code_; }
  const std::string& text() const noexcept { return text_; }

 private:
  aclError code_ = ACL_SUCCESS;
  std::string text_;
};

// A wrong argument, in the words of the interface's own codes, and of the runtime's.
Outcome invalid_parameter(std::string text);
Outcome invalid_runtime_parameter(std::string text);
Outcome unsupported(std::string text);

// What the pool's library, or a room, said, as the nearest code of AscendCL.
aclError code_of(cistern_status_t status) noexcept;
Outcome outcome_of(const base::Status& status);
// Of a call of cistern.h that has just returned `status` to this thread.
Outcome outcome_of_call(cistern_status_t status);

// Keeps the failure as the thread's last and returns its code.
aclError record(std::string_view function, const Outcome& outcome) noexcept;
// The thread's last failure, "" when there is none.
const char* recent_text() noexcept;
// The exception that is being handled.
Outcome outcome_of_exception() noexcept;

// Calls action() -> Outcome.
template <typename Action>
aclError enter(std::string_view function, const Action& action) noexcept {
  try {
    const Outcome outcome = action();
    return outcome.is_ok() ? ACL_SUCCESS : record(function, outcome);
  } catch (...) {
    return record(function, outcome_of_exception());
  }
}

// "0x2000001000", for texts.
std::string hex(std::uint64_t value);
inline std::string hex(const void* pointer) { return hex(reinterpret_cast<std::uintptr_t>(pointer)); }

}  // namespace cistern::acl
