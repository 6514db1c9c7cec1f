// Driver time: what a device was asked to do, in nanoseconds by the simulated device's latency model.
//
// For devices that only count: a replay on them can still say what its driver calls would have cost.
#pragma once

#include "device/device.hpp"

namespace cistern::replay {

double modelled_driver_ns(const device::DeviceCounters& calls) noexcept;

}  // namespace cistern::replay
