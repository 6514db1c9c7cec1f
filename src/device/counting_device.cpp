#include "device/counting_device.hpp"

#include <cerrno>
#include <utility>

#include "base/units.hpp"
#include "device/text.hpp"

namespace cistern::device {

using base::Result;
using base::Status;
using base::StatusCode;

namespace {

constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 60;

DeviceInfo describe(const CountingConfig& config) {
  DeviceInfo info;
  info.kind = "counting";
  info.ordinal = config.ordinal;
  info.total_bytes = config.capacity_bytes == 0 ? kUnlimited : config.capacity_bytes;
  info.description = "addresses and counters without memory";
  if (config.capacity_bytes != 0) info.description += ", capacity " + base::format_bytes(config.capacity_bytes);
  info.min_page_bytes = 64 * base::kKiB;
  info.max_page_bytes = 2 * base::kMiB;
  info.capabilities.pages = true;
  info.capabilities.move_pages = config.move_pages;
  info.capabilities.events = true;
  return info;
}

}  // namespace

Result<std::shared_ptr<CountingDevice>> CountingDevice::create(const CountingConfig& config) noexcept {
  auto window = NumberWindow::acquire();
  if (!window.is_ok()) return window.take_status();
  return std::shared_ptr<CountingDevice>(new CountingDevice(config, window.take()));
}

CountingDevice::CountingDevice(const CountingConfig& config, NumberWindow window)
    : TrackedDevice(describe(config), config.rounding, ENOMEM, config.completion,
                    std::make_shared<VirtualWorkTime>(clock_)),
      window_(std::move(window)),
      addresses_(window_.base(), NumberWindow::kBytes) {}

CountingDevice::~CountingDevice() { drain_streams(); }

Result<Address> CountingDevice::provide_allocation(AllocationRecord* record) noexcept {
  return take_addresses(record->driver_bytes, info().alignment_bytes);
}

Status CountingDevice::withdraw_allocation(Address address, const AllocationRecord& record) noexcept {
  addresses_.free(address, record.driver_bytes);
  return {};
}

Result<Address> CountingDevice::provide_range(std::uint64_t bytes, std::uint64_t alignment) noexcept {
  return take_addresses(bytes, alignment);
}

Status CountingDevice::withdraw_range(Address base, std::uint64_t bytes) noexcept {
  addresses_.free(base, bytes);
  return {};
}

Result<Address> CountingDevice::take_addresses(std::uint64_t bytes, std::uint64_t alignment) noexcept {
  if (auto address = addresses_.allocate(bytes, alignment)) return *address;
  return Status(StatusCode::out_of_memory,
                in_bytes(bytes) + " of addresses do not fit: the largest free range of the device has " +
                    in_bytes(addresses_.largest_hole()),
                out_of_memory_code());
}

}  // namespace cistern::device
