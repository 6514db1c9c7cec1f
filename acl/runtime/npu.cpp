#include "acl/runtime/npu.hpp"

#include "capi/private_access.hpp"

namespace cistern::acl {

Outcome Npu::open(std::uint32_t ordinal, const Settings& settings, std::shared_ptr<Npu>* npu) {
  cistern_device_options_t options{};
  options.struct_size = sizeof options;
  options.kind = "simulated";
  options.ordinal = ordinal;
  options.capacity_bytes = settings.capacity_bytes;
  if (settings.latency == Latency::none) options.flags |= CISTERN_DEVICE_NO_LATENCY;
  if (settings.latency == Latency::waited) options.flags |= CISTERN_DEVICE_WAIT_LATENCY;
  if (settings.strict) options.flags |= CISTERN_DEVICE_STRICT;
  cistern_device_t* handle = nullptr;
  const cistern_status_t status = cistern_device_open(&options, &handle);
  if (status != CISTERN_OK) return outcome_of_call(status);
  npu->reset(new Npu(ordinal, handle, cistern_private_device(handle)));
  return {};
}

Npu::~Npu() { static_cast<void>(cistern_device_close(handle_)); }

Outcome DevicePool::create(std::shared_ptr<Npu> npu, const std::string& name, std::uint64_t limit_bytes,
                           std::shared_ptr<DevicePool>* pool) {
  cistern_pool_options_t options{};
  options.struct_size = sizeof options;
  cistern_status_t status = cistern_pool_options_from_environment(&options);
  if (status != CISTERN_OK) return outcome_of_call(status);
  options.name = name.c_str();
  if (limit_bytes != 0) options.limit_bytes = limit_bytes;
  if (options.limit_bytes != 0 && options.initial_bytes > options.limit_bytes) options.initial_bytes = 0;
  cistern_pool_t* handle = nullptr;
  status = cistern_pool_create(npu->handle(), &options, &handle);
  if (status != CISTERN_OK) return outcome_of_call(status);
  pool->reset(new DevicePool(std::move(npu), handle, name));
  return {};
}

Outcome DevicePool::create_of_host(std::shared_ptr<DevicePool>* pool) {
  cistern_device_t* device = nullptr;
  cistern_status_t status = cistern_device_open(nullptr, &device);
  if (status != CISTERN_OK) return outcome_of_call(status);
  cistern_pool_options_t options{};
  options.struct_size = sizeof options;
  options.name = "host";
  cistern_pool_t* handle = nullptr;
  status = cistern_pool_create(device, &options, &handle);
  Outcome outcome = outcome_of_call(status);
  static_cast<void>(cistern_device_close(device));  // the pool keeps it
  if (outcome.is_ok()) pool->reset(new DevicePool(nullptr, handle, options.name));
  return outcome;
}

DevicePool::~DevicePool() { static_cast<void>(cistern_pool_destroy(handle_, nullptr)); }

}  // namespace cistern::acl
