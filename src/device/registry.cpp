#include "device/registry.hpp"

#include "base/bits.hpp"
#include "device/text.hpp"

namespace cistern::device {

using base::Result;

namespace {

template <typename T>
Result<std::shared_ptr<Device>> as_device(Result<std::shared_ptr<T>> made) {
  if (!made.is_ok()) return made.take_status();
  return std::shared_ptr<Device>(made.take());
}

struct MakeDevice {
  Result<std::shared_ptr<Device>> operator()(const HostConfig& config) const {
    return as_device(HostDevice::create(config));
  }
  Result<std::shared_ptr<Device>> operator()(const SimulatedConfig& config) const {
    return as_device(SimulatedDevice::create(config));
  }
  Result<std::shared_ptr<Device>> operator()(const CountingConfig& config) const {
    return as_device(CountingDevice::create(config));
  }
};

template <typename Config>
DeviceConfig defaults(std::uint32_t ordinal) {
  Config config;
  config.ordinal = ordinal;
  return config;
}

// Index of the kind among the alternatives of DeviceConfig.
std::string_view kind_of(const DeviceConfig& config) noexcept { return DeviceRegistry::kinds()[config.index()]; }

std::string kinds_text() {
  std::string text;
  for (const std::string_view kind : DeviceRegistry::kinds()) {
    if (!text.empty()) text += ", ";
    text += kind;
  }
  return text;
}

// A page pool and the device that it needs.
struct OwnedPagePool {
  OwnedPagePool(std::shared_ptr<Device> of, std::uint64_t page_bytes)
      : device(std::move(of)), pool(*device, page_bytes) {}
  std::shared_ptr<Device> device;
  PagePool pool;
};

}  // namespace

DeviceRegistry& DeviceRegistry::process() noexcept {
  static DeviceRegistry* const instance = new DeviceRegistry;  // outlives every user, static ones included
  return *instance;
}

const std::vector<std::string_view>& DeviceRegistry::kinds() noexcept {
  static const std::vector<std::string_view> kKinds = {"host", "simulated", "counting"};  // order of DeviceConfig
  return kKinds;
}

Result<std::shared_ptr<Device>> DeviceRegistry::open(std::string_view kind, std::uint32_t ordinal) noexcept {
  DeviceConfig config;
  if (kind == "host") {
    config = defaults<HostConfig>(ordinal);
  } else if (kind == "simulated") {
    config = defaults<SimulatedConfig>(ordinal);
  } else if (kind == "counting") {
    config = defaults<CountingConfig>(ordinal);
  } else {
    return base::not_found("no kind of device is called '" + std::string(kind) + "'; there are " + kinds_text());
  }
  const Identity identity(std::string(kind), ordinal);
  std::lock_guard lock(mutex_);
  if (auto found = devices_.find(identity); found != devices_.end()) {
    if (auto device = found->second.device.lock()) return device;
  }
  return make(identity, config);
}

Result<std::shared_ptr<Device>> DeviceRegistry::open(const DeviceConfig& config) noexcept {
  const std::uint32_t ordinal = std::visit([](const auto& any) { return any.ordinal; }, config);
  const Identity identity(std::string(kind_of(config)), ordinal);
  std::lock_guard lock(mutex_);
  if (auto found = devices_.find(identity); found != devices_.end()) {
    if (auto device = found->second.device.lock()) {
      if (found->second.config == config) return device;
      return base::invalid_argument(identity.first + ":" + std::to_string(ordinal) +
                                    " is open with another configuration (" + device->info().description +
                                    "); use it as it is, or close it first");
    }
  }
  return make(identity, config);
}

Result<std::shared_ptr<Device>> DeviceRegistry::make(const Identity& identity, const DeviceConfig& config) {
  auto device = std::visit(MakeDevice{}, config);
  if (device.is_ok()) devices_[identity] = {device.value(), config};
  return device;
}

Result<std::shared_ptr<PagePool>> DeviceRegistry::page_pool(const std::shared_ptr<Device>& device,
                                                            std::uint64_t page_bytes) noexcept {
  const DeviceInfo& info = device->info();
  const std::string name = info.kind + ":" + std::to_string(info.ordinal);
  if (!info.capabilities.pages) return base::unsupported(name + " has no pages");
  if (!base::is_power_of_two(page_bytes) || page_bytes < info.min_page_bytes || page_bytes > info.max_page_bytes) {
    return base::invalid_argument("page size " + std::to_string(page_bytes) + " of " + name +
                                  " is not a power of two from " + std::to_string(info.min_page_bytes) + " to " +
                                  in_bytes(info.max_page_bytes));
  }
  std::lock_guard lock(mutex_);
  std::erase_if(page_pools_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<PagePool>& entry = page_pools_[{device.get(), page_bytes}];
  if (auto pool = entry.lock()) return pool;
  auto owned = std::make_shared<OwnedPagePool>(device, page_bytes);
  std::shared_ptr<PagePool> pool(owned, &owned->pool);
  entry = pool;
  return pool;
}

}  // namespace cistern::device
