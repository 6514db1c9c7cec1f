// Streams, and memory in their order, in the C interface.
#include "capi/entry.hpp"
#include "cistern/cistern.h"
#include "device/tracked_device.hpp"

using namespace cistern;

cistern_status_t cistern_stream_create(cistern_device_t* device, cistern_stream_t* stream) noexcept {
  return capi::with_device(device, "cistern_stream_create", [&](const auto& opened) -> base::Status {
    if (stream == nullptr) return base::invalid_argument("the place for the stream is NULL");
    auto created = opened->create_stream();
    if (!created.is_ok()) return created.take_status();
    *stream = created.value();
    return {};
  });
}

cistern_status_t cistern_stream_destroy(cistern_device_t* device, cistern_stream_t stream) noexcept {
  return capi::with_device(device, "cistern_stream_destroy",
                           [&](const auto& opened) { return opened->destroy_stream(stream); });
}

cistern_status_t cistern_stream_call(cistern_device_t* device, cistern_stream_t stream, void (*function)(void* user),
                                     void* user) noexcept {
  return capi::with_device(device, "cistern_stream_call", [&](const auto& opened) -> base::Status {
    if (function == nullptr) return base::invalid_argument("the function is NULL");
    auto* const here = dynamic_cast<device::TrackedDevice*>(opened.get());
    if (here == nullptr) {
      return base::unsupported("streams of device '" + opened->info().kind + "' take work from its own driver only");
    }
    return here->submit(stream, {.duration_ns = 0, .body = [function, user] { function(user); }});
  });
}

cistern_status_t cistern_stream_wait(cistern_device_t* device, cistern_stream_t stream) noexcept {
  return capi::with_device(device, "cistern_stream_wait",
                           [&](const auto& opened) { return opened->wait_stream(stream); });
}

cistern_status_t cistern_allocate_async(cistern_pool_t* pool, uint64_t bytes, cistern_stream_t stream,
                                        cistern_address_t* address) noexcept {
  return capi::with_pool(pool, "cistern_allocate_async", [&](pool::Pool& inner) -> base::Status {
    if (address == nullptr) return base::invalid_argument("the place for the address is NULL");
    pool::AllocationRequest request;
    request.bytes = bytes;
    request.stream = stream;
    auto served = inner.allocate(request);
    if (!served.is_ok()) return served.take_status();
    *address = served.value();
    return {};
  });
}

cistern_status_t cistern_free_async(cistern_pool_t* pool, cistern_address_t address, cistern_stream_t stream) noexcept {
  return capi::with_pool(pool, "cistern_free_async", [&](pool::Pool& inner) {
    return address == 0 ? base::Status() : inner.free_async(address, stream);
  });
}

cistern_status_t cistern_record_use(cistern_pool_t* pool, cistern_address_t address, cistern_stream_t stream) noexcept {
  return capi::with_pool(pool, "cistern_record_use",
                         [&](pool::Pool& inner) { return inner.record_use(address, stream); });
}

cistern_status_t cistern_forget_stream(cistern_pool_t* pool, cistern_stream_t stream) noexcept {
  return capi::with_pool(pool, "cistern_forget_stream", [&](pool::Pool& inner) { return inner.forget_stream(stream); });
}
