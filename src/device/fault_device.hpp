// FaultInjectingDevice: any device, with calls that fail when a plan says so.
//
// A call that fails by the plan never reaches the device behind, so nothing has changed, as the contract demands of
// every failure; it is counted like any other.
//
// Thread-safety: all.
#pragma once

#include <atomic>
#include <memory>

#include "device/device.hpp"
#include "device/fault_plan.hpp"

namespace cistern::device {

class FaultInjectingDevice : public Device {
 public:
  explicit FaultInjectingDevice(std::shared_ptr<Device> device);

  FaultPlan& plan() noexcept { return plan_; }
  Device& behind() noexcept { return *device_; }

  const DeviceInfo& info() const noexcept override { return device_->info(); }
  base::Result<MemoryInfo> memory() noexcept override;
  DeviceCounters counters() const noexcept override;

  base::Result<Address> malloc(std::uint64_t bytes) noexcept override;
  base::Status free(Address address) noexcept override;
  base::Result<Address> reserve(std::uint64_t bytes, std::uint64_t alignment) noexcept override;
  base::Status release(Address base, std::uint64_t bytes) noexcept override;
  base::Result<PageHandle> create_page(std::uint64_t page_bytes) noexcept override;
  base::Status destroy_page(PageHandle page) noexcept override;
  base::Status map(Address at, PageHandle page) noexcept override;
  base::Status unmap(Address at, PageHandle page) noexcept override;
  base::Status set_access(Address base, std::uint64_t bytes, Access access) noexcept override;
  base::Status move_page(Address from, Address to, PageHandle page) noexcept override;
  // A question, not a call of the driver: no plan is about it.
  base::Status check_page_moves(std::uint64_t pages, std::uint64_t ranges) noexcept override {
    return device_->check_page_moves(pages, ranges);
  }
  base::Status copy(Address to, Address from, std::uint64_t bytes) noexcept override;
  base::Status copy_from_host(Address to, const void* from, std::uint64_t bytes) noexcept override;
  base::Status copy_to_host(void* to, Address from, std::uint64_t bytes) noexcept override;
  base::Status set(Address at, std::uint8_t value, std::uint64_t bytes) noexcept override;
  void* host_alias(Address at) noexcept override { return device_->host_alias(at); }
  base::Result<EventHandle> create_event() noexcept override;
  base::Status destroy_event(EventHandle event) noexcept override;
  base::Status record_event(EventHandle event, StreamHandle stream) noexcept override;
  base::Result<bool> query_event(EventHandle event) noexcept override;
  base::Status wait_event(EventHandle event) noexcept override;
  base::Result<StreamHandle> create_stream() noexcept override;
  base::Status destroy_stream(StreamHandle stream) noexcept override;
  base::Status wait_stream(StreamHandle stream) noexcept override;
  base::Status wait_device() noexcept override;
  base::Status stream_wait_event(StreamHandle stream, EventHandle event) noexcept override;

 private:
  base::Status fault(Operation operation) noexcept;

  std::shared_ptr<Device> device_;
  FaultPlan plan_;
  std::array<std::atomic<std::uint64_t>, kOperations> failed_{};  // calls that never reached the device, ever
};

}  // namespace cistern::device
