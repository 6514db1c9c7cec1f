// TrackedDevice: the part of a device that is the same for all that run in this process: one lock, the counters, the
// capacity, the refusal of misuse, copies that are complete when the call returns, and streams (stream_set.hpp).
//
// A concrete device supplies hooks that do the one thing it does differently (where memory comes from). Hooks run with
// the lock held and with checked arguments; a hook that fails must leave everything as it was, and then the call has
// changed nothing at all.
//
// Thread-safety: all calls; bookkeeping and hooks run under one lock, copies outside it.
#pragma once

#include <cstddef>
#include <mutex>
#include <string_view>

#include "device/address_space.hpp"
#include "device/device.hpp"
#include "device/operation.hpp"
#include "device/stream_set.hpp"

namespace cistern::device {

// How a driver rounds the size of an allocation. All powers of two.
struct DriverRounding {
  std::uint64_t small_bytes = 4096;  // of allocations below huge_from_bytes
  std::uint64_t huge_from_bytes = 1ULL << 20;
  std::uint64_t huge_bytes = 2ULL << 20;
  std::uint64_t round(std::uint64_t bytes) const noexcept;
  friend bool operator==(const DriverRounding&, const DriverRounding&) = default;
};

class TrackedDevice : public Device {
 public:
  const DeviceInfo& info() const noexcept final { return info_; }
  base::Result<MemoryInfo> memory() noexcept override;
  DeviceCounters counters() const noexcept override;

  base::Result<Address> malloc(std::uint64_t bytes) noexcept final;
  base::Status free(Address address) noexcept final;
  base::Result<Address> reserve(std::uint64_t bytes, std::uint64_t alignment) noexcept final;
  base::Status release(Address base, std::uint64_t bytes) noexcept final;
  base::Result<PageHandle> create_page(std::uint64_t page_bytes) noexcept final;
  base::Status destroy_page(PageHandle handle) noexcept final;
  base::Status map(Address at, PageHandle handle) noexcept final;
  base::Status unmap(Address at, PageHandle handle) noexcept final;
  base::Status set_access(Address base, std::uint64_t bytes, Access access) noexcept final;
  base::Status move_page(Address from, Address to, PageHandle handle) noexcept final;

  base::Status copy(Address to, Address from, std::uint64_t bytes) noexcept final;
  base::Status copy_from_host(Address to, const void* from, std::uint64_t bytes) noexcept final;
  base::Status copy_to_host(void* to, Address from, std::uint64_t bytes) noexcept final;
  base::Status set(Address at, std::uint8_t value, std::uint64_t bytes) noexcept final;
  void* host_alias(Address at) noexcept final;

  base::Result<EventHandle> create_event() noexcept final;
  base::Status destroy_event(EventHandle event) noexcept final;
  base::Status record_event(EventHandle event, StreamHandle stream) noexcept final;
  base::Result<bool> query_event(EventHandle event) noexcept final;
  base::Status wait_event(EventHandle event) noexcept final;
  base::Result<StreamHandle> create_stream() noexcept final;
  base::Status destroy_stream(StreamHandle stream) noexcept final;
  base::Status wait_stream(StreamHandle stream) noexcept final;
  base::Status wait_device() noexcept final;
  base::Status stream_wait_event(StreamHandle stream, EventHandle event) noexcept final;

  // --- What a driver's own interface would launch ----------------------------------------------------------------
  base::Status submit(StreamHandle stream, Work work) noexcept;
  // See StreamSet::observe.
  void observe_work(std::shared_ptr<WorkObserver> observer) noexcept { streams_.observe(std::move(observer)); }
  // Under Completion::stepped: see StreamSet::step.
  base::Result<bool> step(StreamHandle stream) noexcept { return streams_.step(stream); }

 protected:
  // `out_of_memory_code` is the native code of a refusal for lack of room.
  TrackedDevice(DeviceInfo info, DriverRounding rounding, std::int64_t out_of_memory_code, Completion completion,
                std::shared_ptr<WorkTime> time);
  // Every destructor of a concrete device begins with this: work may use what the device is made of.
  void drain_streams() noexcept { streams_.drain(); }

  // --- Hooks -----------------------------------------------------------------------------------------------------
  // `record` has its sizes; the hook sets its place and returns the address.
  virtual base::Result<Address> provide_allocation(AllocationRecord* record) noexcept = 0;
  virtual base::Status withdraw_allocation(Address address, const AllocationRecord& record) noexcept = 0;
  virtual base::Result<Address> provide_range(std::uint64_t bytes, std::uint64_t alignment) noexcept = 0;
  virtual base::Status withdraw_range(Address base, std::uint64_t bytes) noexcept = 0;
  virtual base::Status provide_page(PageRecord* page) noexcept = 0;
  virtual base::Status withdraw_page(PageRecord* page) noexcept = 0;
  virtual base::Status attach(Address at, PageRecord* page) noexcept = 0;
  virtual base::Status detach(Address at, PageRecord* page) noexcept = 0;
  virtual base::Status shift(Address from, Address to, PageRecord* page) noexcept = 0;
  virtual base::Status protect(Address base, std::uint64_t bytes, Access access) noexcept = 0;
  // Where the host finds the byte at a device address; only asked where copies or aliases are offered.
  virtual std::byte* host_pointer(Address at) const noexcept = 0;
  // Free physical memory beyond what this device has given out; a host shares its memory with others.
  virtual std::uint64_t available_bytes() const noexcept;
  // Modelled time of a successful call (quantity: bytes copied, or an allocation's cookie), and its passing.
  virtual std::uint64_t cost_ns(Operation operation, std::uint64_t quantity) noexcept;
  virtual void elapse(std::uint64_t nanoseconds) noexcept;

  const AddressSpace& space() const noexcept { return space_; }
  std::int64_t out_of_memory_code() const noexcept { return out_of_memory_code_; }
  const std::string& name() const noexcept { return name_; }
  mutable std::mutex mutex_;

 private:
  using Lock = std::unique_lock<std::mutex>;
  base::Status refused(Operation operation, const base::Status& why) const;
  base::Status check_room(std::uint64_t bytes) const;
  base::Status check_contents(Operation operation, Address at, std::uint64_t bytes);
  // Counts the call and refuses it where there are no events.
  base::Status begin(Operation operation, std::uint64_t DeviceCounters::*count) noexcept;
  base::Status finish_streams(Operation operation, const base::Status& status) const;
  void charge(std::uint64_t bytes) noexcept;
  void finish(Lock* lock, Operation operation, std::uint64_t quantity) noexcept;

  DeviceInfo info_;
  std::string name_;  // "host:0"
  DriverRounding rounding_;
  std::int64_t out_of_memory_code_;
  AddressSpace space_;
  DeviceCounters counters_;
  StreamSet streams_;
};

}  // namespace cistern::device
