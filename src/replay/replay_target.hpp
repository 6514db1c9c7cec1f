// ReplayTarget: what a trace is replayed against: a pool, or a baseline to set it beside.
//
// Classes are final, so that a loop over a known one pays no virtual call.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "device/device.hpp"
#include "pool/ledger.hpp"
#include "pool/pool.hpp"

namespace cistern::replay {

class ReplayTarget {
 public:
  virtual ~ReplayTarget() = default;
  // A place that is not 0, its own as long as it lives.
  virtual base::Result<device::Address> allocate(std::uint64_t bytes) noexcept = 0;
  virtual base::Status free(device::Address place) noexcept = 0;
  virtual pool::Ledger ledger() const noexcept = 0;
  virtual device::DeviceCounters counters() const noexcept = 0;
};

// The real pool, with stitching in its rescue list.
class PoolTarget final : public ReplayTarget {
 public:
  PoolTarget(std::shared_ptr<device::Device> device, std::unique_ptr<pool::Pool> pool) noexcept
      : device_(std::move(device)), pool_(std::move(pool)) {}
  base::Result<device::Address> allocate(std::uint64_t bytes) noexcept override { return pool_->allocate(bytes); }
  base::Status free(device::Address place) noexcept override { return pool_->free(place); }
  pool::Ledger ledger() const noexcept override { return pool_->ledger(); }
  device::DeviceCounters counters() const noexcept override { return device_->counters(); }
  device::Device& device() const noexcept { return *device_; }
  const pool::Pool& pool() const noexcept { return *pool_; }

 private:
  std::shared_ptr<device::Device> device_;
  std::unique_ptr<pool::Pool> pool_;
};

}  // namespace cistern::replay
