#include "device/simulated_device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/bits.hpp"
#include "base/units.hpp"
#include "device/text.hpp"

namespace cistern::device {

using base::Result;
using base::Status;
using base::StatusCode;

namespace {

constexpr std::uint64_t kSystemPage = 4096;
constexpr std::uint64_t kHugePage = 2 * base::kMiB;
constexpr std::uint64_t kFileBytes = std::uint64_t{1} << 46;  // sparse: capacity is accounted, not laid out
constexpr int kAddressesOnly = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
constexpr std::uint64_t kMappingHeadroom = 1024;
constexpr std::uint64_t kMappingsOfCuts = 4;  // a cut in each view

// Pools reserve several times their limit in addresses, and there are several pools.
constexpr std::uint64_t kAddressesPerByte = 64;
constexpr std::uint64_t kLeastAddressesPerByte = 2;
constexpr Address kWindowHint = 0x2000'0000'0000;  // usually free, and then addresses repeat from run to run
constexpr Address kWindowHintStep = 0x0400'0000'0000;

DeviceInfo describe(const SimulatedConfig& config) {
  DeviceInfo info;
  info.kind = "simulated";
  info.ordinal = config.ordinal;
  info.total_bytes = config.capacity_bytes;
  info.description = "simulated NPU, " + base::format_bytes(config.capacity_bytes) +
                     (config.backed ? (config.strict ? ", strict" : "") : ", without contents") +
                     (config.latency.enabled ? ", modelled latency" : "");
  info.min_page_bytes = 64 * base::kKiB;
  info.max_page_bytes = kHugePage;
  info.capabilities = {.pages = true,
                       .move_pages = config.move_pages,
                       .copy = config.backed,
                       .events = true,
                       .host_access = config.backed && !config.strict,
                       .host_alias = config.backed};
  return info;
}

int protection_of(Access access) noexcept { return access == Access::none ? PROT_NONE : PROT_READ | PROT_WRITE; }

Status kernel_refused(std::string what, int error) {
  return Status(error == ENOMEM ? StatusCode::out_of_memory : StatusCode::device_error,
                "the kernel refused " + std::move(what) + " (" + std::strerror(error) + ")",
                error == ENOMEM ? kAclErrorMemoryAllocation : error);
}

}  // namespace

Result<SimulatedDevice::Window> SimulatedDevice::open_window(const SimulatedConfig& config,
                                                             HostSystem& system) noexcept {
  Window window;
  if (!config.backed) {
    auto numbers = NumberWindow::acquire();
    if (!numbers.is_ok()) return numbers.take_status();
    window.numbers = numbers.take();
    window.base = window.numbers.base();
    window.bytes = NumberWindow::kBytes;
    return window;
  }
  const std::uint64_t capacity = base::round_up(config.capacity_bytes, kHugePage);
  int failed = ENOMEM;
  for (std::uint64_t factor = kAddressesPerByte; factor >= kLeastAddressesPerByte && failed != 0; factor /= 2) {
    window.base = kWindowHint + config.ordinal * kWindowHintStep;
    window.bytes = factor * capacity;
    failed = system.map_aligned(&window.base, 2 * window.bytes, kHugePage, PROT_NONE, kAddressesOnly);
  }
  if (failed != 0) {
    return kernel_refused(in_bytes(2 * window.bytes) + " of addresses for a simulated device", failed);
  }
  window.file = ::memfd_create("cistern-simulated-device", MFD_CLOEXEC);
  if (window.file < 0 || ::ftruncate(window.file, static_cast<off_t>(kFileBytes)) != 0) {
    const int error = errno;
    if (window.file >= 0) ::close(window.file);
    (void)system.unmap(window.base, 2 * window.bytes);
    return kernel_refused("a file in memory for a simulated device", error);
  }
  return window;
}

Result<std::shared_ptr<SimulatedDevice>> SimulatedDevice::create(const SimulatedConfig& config,
                                                                 HostSystem& system) noexcept {
  if (config.capacity_bytes == 0 || config.capacity_bytes > base::kTiB) {
    return base::invalid_argument("a simulated device's capacity is from 1 byte to 1 TiB, not " +
                                  in_bytes(config.capacity_bytes));
  }
  const DriverRounding& rounding = config.rounding;
  if (!base::is_power_of_two(rounding.small_bytes) || !base::is_power_of_two(rounding.huge_bytes) ||
      (config.backed && std::min(rounding.small_bytes, rounding.huge_bytes) < kSystemPage)) {
    return base::invalid_argument("a simulated driver rounds to powers of two of at least " + in_bytes(kSystemPage));
  }
  auto window = open_window(config, system);
  if (!window.is_ok()) return window.take_status();
  return std::shared_ptr<SimulatedDevice>(new SimulatedDevice(config, system, window.take()));
}

namespace {

std::shared_ptr<WorkTime> work_time(const SimulatedConfig& config, base::ManualClock& clock) {
  if (config.work_time != nullptr) return config.work_time;
  if (config.latency.wait_for_real) return std::make_shared<RealWorkTime>();
  return std::make_shared<VirtualWorkTime>(clock);
}

}  // namespace

SimulatedDevice::SimulatedDevice(const SimulatedConfig& config, HostSystem& system, Window window)
    : TrackedDevice(describe(config), config.rounding, kAclErrorMemoryAllocation, Completion::threads,
                    work_time(config, clock_)),
      system_(system),
      config_(config),
      window_(std::move(window)),
      guard_(system, 0, kMappingHeadroom),
      addresses_(window_.base, window_.bytes),
      places_(0, kFileBytes),
      idle_(config.backed ? config.idle_mapping_bytes : 0),
      draws_(config.latency) {}

SimulatedDevice::~SimulatedDevice() {
  drain_streams();
  if (!config_.backed) return;
  (void)system_.unmap(window_.base, 2 * window_.bytes);
  ::close(window_.file);
}

std::byte* SimulatedDevice::host_pointer(Address at) const noexcept {
  return reinterpret_cast<std::byte*>(at + window_.bytes);
}

std::uint64_t SimulatedDevice::cost_ns(Operation operation, std::uint64_t quantity) noexcept {
  return latency_ns(config_.latency, operation, quantity);
}

void SimulatedDevice::elapse(std::uint64_t nanoseconds) noexcept {
  clock_.advance(nanoseconds);
  if (config_.latency.wait_for_real) wait_for_real(nanoseconds);
}

// --- Two views of the file ---------------------------------------------------------------------
// In strict mode the device's view stays what it is from the start: addresses that trap.

int SimulatedDevice::map_views(Address at, std::uint64_t bytes, std::uint64_t place, int protection) noexcept {
  Address alias = at + window_.bytes;
  int failed = system_.map(&alias, bytes, protection, MAP_SHARED | MAP_FIXED, window_.file, place);
  if (failed != 0 || config_.strict) return failed;
  failed = system_.map(&at, bytes, protection, MAP_SHARED | MAP_FIXED, window_.file, place);
  if (failed != 0) (void)system_.seal(alias, bytes);
  return failed;
}

// Part of the file appears at a device address and at its alias.
Status SimulatedDevice::show(Address at, std::uint64_t bytes, std::uint64_t place, Access access) noexcept {
  if (!config_.backed) return {};
  if (Status status = guard_.admit(kMappingsOfCuts); !status.is_ok()) return status;
  const int failed = map_views(at, bytes, place, protection_of(access));
  return failed == 0 ? Status() : kernel_refused("to map " + in_bytes(bytes) + " at " + hex(at), failed);
}

// And disappears again; where the kernel refuses, both views are as they were.
Status SimulatedDevice::hide(Address at, std::uint64_t bytes, std::uint64_t place, Access access) noexcept {
  if (!config_.backed) return {};
  guard_.note_release();
  guard_.add(kMappingsOfCuts);
  int failed = system_.seal(at + window_.bytes, bytes);
  if (failed == 0 && !config_.strict) {
    failed = system_.seal(at, bytes);
    if (failed != 0) (void)map_views(at, bytes, place, protection_of(access));
  }
  return failed == 0 ? Status() : kernel_refused("to unmap " + range_text(at, bytes), failed);
}

Status SimulatedDevice::drop_contents(std::uint64_t place, std::uint64_t bytes) noexcept {
  if (!config_.backed) return {};
  const int failed = system_.punch(window_.file, place, bytes);
  return failed == 0 ? Status() : kernel_refused("to take back " + in_bytes(bytes), failed);
}

Result<std::uint64_t> SimulatedDevice::take_place(std::uint64_t bytes, std::uint64_t alignment) noexcept {
  if (auto place = places_.allocate(bytes, alignment)) return *place;
  return base::internal_error("the simulated device's file of " + in_bytes(kFileBytes) + " has no part of " +
                              in_bytes(bytes) + " left");
}

// --- Hooks -------------------------------------------------------------------------------------

Result<Address> SimulatedDevice::take_addresses(std::uint64_t bytes, std::uint64_t alignment) noexcept {
  if (auto address = addresses_.allocate(bytes, alignment)) return *address;
  return Status(StatusCode::out_of_memory,
                in_bytes(bytes) + " of addresses do not fit: the largest free range of the device has " +
                    in_bytes(addresses_.largest_hole()),
                kAclErrorMemoryAllocation);
}

Result<Address> SimulatedDevice::provide_allocation(AllocationRecord* record) noexcept {
  const std::uint64_t bytes = record->driver_bytes;
  if (const auto idle = idle_.take(bytes)) {
    record->place = idle->place;
    record->cookie = draws_.next_pair_ns(record->bytes >= config_.rounding.huge_from_bytes);
    return idle->address;
  }
  auto place = take_place(bytes, kSystemPage);
  if (!place.is_ok()) return place.take_status();
  record->place = place.value();
  auto address = take_addresses(bytes, bytes >= kHugePage ? kHugePage : config_.rounding.small_bytes);
  if (address.is_ok()) {
    Status status = show(address.value(), bytes, record->place, Access::read_write);
    if (status.is_ok()) {
      record->cookie = draws_.next_pair_ns(record->bytes >= config_.rounding.huge_from_bytes);
      return address;
    }
    addresses_.free(address.value(), bytes);
    address = std::move(status);
  }
  places_.free(record->place, bytes);
  return address;
}

Status SimulatedDevice::withdraw_allocation(Address address, const AllocationRecord& record) noexcept {
  if (!config_.backed || !idle_.accepts(record.driver_bytes) || config_.idle_mapping_bytes == 0) {
    return discard(address, record.place, record.driver_bytes);
  }
  idle_.keep({address, record.driver_bytes, record.place});
  while (const auto surplus = idle_.take_surplus()) {
    // Refused by the kernel: it stays out of use, a loss of address space only.
    if (!discard(surplus->address, surplus->place, surplus->bytes).is_ok()) break;
  }
  return {};
}

Status SimulatedDevice::discard(Address address, std::uint64_t place, std::uint64_t bytes) noexcept {
  if (Status status = hide(address, bytes, place, Access::read_write); !status.is_ok()) return status;
  if (Status status = drop_contents(place, bytes); !status.is_ok()) {
    (void)map_views(address, bytes, place, protection_of(Access::read_write));
    return status;
  }
  addresses_.free(address, bytes);
  places_.free(place, bytes);
  return {};
}

Result<Address> SimulatedDevice::provide_range(std::uint64_t bytes, std::uint64_t alignment) noexcept {
  return take_addresses(bytes, alignment);
}

Status SimulatedDevice::withdraw_range(Address base, std::uint64_t bytes) noexcept {
  addresses_.free(base, bytes);
  return {};
}

Status SimulatedDevice::provide_page(PageRecord* page) noexcept {
  auto place = take_place(page->bytes, page->bytes);
  if (!place.is_ok()) return place.take_status();
  page->place = place.value();
  return {};
}

Status SimulatedDevice::withdraw_page(PageRecord* page) noexcept {
  if (Status status = drop_contents(page->place, page->bytes); !status.is_ok()) return status;
  places_.free(page->place, page->bytes);
  return {};
}

Status SimulatedDevice::attach(Address at, PageRecord* page) noexcept {
  return show(at, page->bytes, page->place, Access::none);
}

Status SimulatedDevice::detach(Address at, PageRecord* page) noexcept {
  return hide(at, page->bytes, page->place, page->access);
}

Status SimulatedDevice::shift(Address from, Address to, PageRecord* page) noexcept {
  if (Status status = attach(to, page); !status.is_ok()) return status;
  Status status = detach(from, page);
  if (!status.is_ok()) (void)hide(to, page->bytes, page->place, Access::none);
  return status;
}

Status SimulatedDevice::protect(Address base, std::uint64_t bytes, Access access) noexcept {
  if (!config_.backed) return {};
  guard_.add(kMappingsOfCuts);
  const int protection = protection_of(access);
  int failed = config_.strict ? 0 : system_.protect(base, bytes, protection);
  if (failed == 0) failed = system_.protect(base + window_.bytes, bytes, protection);
  if (failed == 0) return {};
  // Refused, so what was accessible must stay so; more access than before does no harm.
  if (!config_.strict) (void)system_.protect(base, bytes, PROT_READ | PROT_WRITE);
  return kernel_refused("to set access of " + range_text(base, bytes), failed);
}

}  // namespace cistern::device
