#include "device/tracked_device.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bits.hpp"
#include "device/text.hpp"

namespace cistern::device {

using base::Result;
using base::Status;
using base::StatusCode;

namespace {
thread_local std::uint64_t t_modelled_ns = 0;
}  // namespace

std::uint64_t modelled_ns_of_this_thread() noexcept { return t_modelled_ns; }

std::uint64_t DriverRounding::round(std::uint64_t bytes) const noexcept {
  return base::round_up(bytes, bytes >= huge_from_bytes ? huge_bytes : small_bytes);
}

TrackedDevice::TrackedDevice(DeviceInfo info, DriverRounding rounding, std::int64_t out_of_memory_code,
                             Completion completion, std::shared_ptr<WorkTime> time)
    : info_(std::move(info)),
      name_(info_.kind + ":" + std::to_string(info_.ordinal)),
      rounding_(rounding),
      out_of_memory_code_(out_of_memory_code),
      space_(info_.min_page_bytes, info_.max_page_bytes),
      streams_(completion, std::move(time)) {}

std::uint64_t TrackedDevice::available_bytes() const noexcept { return ~std::uint64_t{0}; }
std::uint64_t TrackedDevice::cost_ns(Operation, std::uint64_t) noexcept { return 0; }
void TrackedDevice::elapse(std::uint64_t) noexcept {}

Status TrackedDevice::refused(Operation operation, const Status& why) const {
  return why.with_context(name_ + " " + std::string(operation_name(operation)));
}

void TrackedDevice::charge(std::uint64_t bytes) noexcept {
  counters_.driver_bytes += bytes;
  counters_.peak_driver_bytes = std::max(counters_.peak_driver_bytes, counters_.driver_bytes);
}

void TrackedDevice::finish(Lock* lock, Operation operation, std::uint64_t quantity) noexcept {
  const std::uint64_t cost = cost_ns(operation, quantity);
  counters_.modelled_ns += cost;
  t_modelled_ns += cost;
  lock->unlock();
  if (cost != 0) elapse(cost);
}

Status TrackedDevice::check_room(std::uint64_t bytes) const {
  const std::uint64_t left = info_.total_bytes - counters_.driver_bytes;
  if (bytes <= left) return {};
  return Status(StatusCode::out_of_memory,
                in_bytes(bytes) + " more do not fit: " + std::to_string(counters_.driver_bytes) + " of the device's " +
                    in_bytes(info_.total_bytes) + " are given out",
                out_of_memory_code_);
}

Result<MemoryInfo> TrackedDevice::memory() noexcept {
  Lock lock(mutex_);
  MemoryInfo memory;
  memory.total_bytes = info_.total_bytes;
  memory.free_bytes = std::min(info_.total_bytes - counters_.driver_bytes, available_bytes());
  return memory;
}

DeviceCounters TrackedDevice::counters() const noexcept {
  Lock lock(mutex_);
  return counters_;
}

// --- Driver allocations ------------------------------------------------------------------------

Result<Address> TrackedDevice::malloc(std::uint64_t bytes) noexcept {
  Lock lock(mutex_);
  ++counters_.mallocs;
  AllocationRecord record;
  record.bytes = bytes;
  record.driver_bytes = rounding_.round(bytes);
  if (bytes == 0) {
    return refused(Operation::malloc, base::invalid_argument("0 bytes cannot be allocated"));
  }
  if (record.driver_bytes < bytes) record.driver_bytes = bytes;  // wrapped: far beyond any capacity
  if (Status room = check_room(record.driver_bytes); !room.is_ok()) {
    return refused(Operation::malloc, room);
  }
  auto address = provide_allocation(&record);
  if (!address.is_ok()) return refused(Operation::malloc, address.take_status());
  space_.add_allocation(address.value(), record);
  charge(record.driver_bytes);
  finish(&lock, Operation::malloc, record.cookie);
  return address;
}

Status TrackedDevice::free(Address address) noexcept {
  Lock lock(mutex_);
  ++counters_.frees;
  AllocationRecord record;
  Status status = space_.check_free(address, &record);
  if (status.is_ok()) status = withdraw_allocation(address, record);
  if (!status.is_ok()) return refused(Operation::free, status);
  space_.remove_allocation(address);
  counters_.driver_bytes -= record.driver_bytes;
  finish(&lock, Operation::free, record.cookie);
  return {};
}

// --- Reservations ------------------------------------------------------------------------------

Result<Address> TrackedDevice::reserve(std::uint64_t bytes, std::uint64_t alignment) noexcept {
  Lock lock(mutex_);
  ++counters_.reserves;
  if (Status status = space_.check_reserve(bytes, alignment); !status.is_ok()) {
    return refused(Operation::reserve, status);
  }
  auto address = provide_range(bytes, alignment);
  if (!address.is_ok()) return refused(Operation::reserve, address.take_status());
  if (Status status = space_.add_reservation(address.value(), bytes); !status.is_ok()) {
    // The range is unused and ours, so giving it back can only fail as a whole, and then it is only addresses.
    (void)withdraw_range(address.value(), bytes);
    return refused(Operation::reserve, status);
  }
  finish(&lock, Operation::reserve, bytes);
  return address;
}

Status TrackedDevice::release(Address base, std::uint64_t bytes) noexcept {
  Lock lock(mutex_);
  ++counters_.releases;
  Status status = space_.check_release(base, bytes);
  if (status.is_ok()) status = withdraw_range(base, bytes);
  if (!status.is_ok()) return refused(Operation::release, status);
  space_.remove_reservation(base);
  finish(&lock, Operation::release, bytes);
  return {};
}

// --- Pages -------------------------------------------------------------------------------------

Result<PageHandle> TrackedDevice::create_page(std::uint64_t page_bytes) noexcept {
  Lock lock(mutex_);
  ++counters_.pages_created;
  PageRecord page;
  page.bytes = page_bytes;
  Status status = space_.check_page_bytes(page_bytes);
  if (status.is_ok()) status = check_room(page_bytes);
  if (status.is_ok()) status = provide_page(&page);
  if (!status.is_ok()) return refused(Operation::create_page, status);
  charge(page_bytes);
  const PageHandle handle = space_.add_page(page);
  finish(&lock, Operation::create_page, page_bytes);
  return handle;
}

Status TrackedDevice::destroy_page(PageHandle handle) noexcept {
  Lock lock(mutex_);
  ++counters_.pages_destroyed;
  PageRecord* page = nullptr;
  Status status = space_.check_destroy(handle, &page);
  if (status.is_ok()) status = withdraw_page(page);
  if (!status.is_ok()) return refused(Operation::destroy_page, status);
  counters_.driver_bytes -= page->bytes;
  space_.remove_page(handle);
  finish(&lock, Operation::destroy_page, 0);
  return {};
}

Status TrackedDevice::map(Address at, PageHandle handle) noexcept {
  Lock lock(mutex_);
  ++counters_.maps;
  PageRecord* page = nullptr;
  AddressSpace::Site site;
  Status status = space_.check_map(at, handle, &page, &site);
  if (status.is_ok()) status = attach(at, page);
  if (!status.is_ok()) return refused(Operation::map, status);
  space_.commit_map(at, handle, page, site);
  finish(&lock, Operation::map, 0);
  return {};
}

Status TrackedDevice::unmap(Address at, PageHandle handle) noexcept {
  Lock lock(mutex_);
  ++counters_.unmaps;
  PageRecord* page = nullptr;
  AddressSpace::Site site;
  Status status = space_.check_unmap(at, handle, &page, &site);
  if (status.is_ok()) status = detach(at, page);
  if (!status.is_ok()) return refused(Operation::unmap, status);
  space_.commit_unmap(page, site);
  finish(&lock, Operation::unmap, 0);
  return {};
}

Status TrackedDevice::set_access(Address base, std::uint64_t bytes, Access access) noexcept {
  Lock lock(mutex_);
  ++counters_.set_accesses;
  std::uint64_t pages = 0;
  Status status = space_.check_access(base, bytes, &pages);
  if (status.is_ok()) status = protect(base, bytes, access);
  if (!status.is_ok()) return refused(Operation::set_access, status);
  space_.commit_access(base, bytes, access);
  finish(&lock, Operation::set_access, pages);
  return {};
}

Status TrackedDevice::move_page(Address from, Address to, PageHandle handle) noexcept {
  Lock lock(mutex_);
  ++counters_.pages_moved;
  if (!info_.capabilities.move_pages) {
    return refused(Operation::move_page, base::unsupported("this device does not move pages; unmap and map instead"));
  }
  PageRecord* page = nullptr;
  AddressSpace::Site source;
  AddressSpace::Site target;
  Status status = space_.check_move(from, to, handle, &page, &source, &target);
  if (status.is_ok()) status = shift(from, to, page);
  if (!status.is_ok()) return refused(Operation::move_page, status);
  space_.commit_unmap(page, source);
  space_.commit_map(to, handle, page, target);
  finish(&lock, Operation::move_page, 0);
  return {};
}

// --- Contents ----------------------------------------------------------------------------------

Status TrackedDevice::check_contents(Operation operation, Address at, std::uint64_t bytes) {
  if (!info_.capabilities.copy) {
    return refused(operation, base::unsupported("this device has addresses only, no contents"));
  }
  if (bytes == 0) return {};
  Status status = space_.check_contents(at, bytes);
  return status.is_ok() ? Status() : refused(operation, status);
}

Status TrackedDevice::copy(Address to, Address from, std::uint64_t bytes) noexcept {
  Lock lock(mutex_);
  ++counters_.copies;
  Status status = check_contents(Operation::copy, to, bytes);
  if (status.is_ok()) status = check_contents(Operation::copy, from, bytes);
  if (!status.is_ok()) return status;
  if (to < from + bytes && from < to + bytes) {
    return refused(Operation::copy,
                   base::invalid_argument(range_text(from, bytes) + " and " + range_text(to, bytes) + " overlap"));
  }
  counters_.bytes_copied += bytes;
  std::byte* const target = host_pointer(to);
  const std::byte* const source = host_pointer(from);
  finish(&lock, Operation::copy, bytes);
  if (bytes > 0) std::memcpy(target, source, bytes);
  return {};
}

Status TrackedDevice::copy_from_host(Address to, const void* from, std::uint64_t bytes) noexcept {
  Lock lock(mutex_);
  ++counters_.copies;
  Status status = check_contents(Operation::copy_from_host, to, bytes);
  if (!status.is_ok()) return status;
  counters_.bytes_copied += bytes;
  std::byte* const target = host_pointer(to);
  finish(&lock, Operation::copy_from_host, bytes);
  if (bytes > 0) std::memcpy(target, from, bytes);
  return {};
}

Status TrackedDevice::copy_to_host(void* to, Address from, std::uint64_t bytes) noexcept {
  Lock lock(mutex_);
  ++counters_.copies;
  Status status = check_contents(Operation::copy_to_host, from, bytes);
  if (!status.is_ok()) return status;
  counters_.bytes_copied += bytes;
  const std::byte* const source = host_pointer(from);
  finish(&lock, Operation::copy_to_host, bytes);
  if (bytes > 0) std::memcpy(to, source, bytes);
  return {};
}

Status TrackedDevice::set(Address at, std::uint8_t value, std::uint64_t bytes) noexcept {
  Lock lock(mutex_);
  ++counters_.copies;
  Status status = check_contents(Operation::set, at, bytes);
  if (!status.is_ok()) return status;
  counters_.bytes_copied += bytes;
  std::byte* const target = host_pointer(at);
  finish(&lock, Operation::set, bytes);
  if (bytes > 0) std::memset(target, value, bytes);
  return {};
}

void* TrackedDevice::host_alias(Address at) noexcept {
  return info_.capabilities.host_alias ? host_pointer(at) : nullptr;
}

}  // namespace cistern::device
