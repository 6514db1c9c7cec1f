#include "capi/entry.hpp"

#include <type_traits>

namespace cistern::capi {

constinit HandleTable device_handles(HandleKind::device);
constinit HandleTable pool_handles(HandleKind::pool);
static_assert(std::is_trivially_destructible_v<HandleTable>);

cistern_status_t record_failure(const base::Status& status, std::string_view function,
                                const device::DeviceInfo* device) noexcept {
  const auto code = static_cast<cistern_status_t>(status.code());
  ThreadRecord* record = this_thread_record();
  if (record == nullptr) return code;
  LastError& error = record->error;
  error.code = code;
  error.native_code = status.native_code();
  error.device_ordinal = device == nullptr ? 0 : device->ordinal;
  error.text.clear();
  error.device_kind.clear();
  try {
    if (device != nullptr) error.device_kind = device->kind;
    error.text.append(function).append(": ").append(status.text());
  } catch (const std::bad_alloc&) {
    // The code stands without its text: the host has no memory for words.
  }
  return code;
}

base::Status status_of_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return base::Status(base::StatusCode::out_of_memory, "the host has no memory for the library's own bookkeeping");
  } catch (const std::exception& exception) {
    return base::internal_error(std::string("unexpected exception: ") + exception.what());
  } catch (...) {
    return base::internal_error("unexpected exception of unknown type");
  }
}

cistern_status_t refuse_without_record() noexcept { return CISTERN_OUT_OF_MEMORY; }

cistern_status_t refuse_nested(std::string_view function) noexcept {
  return record_failure(
      base::Status(base::StatusCode::busy, "called from inside a log callback; let the callback return first"),
      function, nullptr);
}

cistern_status_t refuse_handle(const HandleTable& table, std::uint64_t handle, std::string_view function) noexcept {
  return record_failure(without_exceptions([&] { return table.explain(handle); }), function, nullptr);
}

}  // namespace cistern::capi
