// HookedDevice: any device, with a test's own code run before and after every copy, in the thread that copies: so that
// something happens at exactly that moment.
#pragma once

#include <functional>
#include <memory>

#include "device/device.hpp"

namespace cistern::compact {

class HookedDevice final : public device::Device {
 public:
  explicit HookedDevice(std::shared_ptr<device::Device> device) : device_(std::move(device)) {}

  std::function<void(device::Address from)> before_copy;
  std::function<void(device::Address from)> after_copy;
  bool work_is_complete = true;  // what query_event says

  const device::DeviceInfo& info() const noexcept override { return device_->info(); }
  base::Result<device::MemoryInfo> memory() noexcept override { return device_->memory(); }
  device::DeviceCounters counters() const noexcept override { return device_->counters(); }
  base::Result<device::Address> malloc(std::uint64_t bytes) noexcept override { return device_->malloc(bytes); }
  base::Status free(device::Address address) noexcept override { return device_->free(address); }
  base::Result<device::Address> reserve(std::uint64_t bytes, std::uint64_t alignment) noexcept override {
    return device_->reserve(bytes, alignment);
  }
  base::Status release(device::Address base, std::uint64_t bytes) noexcept override {
    return device_->release(base, bytes);
  }
  base::Result<device::PageHandle> create_page(std::uint64_t bytes) noexcept override {
    return device_->create_page(bytes);
  }
  base::Status destroy_page(device::PageHandle page) noexcept override { return device_->destroy_page(page); }
  base::Status map(device::Address at, device::PageHandle page) noexcept override { return device_->map(at, page); }
  base::Status unmap(device::Address at, device::PageHandle page) noexcept override { return device_->unmap(at, page); }
  base::Status set_access(device::Address base, std::uint64_t bytes, device::Access access) noexcept override {
    return device_->set_access(base, bytes, access);
  }
  base::Status move_page(device::Address from, device::Address to, device::PageHandle page) noexcept override {
    return device_->move_page(from, to, page);
  }
  base::Status copy(device::Address to, device::Address from, std::uint64_t bytes) noexcept override {
    if (before_copy) before_copy(from);
    base::Status copied = device_->copy(to, from, bytes);
    if (after_copy) after_copy(from);
    return copied;
  }
  base::Status copy_from_host(device::Address to, const void* from, std::uint64_t bytes) noexcept override {
    return device_->copy_from_host(to, from, bytes);
  }
  base::Status copy_to_host(void* to, device::Address from, std::uint64_t bytes) noexcept override {
    return device_->copy_to_host(to, from, bytes);
  }
  base::Status set(device::Address at, std::uint8_t value, std::uint64_t bytes) noexcept override {
    return device_->set(at, value, bytes);
  }
  void* host_alias(device::Address at) noexcept override { return device_->host_alias(at); }
  base::Result<device::StreamHandle> create_stream() noexcept override { return device_->create_stream(); }
  base::Status destroy_stream(device::StreamHandle stream) noexcept override { return device_->destroy_stream(stream); }
  base::Status wait_stream(device::StreamHandle stream) noexcept override { return device_->wait_stream(stream); }
  base::Status wait_device() noexcept override { return device_->wait_device(); }
  base::Status stream_wait_event(device::StreamHandle stream, device::EventHandle event) noexcept override {
    return device_->stream_wait_event(stream, event);
  }
  base::Result<device::EventHandle> create_event() noexcept override { return device_->create_event(); }
  base::Status destroy_event(device::EventHandle event) noexcept override { return device_->destroy_event(event); }
  base::Status record_event(device::EventHandle event, device::StreamHandle stream) noexcept override {
    return device_->record_event(event, stream);
  }
  base::Result<bool> query_event(device::EventHandle event) noexcept override {
    auto complete = device_->query_event(event);
    return complete.is_ok() ? base::Result<bool>(complete.value() && work_is_complete) : std::move(complete);
  }
  base::Status wait_event(device::EventHandle event) noexcept override { return device_->wait_event(event); }

 private:
  std::shared_ptr<device::Device> device_;
};

}  // namespace cistern::compact
