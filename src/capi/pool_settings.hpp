// PoolOptions of the pool, and cistern_pool_options of the C interface: the same choices, translated.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "cistern/cistern.h"
#include "device/device.hpp"
#include "pool/observer.hpp"
#include "pool/options.hpp"

namespace cistern::capi {

// A choice of zero, or a number of zero where zero has no meaning of its own, is the default.
base::Result<pool::PoolOptions> pool_options_from_c(const cistern_pool_options_t& given);
// What CISTERN_* variables set, defaults elsewhere.
base::Result<pool::PoolOptions> pool_options_from_environment();
// Who is told of a new pool's events, as CISTERN_TRACE and CISTERN_LEAK_REPORT say; null: nobody. An environment that
// can't be read asks for nobody; it is a warning elsewhere.
std::shared_ptr<pool::Observer> observer_from_environment(const pool::PoolOptions& options,
                                                          const device::DeviceInfo& device);
// `name` is not translated: it is the caller's.
cistern_pool_options_t pool_options_to_c(const pool::PoolOptions& options) noexcept;

// The page size that a pool with these options has on a device; 0: it maps no pages. Where contexts with minima share
// the device, theirs (`shared_page_bytes`, 0: there are none), so that pages can go from one to another.
std::uint64_t page_bytes_for(const pool::PoolOptions& options, const device::DeviceInfo& device,
                             std::uint64_t shared_page_bytes) noexcept;

}  // namespace cistern::capi
