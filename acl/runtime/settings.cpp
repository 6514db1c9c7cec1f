#include "acl/runtime/settings.hpp"

#include <unistd.h>

#include <string>

#include "base/options.hpp"
#include "capi/private_access.hpp"

namespace cistern::acl {

base::Result<Settings> Settings::from_environment() {
  auto read = base::OptionSet::from_environment(environ);
  if (!read.is_ok()) return read.take_status();
  const base::OptionSet& options = read.value();
  Settings settings;
  settings.devices = static_cast<std::uint32_t>(options.integer("CISTERN_ACL_DEVICES"));
  settings.capacity_bytes = options.bytes("CISTERN_ACL_CAPACITY_BYTES");
  settings.strict = options.flag("CISTERN_ACL_STRICT");
  const std::string latency = options.text("CISTERN_ACL_LATENCY");
  if (latency == "NONE") settings.latency = Latency::none;
  if (latency == "WAITED") settings.latency = Latency::waited;
  return settings;
}

void log(base::LogLevel level, std::string_view text) noexcept {
  constexpr std::string_view kRoom = "acl";
  cistern_private_log(static_cast<std::int32_t>(level), kRoom.data(), kRoom.size(), text.data(), text.size());
}

}  // namespace cistern::acl
