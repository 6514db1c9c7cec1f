// The devices that the contract suite runs over: one list, so that a new device is tested by adding a line.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "device/device.hpp"

namespace cistern::device::testing {

struct DeviceCase {
  std::string name;
  std::function<std::shared_ptr<Device>()> make;  // at least kCapacity bytes
};

inline void PrintTo(const DeviceCase& device_case, std::ostream* out) { *out << device_case.name; }

inline constexpr std::uint64_t kCapacity = 64 * base::kMiB;

std::vector<DeviceCase> bare_device_cases();
// Every device, bare and behind a fault injector without faults; and those of them with contents.
std::vector<DeviceCase> all_device_cases();
std::vector<DeviceCase> device_cases_with_contents();

inline std::string case_name(const ::testing::TestParamInfo<DeviceCase>& info) { return info.param.name; }

// Aborts the test program where a device cannot be made: nothing after it could mean anything.
template <typename T>
std::shared_ptr<T> made(base::Result<std::shared_ptr<T>> device) {
  if (!device.is_ok()) {
    ADD_FAILURE() << device.status().to_string();
    std::abort();
  }
  return device.take();
}

}  // namespace cistern::device::testing
