// Marks in the process's trace: where a program says what it is doing, for those who read the trace.
#include <cstring>
#include <string_view>

#include "capi/entry.hpp"
#include "cistern/cistern.h"
#include "trace/process_trace.hpp"

using namespace cistern;

cistern_status_t cistern_trace_mark(const char* text) noexcept {
  return capi::run("cistern_trace_mark", [&]() -> base::Status {
    if (text == nullptr || *text == '\0') return base::invalid_argument("the text of the mark is NULL or empty");
    const std::size_t length = strnlen(text, CISTERN_TEXT_BYTES);
    if (length == CISTERN_TEXT_BYTES) {
      return base::invalid_argument("the text of the mark is longer than " + std::to_string(CISTERN_TEXT_BYTES - 1) +
                                    " bytes");
    }
    trace::mark_trace_of_process(std::string_view(text, length));
    return {};
  });
}
