// DeviceRegistry: the devices that are open in this process, one of each identity.
//
// Two pools on the same device must see the same device, or its capacity and its pages would be counted twice. So a
// device is opened by its identity (kind, ordinal): whoever asks while it is open gets the same one, and it ends with
// its last user. A page pool is shared the same way by all users of a device and a page size.
//
// Thread-safety: all.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "device/counting_device.hpp"
#include "device/device.hpp"
#include "device/host_device.hpp"
#include "device/page_pool.hpp"
#include "device/simulated_device.hpp"

namespace cistern::device {

using DeviceConfig = std::variant<HostConfig, SimulatedConfig, CountingConfig>;

class DeviceRegistry {
 public:
  // The one of this process. Others are for tests.
  static DeviceRegistry& process() noexcept;
  static const std::vector<std::string_view>& kinds() noexcept;

  // The open device of that identity, however it was configured; else a new one with the defaults of its kind.
  base::Result<std::shared_ptr<Device>> open(std::string_view kind, std::uint32_t ordinal) noexcept;
  // The same, configured: invalid_argument where that device is open with another configuration.
  base::Result<std::shared_ptr<Device>> open(const DeviceConfig& config) noexcept;
  // The page pool of that device and page size; it keeps the device open. Any device, opened here or not.
  base::Result<std::shared_ptr<PagePool>> page_pool(const std::shared_ptr<Device>& device,
                                                    std::uint64_t page_bytes) noexcept;

 private:
  using Identity = std::pair<std::string, std::uint32_t>;
  struct Open {
    std::weak_ptr<Device> device;
    DeviceConfig config;
  };

  base::Result<std::shared_ptr<Device>> make(const Identity& identity, const DeviceConfig& config);

  std::mutex mutex_;
  std::map<Identity, Open> devices_;
  std::map<std::pair<const Device*, std::uint64_t>, std::weak_ptr<PagePool>> page_pools_;
};

}  // namespace cistern::device
