// HostDevice: this machine's memory as a device, the default of an embedded pool.
//
// Memory is anonymous, in huge pages where the kernel gives them and in normal ones elsewhere. A page that was never
// mapped is only a record. The first map of a page uses the memory that its addresses get anyway; a page that leaves
// its addresses takes its memory along: mremap moves it to a parking slot, or to its next place, without a copy, and
// the addresses it leaves stay reserved at every instant. A stream is a thread; what it is given to do takes the time
// that it takes, and as long as its duration says at least.
//
// One liberty: a page that is mapped again may be accessible before set_access; callers must not count on it.
//
// Thread-safety: all. Cost: a few microseconds a page operation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "device/host_system.hpp"
#include "device/map_count_guard.hpp"
#include "device/parking.hpp"
#include "device/tracked_device.hpp"

namespace cistern::device {

struct HostConfig {
  std::uint32_t ordinal = 0;
  std::uint64_t capacity_bytes = 0;  // 0: the machine's physical memory
  bool huge_pages = true;            // try them first
  std::uint64_t max_mappings = 0;    // of the process; 0: vm.max_map_count
  std::uint64_t mapping_headroom = 1024;
  std::shared_ptr<WorkTime> work_time = nullptr;  // how work on streams takes its time; null: for real
  friend bool operator==(const HostConfig&, const HostConfig&) = default;
};

class HostDevice final : public TrackedDevice {
 public:
  // `system` must outlive the device.
  static base::Result<std::shared_ptr<HostDevice>> create(const HostConfig& config = {},
                                                          HostSystem& system = HostSystem::real()) noexcept;
  ~HostDevice() override;

  base::Status check_page_moves(std::uint64_t pages, std::uint64_t ranges) noexcept override;

  // Allocations and pages that asked for huge pages and got normal ones.
  std::uint64_t huge_page_fallbacks() const noexcept { return huge_page_fallbacks_.load(std::memory_order_relaxed); }

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
  std::byte* host_pointer(Address at) const noexcept override { return reinterpret_cast<std::byte*>(at); }
  std::uint64_t available_bytes() const noexcept override { return system_.available_bytes(); }

 private:
  HostDevice(const HostConfig& config, HostSystem& system);
  void prefer_huge_pages(Address at, std::uint64_t bytes) noexcept;
  base::Status move_memory(Address from, Address to, std::uint64_t bytes) noexcept;
  base::Status close_source(Address from, Address to, std::uint64_t bytes) noexcept;

  HostSystem& system_;
  HostConfig config_;
  MapCountGuard guard_;
  Parking parking_;
  std::atomic<std::uint64_t> huge_page_fallbacks_{0};
};

}  // namespace cistern::device
