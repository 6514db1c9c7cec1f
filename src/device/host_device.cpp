#include "device/host_device.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/units.hpp"
#include "device/text.hpp"

namespace cistern::device {

using base::Result;
using base::Status;
using base::StatusCode;

namespace {

constexpr std::uint64_t kSystemPage = 4096;
constexpr std::uint64_t kHugePage = 2 * base::kMiB;
constexpr int kAddressesOnly = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// Mappings that a call can add at worst: a range cut out of the middle of another leaves two more than there were.
constexpr std::uint64_t kMappingsOfRange = 1;
constexpr std::uint64_t kMappingsOfCut = 2;
constexpr std::uint64_t kMappingsOfMove = 2 * kMappingsOfCut + 1;  // source, target, and a new parking range

DeviceInfo describe(const HostConfig& config, HostSystem& system) {
  DeviceInfo info;
  info.kind = "host";
  info.ordinal = config.ordinal;
  info.total_bytes = config.capacity_bytes == 0 ? system.physical_bytes() : config.capacity_bytes;
  info.description = "this machine's memory, " + base::format_bytes(info.total_bytes);
  info.min_page_bytes = 64 * base::kKiB;
  info.max_page_bytes = kHugePage;
  info.capabilities = {
      .pages = true, .move_pages = true, .copy = true, .events = true, .host_access = true, .host_alias = true};
  return info;
}

Status kernel_refused(std::string what, int error) {
  return Status(error == ENOMEM ? StatusCode::out_of_memory : StatusCode::device_error,
                "the kernel refused " + std::move(what) + " (" + std::strerror(error) + ")", error);
}

}  // namespace

Result<std::shared_ptr<HostDevice>> HostDevice::create(const HostConfig& config, HostSystem& system) noexcept {
  return std::shared_ptr<HostDevice>(new HostDevice(config, system));
}

HostDevice::HostDevice(const HostConfig& config, HostSystem& system)
    : TrackedDevice(describe(config, system), {kSystemPage, ~std::uint64_t{0}, kSystemPage}, ENOMEM,
                    Completion::threads, config.work_time ? config.work_time : std::make_shared<RealWorkTime>()),
      system_(system),
      config_(config),
      guard_(system, config.max_mappings, config.mapping_headroom),
      parking_(system) {}

HostDevice::~HostDevice() {
  drain_streams();
  for (const auto& [address, record] : space().allocations()) (void)system_.unmap(address, record.driver_bytes);
  for (const auto& [base, reservation] : space().reservations()) (void)system_.unmap(base, reservation.bytes);
}

void HostDevice::prefer_huge_pages(Address at, std::uint64_t bytes) noexcept {
  if (!config_.huge_pages || bytes < kHugePage) return;
  const int failed = system_.advise(at, bytes, MADV_HUGEPAGE);
  if (failed == 0) return;
  if (huge_page_fallbacks_.fetch_add(1, std::memory_order_relaxed) == 0) {
    base::log(base::LogLevel::warning, "device",
              name() + " gets normal pages instead of huge ones (" + std::strerror(failed) +
                  "); see /sys/kernel/mm/transparent_hugepage/enabled");
  }
}

// --- Driver allocations and ranges -------------------------------------------------------------

Result<Address> HostDevice::provide_allocation(AllocationRecord* record) noexcept {
  if (Status status = guard_.admit(kMappingsOfRange); !status.is_ok()) return status;
  Address address = 0;
  const std::uint64_t alignment = record->driver_bytes >= kHugePage ? kHugePage : kSystemPage;
  const int failed = system_.map_aligned(&address, record->driver_bytes, alignment, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS);
  if (failed != 0) return kernel_refused(in_bytes(record->driver_bytes), failed);
  prefer_huge_pages(address, record->driver_bytes);
  return address;
}

Status HostDevice::withdraw_allocation(Address address, const AllocationRecord& record) noexcept {
  guard_.note_release();
  const int failed = system_.unmap(address, record.driver_bytes);
  return failed == 0 ? Status() : kernel_refused("to unmap " + range_text(address, record.driver_bytes), failed);
}

Result<Address> HostDevice::provide_range(std::uint64_t bytes, std::uint64_t alignment) noexcept {
  if (Status status = guard_.admit(kMappingsOfRange); !status.is_ok()) return status;
  Address address = 0;
  const int failed = system_.map_aligned(&address, bytes, alignment, PROT_NONE, kAddressesOnly);
  if (failed != 0) return kernel_refused(in_bytes(bytes) + " of addresses", failed);
  return address;
}

Status HostDevice::withdraw_range(Address base, std::uint64_t bytes) noexcept {
  guard_.note_release();
  const int failed = system_.unmap(base, bytes);
  return failed == 0 ? Status() : kernel_refused("to unmap " + range_text(base, bytes), failed);
}

// --- Pages -------------------------------------------------------------------------------------
// PageRecord::place is the parking slot of a page that has memory and is not mapped, else 0.

// A new page is only a record, but it is made to be mapped: better no page than one that cannot be mapped.
Status HostDevice::provide_page(PageRecord*) noexcept { return guard_.check(kMappingsOfCut); }

Status HostDevice::withdraw_page(PageRecord* page) noexcept {
  if (page->place == 0) return {};
  guard_.note_release();
  if (system_.seal(page->place, page->bytes) != 0) {
    const int failed = system_.advise(page->place, page->bytes, MADV_DONTNEED);
    if (failed != 0) return kernel_refused("to take back a page of " + in_bytes(page->bytes), failed);
  }
  parking_.give(page->place, page->bytes);
  return {};
}

Status HostDevice::attach(Address at, PageRecord* page) noexcept {
  if (Status status = guard_.admit(kMappingsOfCut); !status.is_ok()) return status;
  if (page->place == 0) {
    prefer_huge_pages(at, page->bytes);
    return {};
  }
  // The slot keeps its addresses as an empty mapping, ready for the next page.
  if (Status status = move_memory(page->place, at, page->bytes); !status.is_ok()) return status;
  parking_.give(page->place, page->bytes);
  page->place = 0;
  return {};
}

// A moved page brings its own mapping along, for two neighbours by address are none by origin; a run that leaves splits
// the mapping that it was part of, and so does the place where it goes.
Status HostDevice::check_page_moves(std::uint64_t pages, std::uint64_t ranges) noexcept {
  std::lock_guard lock(mutex_);
  return guard_.check(pages + 2 * kMappingsOfCut * ranges).with_context(name() + " would move pages");
}

Status HostDevice::detach(Address at, PageRecord* page) noexcept {
  guard_.add(kMappingsOfMove);
  auto slot = parking_.take(page->bytes);
  if (!slot.is_ok()) return slot.take_status();
  Status status = move_memory(at, slot.value(), page->bytes);
  if (status.is_ok()) status = close_source(at, slot.value(), page->bytes);
  if (!status.is_ok()) {
    parking_.give(slot.value(), page->bytes);
    return status;
  }
  page->place = slot.value();
  return {};
}

Status HostDevice::shift(Address from, Address to, PageRecord* page) noexcept {
  if (Status status = guard_.admit(kMappingsOfMove); !status.is_ok()) return status;
  if (Status status = move_memory(from, to, page->bytes); !status.is_ok()) return status;
  return close_source(from, to, page->bytes);
}

Status HostDevice::move_memory(Address from, Address to, std::uint64_t bytes) noexcept {
  const int failed = system_.move(from, to, bytes);
  if (failed == 0) return {};
  // The kernel may have cleared the target before it gave up. Its addresses must stay ours; where they still are, the
  // call is refused and nothing happens.
  Address target = to;
  (void)system_.map(&target, bytes, PROT_NONE, kAddressesOnly | MAP_FIXED_NOREPLACE, -1, 0);
  return kernel_refused("to move " + in_bytes(bytes) + " from " + hex(from) + " to " + hex(to), failed);
}

// After a move: the source must not be accessible any more. Where that fails the memory goes back.
Status HostDevice::close_source(Address from, Address to, std::uint64_t bytes) noexcept {
  int failed = system_.seal(from, bytes);
  if (failed != 0) failed = system_.protect(from, bytes, PROT_NONE);
  if (failed == 0) return {};
  (void)system_.move(to, from, bytes);
  (void)system_.seal(to, bytes);
  return kernel_refused("to close " + range_text(from, bytes) + " after a move", failed);
}

Status HostDevice::protect(Address base, std::uint64_t bytes, Access access) noexcept {
  guard_.add(kMappingsOfCut);
  const int failed = system_.protect(base, bytes, access == Access::none ? PROT_NONE : PROT_READ | PROT_WRITE);
  if (failed == 0) return {};
  // The kernel may have done a part. What was accessible must stay so; more access than before does no harm.
  (void)system_.protect(base, bytes, PROT_READ | PROT_WRITE);
  return kernel_refused("to set access of " + range_text(base, bytes), failed);
}

}  // namespace cistern::device
