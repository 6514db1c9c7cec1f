// The one way from the C interface to devices and their page pools: the process's registry.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "cistern/cistern.h"
#include "device/device.hpp"
#include "device/page_pool.hpp"

namespace cistern::capi {

// options.kind is set.
base::Result<std::shared_ptr<device::Device>> open_device(const cistern_device_options_t& options);

// The page pool of that page size, shared by all pools of the device; null for page_bytes 0.
base::Result<std::shared_ptr<device::PagePool>> page_pool_of(const std::shared_ptr<device::Device>& device,
                                                             std::uint64_t page_bytes);

}  // namespace cistern::capi
