#include "capi/private_access.hpp"

#include <string_view>

#include "base/log.hpp"
#include "capi/entry.hpp"

using namespace cistern;

device::Device* cistern_private_device(cistern_device_t* device) noexcept {
  device::Device* found = nullptr;
  const cistern_status_t status =
      capi::with_device(device, "cistern_private_device", [&](const auto& opened) -> base::Status {
        found = opened.get();
        return {};
      });
  return status == CISTERN_OK ? found : nullptr;
}

void cistern_private_log(std::int32_t level, const char* room, std::size_t room_bytes, const char* text,
                         std::size_t text_bytes) noexcept {
  base::log(static_cast<base::LogLevel>(level), std::string_view(room, room_bytes), std::string_view(text, text_bytes));
}
