#include "engine/host_window.hpp"

namespace cistern::engine {

HostWindow::HostWindow(device::Device& device) noexcept
    : device_(device),
      addresses_are_pointers_(!device.info().capabilities.host_alias && device.info().capabilities.host_access) {}

base::Result<void*> HostWindow::to_host(device::Address address) noexcept {
  if (addresses_are_pointers_) return reinterpret_cast<void*>(address);
  void* alias = device_.host_alias(address);
  if (alias == nullptr) {
    return base::unsupported("the host can't reach the memory of device " + device_.info().kind +
                             ", so ONNX Runtime can't compute in it; use the host or the simulated device");
  }
  const std::uint64_t distance = reinterpret_cast<std::uint64_t>(alias) - address;
  if (!distance_known_.load(std::memory_order_acquire)) {
    distance_.store(distance, std::memory_order_relaxed);
    distance_known_.store(true, std::memory_order_release);
  } else if (distance_.load(std::memory_order_relaxed) != distance) {
    return base::Status(base::StatusCode::corrupted,
                        "device " + device_.info().kind + " maps its memory for the host at changing distances");
  }
  return alias;
}

device::Address HostWindow::to_device(const void* memory) const noexcept {
  return reinterpret_cast<std::uint64_t>(memory) - distance_.load(std::memory_order_relaxed);
}

}  // namespace cistern::engine
