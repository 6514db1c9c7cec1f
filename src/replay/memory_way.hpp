// MemoryWay: a way for a program to get device memory, so that one plan can be played against several.
//
// Direct: every tensor is a driver allocation of its own. Pooled: a pool serves them and goes to the driver for pages.
// Each way has a device to itself; what a way costs is told apart into the driver's time, which the device models, and
// the way's own work on this machine, which the player measures.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "device/device.hpp"
#include "pool/pool.hpp"

namespace cistern::replay {

class MemoryWay {
 public:
  virtual ~MemoryWay() = default;
  virtual std::string_view name() const noexcept = 0;
  // alignment 0: the device's own.
  virtual base::Result<device::Address> allocate(std::uint64_t bytes, std::uint64_t alignment) noexcept = 0;
  virtual base::Status free(device::Address address) noexcept = 0;
  // Where a buffer of a plan is one block that grows in place: it gets `bytes` more. Else its tensors are blocks.
  virtual bool grows_in_place() const noexcept { return false; }
  virtual base::Status extend(std::uint32_t buffer, std::uint64_t bytes) noexcept {
    static_cast<void>(buffer);
    static_cast<void>(bytes);
    return base::unsupported("this way of getting memory has no buffers that grow in place");
  }
  virtual base::Status release_buffers() noexcept { return {}; }
  virtual device::DeviceCounters counters() const noexcept = 0;
  // Whether the time of its calls on this machine is its own work. A simulated driver's is not: its time is modelled.
  virtual bool works_on_this_machine() const noexcept = 0;
};

class DirectWay final : public MemoryWay {
 public:
  explicit DirectWay(std::shared_ptr<device::Device> device) noexcept : device_(std::move(device)) {}
  std::string_view name() const noexcept override { return "direct"; }
  // A driver aligns as it aligns.
  base::Result<device::Address> allocate(std::uint64_t bytes, std::uint64_t) noexcept override {
    return device_->malloc(bytes);
  }
  base::Status free(device::Address address) noexcept override { return device_->free(address); }
  device::DeviceCounters counters() const noexcept override { return device_->counters(); }
  bool works_on_this_machine() const noexcept override { return false; }

 private:
  std::shared_ptr<device::Device> device_;
};

class PooledWay final : public MemoryWay {
 public:
  // A pool with stitching in its rescue list. `observer` may be null.
  static base::Result<std::unique_ptr<PooledWay>> create(std::shared_ptr<device::Device> device,
                                                         const pool::PoolOptions& options,
                                                         std::shared_ptr<pool::Observer> observer = nullptr);
  std::string_view name() const noexcept override { return "pool"; }
  base::Result<device::Address> allocate(std::uint64_t bytes, std::uint64_t alignment) noexcept override {
    pool::AllocationRequest request;
    request.bytes = bytes;
    request.alignment = alignment;
    return pool_->allocate(request);
  }
  base::Status free(device::Address address) noexcept override { return pool_->free(address); }
  device::DeviceCounters counters() const noexcept override { return device_->counters(); }
  bool works_on_this_machine() const noexcept override { return true; }
  // Buffers of plans are elastic ones from now on, of at most `max_bytes` each. Needs a pool that maps pages.
  void let_buffers_grow(std::uint64_t max_bytes) noexcept { buffer_max_bytes_ = max_bytes; }
  bool grows_in_place() const noexcept override { return buffer_max_bytes_ != 0; }
  base::Status extend(std::uint32_t buffer, std::uint64_t bytes) noexcept override;
  base::Status release_buffers() noexcept override;
  const pool::Pool& pool() const noexcept { return *pool_; }

 private:
  PooledWay(std::shared_ptr<device::Device> device, std::unique_ptr<pool::Pool> pool) noexcept
      : device_(std::move(device)), pool_(std::move(pool)) {}

  std::shared_ptr<device::Device> device_;
  std::unique_ptr<pool::Pool> pool_;
  std::uint64_t buffer_max_bytes_ = 0;
  struct Buffer {
    pool::ElasticId id = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Buffer> buffers_;  // by number, from 1
};

// For pools whose driver calls are counted. Pools cut page moves into batches by the time they take, so with the
// machine's clock the number of calls would change from run to run; this one stands still.
const base::Clock& still_clock() noexcept;

// Calls that reached the driver.
std::uint64_t driver_calls(const device::DeviceCounters& counters) noexcept;

}  // namespace cistern::replay
