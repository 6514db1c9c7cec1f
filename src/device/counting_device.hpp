// CountingDevice: addresses and counters, no memory.
//
// Replay, tuning and property tests run the real pool at sizes that no test machine has; all they need of a device is
// that addresses are distinct, misuse is refused and calls are counted. Addresses are numbers above everything that the
// host's address space can hold, so that following one traps, and none is ever equal to a real pointer or to an address
// of another counting device alive in this process.
//
// Thread-safety: all. Cost: about a hundred nanoseconds a call, whatever the sizes.
#pragma once

#include <cstdint>
#include <memory>

#include "device/address_allocator.hpp"
#include "device/number_window.hpp"
#include "device/tracked_device.hpp"

namespace cistern::device {

struct CountingConfig {
  std::uint32_t ordinal = 0;
  std::uint64_t capacity_bytes = 0;  // 0: no limit that matters (1 EiB)
  bool move_pages = true;
  DriverRounding rounding{512, ~0ULL, 512};  // exact sizes, unless a driver's rounding is wanted
  // Submitted work is complete at once, or when it is stepped (TrackedDevice::step) or waited for; or threads do it.
  Completion completion = Completion::immediate;
  friend bool operator==(const CountingConfig&, const CountingConfig&) = default;
};

class CountingDevice final : public TrackedDevice {
 public:
  static base::Result<std::shared_ptr<CountingDevice>> create(const CountingConfig& config = {}) noexcept;
  ~CountingDevice() override;

 protected:
  base::Result<Address> provide_allocation(AllocationRecord* record) noexcept override;
  base::Status withdraw_allocation(Address address, const AllocationRecord& record) noexcept override;
  base::Result<Address> provide_range(std::uint64_t bytes, std::uint64_t alignment) noexcept override;
  base::Status withdraw_range(Address base, std::uint64_t bytes) noexcept override;
  base::Status provide_page(PageRecord*) noexcept override { return {}; }
  base::Status withdraw_page(PageRecord*) noexcept override { return {}; }
  base::Status attach(Address, PageRecord*) noexcept override { return {}; }
  base::Status detach(Address, PageRecord*) noexcept override { return {}; }
  base::Status shift(Address, Address, PageRecord*) noexcept override { return {}; }
  base::Status protect(Address, std::uint64_t, Access) noexcept override { return {}; }
  std::byte* host_pointer(Address) const noexcept override { return nullptr; }

 private:
  CountingDevice(const CountingConfig& config, NumberWindow window);
  base::Result<Address> take_addresses(std::uint64_t bytes, std::uint64_t alignment) noexcept;

  NumberWindow window_;
  AddressAllocator addresses_;
  base::ManualClock clock_;  // of submitted work
};

}  // namespace cistern::device
