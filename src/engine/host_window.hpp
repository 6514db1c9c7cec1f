// HostWindow: device addresses as the host sees them, and back.
//
// On the host device an address is a pointer. The simulated device's memory is mapped twice, at its device address and
// at an alias for the engine; the distance between both is the same everywhere, so both directions are one addition.
// That promise is checked at every translation to the host, because a wrong pointer would corrupt silently.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/result.hpp"
#include "device/device.hpp"

namespace cistern::engine {

class HostWindow {
 public:
  explicit HostWindow(device::Device& device) noexcept;

  // unsupported where the host can't reach the device's memory; corrupted where the distance is not constant.
  base::Result<void*> to_host(device::Address address) noexcept;
  // Of a pointer that to_host returned.
  device::Address to_device(const void* memory) const noexcept;

 private:
  device::Device& device_;
  const bool addresses_are_pointers_;
  std::atomic<bool> distance_known_{false};
  std::atomic<std::uint64_t> distance_{0};  // pointer - address, modulo 2^64
};

}  // namespace cistern::engine
