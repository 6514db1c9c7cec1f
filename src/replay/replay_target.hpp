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
  // Where the block of a place lies until the next call.
  virtual device::Address address_of(device::Address place) noexcept { return place; }
  // Null: there is none.
  virtual device::Device* memory() noexcept { return nullptr; }
  virtual pool::Pool* pool() noexcept { return nullptr; }
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
  device::Device* memory() noexcept override { return device_.get(); }
  pool::Pool* pool() noexcept override { return pool_.get(); }

 private:
  std::shared_ptr<device::Device> device_;
  std::unique_ptr<pool::Pool> pool_;
};

// The same with every block movable: places are handles.
class MovableTarget final : public ReplayTarget {
 public:
  MovableTarget(std::shared_ptr<device::Device> device, std::unique_ptr<pool::Pool> pool) noexcept
      : device_(std::move(device)), pool_(std::move(pool)) {}
  base::Result<device::Address> allocate(std::uint64_t bytes) noexcept override {
    pool::AllocationRequest request;
    request.bytes = bytes;
    return pool_->allocate_movable(request);
  }
  base::Status free(device::Address place) noexcept override { return pool_->free_movable(place); }
  pool::Ledger ledger() const noexcept override { return pool_->ledger(); }
  device::DeviceCounters counters() const noexcept override { return device_->counters(); }
  device::Address address_of(device::Address place) noexcept override {
    auto address = pool_->pin(place);
    if (!address.is_ok()) return 0;
    (void)pool_->unpin(place);  // nobody else is there who could move it
    return address.value();
  }
  device::Device* memory() noexcept override { return device_.get(); }
  pool::Pool* pool() noexcept override { return pool_.get(); }

 private:
  std::shared_ptr<device::Device> device_;
  std::unique_ptr<pool::Pool> pool_;
};

}  // namespace cistern::replay
