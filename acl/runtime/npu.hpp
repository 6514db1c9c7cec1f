// Npu: a simulated NPU that the program has taken into use, and DevicePool: a pool of its memory (or of the host's).
//
// Both live until their last user is gone: a pool ends with its context and its last live block, whichever is later, so
// that destroying a context never takes memory away from whoever still uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "acl/runtime/outcome.hpp"
#include "acl/runtime/settings.hpp"
#include "cistern/cistern.h"
#include "device/device.hpp"

namespace cistern::acl {

class Npu {
 public:
  static Outcome open(std::uint32_t ordinal, const Settings& settings, std::shared_ptr<Npu>* npu);
  ~Npu();
  Npu(const Npu&) = delete;
  Npu& operator=(const Npu&) = delete;

  std::uint32_t ordinal() const noexcept { return ordinal_; }
  cistern_device_t* handle() const noexcept { return handle_; }
  device::Device& device() const noexcept { return *device_; }

 private:
  Npu(std::uint32_t ordinal, cistern_device_t* handle, device::Device* device) noexcept
      : ordinal_(ordinal), handle_(handle), device_(device) {}

  const std::uint32_t ordinal_;
  cistern_device_t* const handle_;
  device::Device* const device_;
};

class DevicePool {
 public:
  // As the environment says, but of at most `limit_bytes` where that is not 0.
  static Outcome create(std::shared_ptr<Npu> npu, const std::string& name, std::uint64_t limit_bytes,
                        std::shared_ptr<DevicePool>* pool);
  // Of host memory, without limit: what the environment says is about the NPU's.
  static Outcome create_of_host(std::shared_ptr<DevicePool>* pool);
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  const std::shared_ptr<Npu>& npu() const noexcept { return npu_; }  // null: of the host
  cistern_pool_t* handle() const noexcept { return handle_; }
  const std::string& name() const noexcept { return name_; }

 private:
  DevicePool(std::shared_ptr<Npu> npu, cistern_pool_t* handle, std::string name) noexcept
      : npu_(std::move(npu)), handle_(handle), name_(std::move(name)) {}

  const std::shared_ptr<Npu> npu_;
  cistern_pool_t* const handle_;
  const std::string name_;
};

}  // namespace cistern::acl
