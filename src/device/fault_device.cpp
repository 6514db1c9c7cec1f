#include "device/fault_device.hpp"

#include <string>
#include <utility>

namespace cistern::device {

using base::Result;
using base::Status;

FaultInjectingDevice::FaultInjectingDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {}

Status FaultInjectingDevice::fault(Operation operation) noexcept {
  Status status = plan_.next(operation);
  if (status.is_ok()) return status;
  failed_[static_cast<std::size_t>(operation)].fetch_add(1, std::memory_order_relaxed);
  const DeviceInfo& of = device_->info();
  return status.with_context(of.kind + ":" + std::to_string(of.ordinal));
}

DeviceCounters FaultInjectingDevice::counters() const noexcept {
  const auto failed = [this](Operation operation) {
    return failed_[static_cast<std::size_t>(operation)].load(std::memory_order_relaxed);
  };
  DeviceCounters counters = device_->counters();
  counters.mallocs += failed(Operation::malloc);
  counters.frees += failed(Operation::free);
  counters.reserves += failed(Operation::reserve);
  counters.releases += failed(Operation::release);
  counters.pages_created += failed(Operation::create_page);
  counters.pages_destroyed += failed(Operation::destroy_page);
  counters.maps += failed(Operation::map);
  counters.unmaps += failed(Operation::unmap);
  counters.set_accesses += failed(Operation::set_access);
  counters.pages_moved += failed(Operation::move_page);
  counters.copies += failed(Operation::copy) + failed(Operation::copy_from_host) + failed(Operation::copy_to_host) +
                     failed(Operation::set);
  counters.events_created += failed(Operation::create_event);
  counters.events_destroyed += failed(Operation::destroy_event);
  counters.events_recorded += failed(Operation::record_event);
  counters.event_queries += failed(Operation::query_event);
  counters.event_waits += failed(Operation::wait_event);
  counters.stream_waits += failed(Operation::wait_stream) + failed(Operation::wait_device);
  counters.waits_inserted += failed(Operation::stream_wait_event);
  return counters;
}

Result<MemoryInfo> FaultInjectingDevice::memory() noexcept {
  if (Status failed = fault(Operation::memory); !failed.is_ok()) return failed;
  return device_->memory();
}

Result<Address> FaultInjectingDevice::malloc(std::uint64_t bytes) noexcept {
  if (Status failed = fault(Operation::malloc); !failed.is_ok()) return failed;
  return device_->malloc(bytes);
}

Status FaultInjectingDevice::free(Address address) noexcept {
  if (Status failed = fault(Operation::free); !failed.is_ok()) return failed;
  return device_->free(address);
}

Result<Address> FaultInjectingDevice::reserve(std::uint64_t bytes, std::uint64_t alignment) noexcept {
  if (Status failed = fault(Operation::reserve); !failed.is_ok()) return failed;
  return device_->reserve(bytes, alignment);
}

Status FaultInjectingDevice::release(Address base, std::uint64_t bytes) noexcept {
  if (Status failed = fault(Operation::release); !failed.is_ok()) return failed;
  return device_->release(base, bytes);
}

Result<PageHandle> FaultInjectingDevice::create_page(std::uint64_t page_bytes) noexcept {
  if (Status failed = fault(Operation::create_page); !failed.is_ok()) return failed;
  return device_->create_page(page_bytes);
}

Status FaultInjectingDevice::destroy_page(PageHandle page) noexcept {
  if (Status failed = fault(Operation::destroy_page); !failed.is_ok()) return failed;
  return device_->destroy_page(page);
}

Status FaultInjectingDevice::map(Address at, PageHandle page) noexcept {
  if (Status failed = fault(Operation::map); !failed.is_ok()) return failed;
  return device_->map(at, page);
}

Status FaultInjectingDevice::unmap(Address at, PageHandle page) noexcept {
  if (Status failed = fault(Operation::unmap); !failed.is_ok()) return failed;
  return device_->unmap(at, page);
}

Status FaultInjectingDevice::set_access(Address base, std::uint64_t bytes, Access access) noexcept {
  if (Status failed = fault(Operation::set_access); !failed.is_ok()) return failed;
  return device_->set_access(base, bytes, access);
}

Status FaultInjectingDevice::move_page(Address from, Address to, PageHandle page) noexcept {
  if (Status failed = fault(Operation::move_page); !failed.is_ok()) return failed;
  return device_->move_page(from, to, page);
}

Status FaultInjectingDevice::copy(Address to, Address from, std::uint64_t bytes) noexcept {
  if (Status failed = fault(Operation::copy); !failed.is_ok()) return failed;
  return device_->copy(to, from, bytes);
}

Status FaultInjectingDevice::copy_from_host(Address to, const void* from, std::uint64_t bytes) noexcept {
  if (Status failed = fault(Operation::copy_from_host); !failed.is_ok()) return failed;
  return device_->copy_from_host(to, from, bytes);
}

Status FaultInjectingDevice::copy_to_host(void* to, Address from, std::uint64_t bytes) noexcept {
  if (Status failed = fault(Operation::copy_to_host); !failed.is_ok()) return failed;
  return device_->copy_to_host(to, from, bytes);
}

Status FaultInjectingDevice::set(Address at, std::uint8_t value, std::uint64_t bytes) noexcept {
  if (Status failed = fault(Operation::set); !failed.is_ok()) return failed;
  return device_->set(at, value, bytes);
}

Result<EventHandle> FaultInjectingDevice::create_event() noexcept {
  if (Status failed = fault(Operation::create_event); !failed.is_ok()) return failed;
  return device_->create_event();
}

Status FaultInjectingDevice::destroy_event(EventHandle event) noexcept {
  if (Status failed = fault(Operation::destroy_event); !failed.is_ok()) return failed;
  return device_->destroy_event(event);
}

Status FaultInjectingDevice::record_event(EventHandle event, StreamHandle stream) noexcept {
  if (Status failed = fault(Operation::record_event); !failed.is_ok()) return failed;
  return device_->record_event(event, stream);
}

Result<bool> FaultInjectingDevice::query_event(EventHandle event) noexcept {
  if (Status failed = fault(Operation::query_event); !failed.is_ok()) return failed;
  return device_->query_event(event);
}

Status FaultInjectingDevice::wait_event(EventHandle event) noexcept {
  if (Status failed = fault(Operation::wait_event); !failed.is_ok()) return failed;
  return device_->wait_event(event);
}

Result<StreamHandle> FaultInjectingDevice::create_stream() noexcept {
  if (Status failed = fault(Operation::create_stream); !failed.is_ok()) return failed;
  return device_->create_stream();
}

Status FaultInjectingDevice::destroy_stream(StreamHandle stream) noexcept {
  if (Status failed = fault(Operation::destroy_stream); !failed.is_ok()) return failed;
  return device_->destroy_stream(stream);
}

Status FaultInjectingDevice::wait_stream(StreamHandle stream) noexcept {
  if (Status failed = fault(Operation::wait_stream); !failed.is_ok()) return failed;
  return device_->wait_stream(stream);
}

Status FaultInjectingDevice::wait_device() noexcept {
  if (Status failed = fault(Operation::wait_device); !failed.is_ok()) return failed;
  return device_->wait_device();
}

Status FaultInjectingDevice::stream_wait_event(StreamHandle stream, EventHandle event) noexcept {
  if (Status failed = fault(Operation::stream_wait_event); !failed.is_ok()) return failed;
  return device_->stream_wait_event(stream, event);
}

}  // namespace cistern::device
