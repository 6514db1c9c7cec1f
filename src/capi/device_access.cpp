#include "capi/device_access.hpp"

#include <string>
#include <string_view>

#include "device/registry.hpp"

namespace cistern::capi {
namespace {

constexpr std::uint32_t kSimulatedFlags =
    CISTERN_DEVICE_NO_LATENCY | CISTERN_DEVICE_WAIT_LATENCY | CISTERN_DEVICE_STRICT;

base::Result<std::shared_ptr<device::Device>> open_simulated(const cistern_device_options_t& options) {
  device::SimulatedConfig config;
  config.ordinal = options.ordinal;
  if (options.capacity_bytes != 0) config.capacity_bytes = options.capacity_bytes;
  config.latency.enabled = (options.flags & CISTERN_DEVICE_NO_LATENCY) == 0;
  config.latency.wait_for_real = (options.flags & CISTERN_DEVICE_WAIT_LATENCY) != 0;
  config.strict = (options.flags & CISTERN_DEVICE_STRICT) != 0;
  return device::DeviceRegistry::process().open(config);
}

}  // namespace

base::Result<std::shared_ptr<device::Device>> open_device(const cistern_device_options_t& options) {
  auto& registry = device::DeviceRegistry::process();
  const std::string_view kind = options.kind;
  const std::uint32_t known_flags = kind == "simulated" ? kSimulatedFlags : 0;
  if (options.reserved != 0) return base::unsupported("reserved fields of cistern_device_options must be zero");
  if ((options.flags & ~known_flags) != 0) {
    return base::invalid_argument("flags " + std::to_string(options.flags & ~known_flags) +
                                  " have no meaning for a device of kind '" + std::string(kind) + "'");
  }
  // Who asks for nothing in particular takes the device as it is.
  if (options.capacity_bytes == 0 && options.flags == 0) return registry.open(kind, options.ordinal);
  if (kind == "simulated") return open_simulated(options);
  if (kind == "host") {
    device::HostConfig config;
    config.ordinal = options.ordinal;
    config.capacity_bytes = options.capacity_bytes;
    return registry.open(config);
  }
  if (kind == "counting") {
    device::CountingConfig config;
    config.ordinal = options.ordinal;
    config.capacity_bytes = options.capacity_bytes;
    return registry.open(config);
  }
  return registry.open(kind, options.ordinal);  // says which kinds there are
}

base::Result<std::shared_ptr<device::PagePool>> page_pool_of(const std::shared_ptr<device::Device>& device,
                                                             std::uint64_t page_bytes) {
  if (page_bytes == 0) return std::shared_ptr<device::PagePool>();
  return device::DeviceRegistry::process().page_pool(device, page_bytes);
}

}  // namespace cistern::capi
