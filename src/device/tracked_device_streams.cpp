// Streams and events of a TrackedDevice: counted, named in errors, and handed on to its StreamSet. The device's lock is
// not held while anything waits.
#include <utility>

#include "device/tracked_device.hpp"

namespace cistern::device {

using base::Result;
using base::Status;

Status TrackedDevice::begin(Operation operation, std::uint64_t DeviceCounters::*count) noexcept {
  Lock lock(mutex_);
  if (count != nullptr) ++(counters_.*count);
  if (info_.capabilities.events) return {};
  return refused(operation, base::unsupported("this device has no streams and events"));
}

Status TrackedDevice::finish_streams(Operation operation, const Status& status) const {
  return status.is_ok() ? Status() : refused(operation, status);
}

Result<EventHandle> TrackedDevice::create_event() noexcept {
  if (Status status = begin(Operation::create_event, &DeviceCounters::events_created); !status.is_ok()) return status;
  return streams_.create_event();
}

Status TrackedDevice::destroy_event(EventHandle event) noexcept {
  Status status = begin(Operation::destroy_event, &DeviceCounters::events_destroyed);
  return status.is_ok() ? finish_streams(Operation::destroy_event, streams_.destroy_event(event)) : status;
}

Status TrackedDevice::record_event(EventHandle event, StreamHandle stream) noexcept {
  Status status = begin(Operation::record_event, &DeviceCounters::events_recorded);
  return status.is_ok() ? finish_streams(Operation::record_event, streams_.record(event, stream)) : status;
}

Result<bool> TrackedDevice::query_event(EventHandle event) noexcept {
  if (Status status = begin(Operation::query_event, &DeviceCounters::event_queries); !status.is_ok()) return status;
  auto complete = streams_.query(event);
  if (!complete.is_ok()) return refused(Operation::query_event, complete.status());
  return complete;
}

Status TrackedDevice::wait_event(EventHandle event) noexcept {
  Status status = begin(Operation::wait_event, &DeviceCounters::event_waits);
  return status.is_ok() ? finish_streams(Operation::wait_event, streams_.wait_event(event)) : status;
}

Result<StreamHandle> TrackedDevice::create_stream() noexcept {
  if (Status status = begin(Operation::create_stream, nullptr); !status.is_ok()) return status;
  auto stream = streams_.create_stream();
  if (!stream.is_ok()) return refused(Operation::create_stream, stream.status());
  return stream;
}

Status TrackedDevice::destroy_stream(StreamHandle stream) noexcept {
  Status status = begin(Operation::destroy_stream, nullptr);
  return status.is_ok() ? finish_streams(Operation::destroy_stream, streams_.destroy_stream(stream)) : status;
}

Status TrackedDevice::wait_stream(StreamHandle stream) noexcept {
  Status status = begin(Operation::wait_stream, &DeviceCounters::stream_waits);
  return status.is_ok() ? finish_streams(Operation::wait_stream, streams_.wait_stream(stream)) : status;
}

Status TrackedDevice::wait_device() noexcept {
  Status status = begin(Operation::wait_device, &DeviceCounters::stream_waits);
  return status.is_ok() ? finish_streams(Operation::wait_device, streams_.wait_all()) : status;
}

Status TrackedDevice::stream_wait_event(StreamHandle stream, EventHandle event) noexcept {
  Status status = begin(Operation::stream_wait_event, &DeviceCounters::waits_inserted);
  return status.is_ok() ? finish_streams(Operation::stream_wait_event, streams_.stream_wait(stream, event)) : status;
}

Status TrackedDevice::submit(StreamHandle stream, Work work) noexcept {
  Status status = streams_.submit(stream, std::move(work));
  return status.is_ok() ? status : status.with_context(name_ + " submit");
}

}  // namespace cistern::device
