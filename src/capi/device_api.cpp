// Devices of the C interface: each handle holds the registry's device, which ends with its last handle and pool.
#include <memory>

#include "capi/device_access.hpp"
#include "capi/entry.hpp"
#include "capi/fork_guard.hpp"
#include "capi/log_settings.hpp"
#include "capi/versioned_struct.hpp"
#include "cistern/cistern.h"

using namespace cistern;

cistern_status_t cistern_device_open(const cistern_device_options_t* options, cistern_device_t** device) noexcept {
  device::DeviceInfo wanted;  // for the error
  const auto open = [&]() -> base::Status {
    if (device == nullptr) return base::invalid_argument("the place for the device is NULL");
    cistern_device_options_t known{};
    if (options != nullptr) {
      if (base::Status wrong = capi::read_struct(options, "cistern_device_options", &known); !wrong.is_ok()) {
        return wrong;
      }
    }
    if (known.kind == nullptr) known.kind = "host";
    wanted.kind = known.kind;
    wanted.ordinal = known.ordinal;
    if (capi::was_forked()) return capi::explain_fork();
    capi::watch_forks();
    capi::apply_log_level_of_environment();
    auto opened = capi::open_device(known);
    if (!opened.is_ok()) return opened.take_status();
    auto entry = std::make_unique<capi::DeviceEntry>(capi::DeviceEntry{opened.take()});
    auto handle = capi::device_handles.issue(entry.get());
    if (!handle.is_ok()) return handle.take_status();
    static_cast<void>(entry.release());  // the table's now
    *device = reinterpret_cast<cistern_device_t*>(handle.value());
    return {};
  };
  return capi::run("cistern_device_open", open, &wanted);
}

cistern_status_t cistern_device_close(cistern_device_t* device) noexcept {
  if (device == nullptr) return CISTERN_OK;
  return capi::run("cistern_device_close", [&]() -> base::Status {
    const std::uint64_t handle = capi::number_of(device);
    const std::unique_ptr<capi::DeviceEntry> entry(
        static_cast<capi::DeviceEntry*>(capi::device_handles.withdraw(handle)));
    return entry ? base::Status() : capi::device_handles.explain(handle);
  });
}

cistern_status_t cistern_device_memory(cistern_device_t* device, cistern_memory_info_t* memory) noexcept {
  return capi::with_device(device, "cistern_device_memory", [&](const auto& opened) -> base::Status {
    auto asked = opened->memory();
    if (!asked.is_ok()) return asked.take_status();
    cistern_memory_info_t known{};
    known.total_bytes = asked.value().total_bytes;
    known.free_bytes = asked.value().free_bytes;
    return capi::write_struct(known, "cistern_memory_info", memory);
  });
}
