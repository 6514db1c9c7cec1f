// SimulatedDevice: an NPU that is not there: a capacity, a driver that takes its time, and memory that can be looked
// at.
//
// Memory is one sparse file in memory, mapped twice: at the device address, and at an alias a constant distance above
// it. Whoever plays the device (an engine, a kernel of a test) uses the alias; in strict mode the device address itself
// traps on any access, as it would on a real NPU. Without backing there are only numbers. Freed memory goes back to the
// host at once.
//
// Time is modelled: every successful call adds its cost to a sum, which is the device's virtual clock; with
// wait_for_real the caller waits that long as well. Refused calls cost nothing. Work that is submitted to a stream has
// a duration of its own, on the stream's own timeline (work_time.hpp).
//
// Thread-safety: all; waiting happens outside the lock.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.hpp"
#include "device/address_allocator.hpp"
#include "device/host_system.hpp"
#include "device/idle_mappings.hpp"
#include "device/latency_model.hpp"
#include "device/map_count_guard.hpp"
#include "device/native_codes.hpp"
#include "device/number_window.hpp"
#include "device/tracked_device.hpp"

namespace cistern::device {

struct SimulatedConfig {
  std::uint32_t ordinal = 0;
  std::uint64_t capacity_bytes = std::uint64_t{32} << 30;
  LatencyModel latency;
  bool backed = true;       // false: addresses only, contents are unsupported
  bool strict = false;      // device addresses trap; only the alias can be followed
  bool move_pages = false;  // real NPUs unmap and map
  // Freed allocations that stay mapped for the next one of their size: saves the simulator's own time, nothing else.
  std::uint64_t idle_mapping_bytes = 0;
  DriverRounding rounding;  // how much of the device an allocation takes
  // How work on streams takes its time. Null: on the virtual clock, which a wait of the host's moves to the work's end;
  // with wait_for_real, for real.
  std::shared_ptr<WorkTime> work_time = nullptr;
  friend bool operator==(const SimulatedConfig&, const SimulatedConfig&) = default;
};

class SimulatedDevice final : public TrackedDevice {
 public:
  // `system` must outlive the device.
  static base::Result<std::shared_ptr<SimulatedDevice>> create(const SimulatedConfig& config = {},
                                                               HostSystem& system = HostSystem::real()) noexcept;
  ~SimulatedDevice() override;

  // Stands at the sum of the modelled cost of all calls so far.
  const base::Clock& virtual_clock() const noexcept { return clock_; }

 protected:
  base::Result<Address> provide_allocation(AllocationRecord* record) noexcept override;
  base::Status withdraw_allocation(Address address, const AllocationRecord& record) noexcept override;
  base::Result<Address> provide_range(std::uint64_t bytes, std::uint64_t alignment) noexcept override;
  base::Status withdraw_range(Address base, std::uint64_t bytes) noexcept override;
  base::Status provide_page(PageRecord* page) noexcept override;
  base::Status withdraw_page(PageRecord* page) noexcept override;
  base::Status attach(Address at, PageRecord* page) noexcept override;
  base::Status detach(Address at, PageRecord* page) noexcept override;
  base::Status shift(Address from, Address to, PageRecord* page) noexcept override;
  base::Status protect(Address base, std::uint64_t bytes, Access access) noexcept override;
  std::byte* host_pointer(Address at) const noexcept override;
  std::uint64_t cost_ns(Operation operation, std::uint64_t quantity) noexcept override;
  void elapse(std::uint64_t nanoseconds) noexcept override;

 private:
  // Where the device's addresses are: numbers, or two views of `bytes` each of this process's address space.
  struct Window {
    NumberWindow numbers;
    Address base = 0;
    std::uint64_t bytes = 0;
    int file = -1;
  };

  static base::Result<Window> open_window(const SimulatedConfig& config, HostSystem& system) noexcept;
  SimulatedDevice(const SimulatedConfig& config, HostSystem& system, Window window);
  base::Result<Address> take_addresses(std::uint64_t bytes, std::uint64_t alignment) noexcept;
  base::Result<std::uint64_t> take_place(std::uint64_t bytes, std::uint64_t alignment) noexcept;
  int map_views(Address at, std::uint64_t bytes, std::uint64_t place, int protection) noexcept;
  base::Status show(Address at, std::uint64_t bytes, std::uint64_t place, Access access) noexcept;
  base::Status hide(Address at, std::uint64_t bytes, std::uint64_t place, Access access) noexcept;
  base::Status discard(Address address, std::uint64_t place, std::uint64_t bytes) noexcept;
  base::Status drop_contents(std::uint64_t place, std::uint64_t bytes) noexcept;

  HostSystem& system_;
  SimulatedConfig config_;
  Window window_;
  MapCountGuard guard_;
  AddressAllocator addresses_;
  AddressAllocator places_;  // offsets in the file
  IdleMappings idle_;
  LatencyDraws draws_;
  base::ManualClock clock_;
};

}  // namespace cistern::device
