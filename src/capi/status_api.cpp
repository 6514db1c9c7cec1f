// Version, status names and the last error of the C interface.
#include <string_view>

#include "base/status.hpp"
#include "capi/entry.hpp"
#include "capi/thread_record.hpp"
#include "capi/versioned_struct.hpp"
#include "cistern/cistern.h"

namespace {

using cistern::base::StatusCode;
using cistern::capi::LastError;
using cistern::capi::ThreadRecord;

constexpr bool is_same(cistern_status_t ours, StatusCode inner) { return ours == static_cast<cistern_status_t>(inner); }
static_assert(is_same(CISTERN_OK, StatusCode::ok));
static_assert(is_same(CISTERN_INVALID_ARGUMENT, StatusCode::invalid_argument));
static_assert(is_same(CISTERN_OUT_OF_MEMORY, StatusCode::out_of_memory));
static_assert(is_same(CISTERN_LIMIT_EXCEEDED, StatusCode::limit_exceeded));
static_assert(is_same(CISTERN_NOT_FOUND, StatusCode::not_found));
static_assert(is_same(CISTERN_DOUBLE_FREE, StatusCode::double_free));
static_assert(is_same(CISTERN_WRONG_CONTEXT, StatusCode::wrong_context));
static_assert(is_same(CISTERN_BUSY, StatusCode::busy));
static_assert(is_same(CISTERN_UNSUPPORTED, StatusCode::unsupported));
static_assert(is_same(CISTERN_DEVICE_ERROR, StatusCode::device_error));
static_assert(is_same(CISTERN_CORRUPTED, StatusCode::corrupted));
static_assert(is_same(CISTERN_IO_ERROR, StatusCode::io_error));
static_assert(is_same(CISTERN_INTERNAL, StatusCode::internal));

#define CISTERN_TEXT_OF(number) #number
#define CISTERN_DOTTED(major, minor, patch) CISTERN_TEXT_OF(major) "." CISTERN_TEXT_OF(minor) "." CISTERN_TEXT_OF(patch)
constexpr char kVersion[] = CISTERN_DOTTED(CISTERN_VERSION_MAJOR, CISTERN_VERSION_MINOR, CISTERN_VERSION_PATCH);
static_assert(std::string_view(kVersion) == CISTERN_PROJECT_VERSION, "cistern.h and CMakeLists.txt must agree");

}  // namespace

uint32_t cistern_version(void) noexcept { return CISTERN_VERSION; }

const char* cistern_version_string(void) noexcept { return kVersion; }

const char* cistern_status_name(cistern_status_t status) noexcept {
  return cistern::base::status_code_name(static_cast<StatusCode>(status)).data();  // literals: they end with NUL
}

cistern_status_t cistern_get_last_error(cistern_error_t* error) noexcept {
  const ThreadRecord* record = cistern::capi::this_thread_record();
  static const LastError kNone;
  const LastError& last = record == nullptr ? kNone : record->error;
  cistern_error_t known{};
  known.status = last.code;
  known.native_code = last.native_code;
  known.text = last.text.c_str();
  known.device_kind = last.device_kind.c_str();
  known.device_ordinal = last.device_ordinal;
  const auto written =
      cistern::capi::without_exceptions([&] { return cistern::capi::write_struct(known, "cistern_error", error); });
  return static_cast<cistern_status_t>(written.code());
}

const char* cistern_last_error_text(void) noexcept {
  const ThreadRecord* record = cistern::capi::this_thread_record();
  return record == nullptr ? "" : record->error.text.c_str();
}

void cistern_clear_last_error(void) noexcept {
  if (ThreadRecord* record = cistern::capi::this_thread_record(); record != nullptr) record->error = LastError{};
}
