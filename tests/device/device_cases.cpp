#include "device/device_cases.hpp"

#include <cstdlib>

#include "device/counting_device.hpp"
#include "device/fault_device.hpp"
#include "device/host_device.hpp"
#include "device/simulated_device.hpp"

namespace cistern::device::testing {

namespace {

std::shared_ptr<Device> simulated(bool backed, bool strict, bool move_pages) {
  SimulatedConfig config;
  config.capacity_bytes = kCapacity;
  config.backed = backed;
  config.strict = strict;
  config.move_pages = move_pages;
  return made(SimulatedDevice::create(config));
}

std::shared_ptr<Device> host(bool huge_pages) {
  HostConfig config;
  config.capacity_bytes = kCapacity;
  config.huge_pages = huge_pages;
  return made(HostDevice::create(config));
}

std::shared_ptr<Device> counting() {
  CountingConfig config;
  config.capacity_bytes = kCapacity;
  return made(CountingDevice::create(config));
}

std::vector<DeviceCase> bare_cases_with_contents() {
  return {{"host", [] { return host(true); }},
          {"host_normal_pages", [] { return host(false); }},
          {"simulated", [] { return simulated(true, false, false); }},
          {"simulated_moving", [] { return simulated(true, false, true); }},
          {"simulated_strict", [] { return simulated(true, true, true); }}};
}

std::vector<DeviceCase> with_injectors(std::vector<DeviceCase> bare) {
  std::vector<DeviceCase> cases = bare;
  for (const DeviceCase& device_case : bare) {
    cases.push_back({device_case.name + "_behind_injector", [make = device_case.make]() -> std::shared_ptr<Device> {
                       return std::make_shared<FaultInjectingDevice>(make());
                     }});
  }
  return cases;
}

}  // namespace

std::vector<DeviceCase> bare_device_cases() {
  std::vector<DeviceCase> cases = bare_cases_with_contents();
  cases.push_back({"simulated_unbacked", [] { return simulated(false, false, true); }});
  cases.push_back({"counting", [] { return counting(); }});
  return cases;
}

std::vector<DeviceCase> device_cases_with_contents() { return with_injectors(bare_cases_with_contents()); }

std::vector<DeviceCase> all_device_cases() { return with_injectors(bare_device_cases()); }

}  // namespace cistern::device::testing
