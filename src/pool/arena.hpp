// Arena: one contiguous range of device addresses that a pool divides, with the bookkeeping of its blocks.
//
// Three kinds: expandable (addresses reserved once, pages mapped where they are needed), driver (one driver
// allocation), direct (a driver allocation for a single oversize request). Offsets of the suballocator begin at an
// address that is a multiple of kMaxAlignment, so that an aligned offset is an aligned address whatever base the driver
// returned; the offsets below the base are a guard block that stays `moving` for ever and is nobody's.
//
// Thread-safety: the pool's lock for everything but the page calls; those touch only ranges that the caller has made
// moving, and run without the lock because they call the driver.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/lazy_table.hpp"
#include "base/result.hpp"
#include "core/suballocator.hpp"
#include "device/device.hpp"
#include "pool/snapshot.hpp"

namespace cistern::pool {

// Largest alignment that a request may ask for: the largest page that devices have.
inline constexpr std::uint64_t kMaxAlignment = std::uint64_t{1} << 30;

class Arena {
 public:
  // Reserves `range_bytes` of addresses; if the device refuses, half as many, down to `least_bytes`.
  static base::Result<std::unique_ptr<Arena>> create_expandable(device::Device& device, core::FitPolicy policy,
                                                                std::uint64_t page_bytes, std::uint64_t range_bytes,
                                                                std::uint64_t least_bytes);
  // One driver allocation of `bytes` (a multiple of 512).
  static base::Result<std::unique_ptr<Arena>> create_driver(device::Device& device, core::FitPolicy policy,
                                                            std::uint64_t bytes, ArenaKind kind);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  // The owner calls give_back() before; a device that refuses it then is left with the memory, and the log says so.
  ~Arena() = default;

  // Returns everything to the device: unmaps every page (appended to `pages`) and releases the addresses, or frees the
  // driver allocation. On failure what could not be returned stays, and the call may be repeated.
  base::Status give_back(std::vector<device::PageHandle>* pages);

  device::Device& device() const noexcept { return *device_; }
  ArenaKind kind() const noexcept { return kind_; }
  // A direct arena whose driver refused to take it back serves on as an ordinary one.
  void become_driver_arena() noexcept { kind_ = ArenaKind::driver; }
  device::Address base() const noexcept { return base_; }
  std::uint64_t range_bytes() const noexcept { return range_bytes_; }
  std::uint64_t page_bytes() const noexcept { return page_bytes_; }  // 0: not made of pages
  std::uint64_t mapped_bytes() const noexcept { return mapped_bytes_; }
  void add_mapped_bytes(std::int64_t delta) noexcept { mapped_bytes_ += static_cast<std::uint64_t>(delta); }
  // Offsets below this are the guard.
  std::uint64_t first_offset() const noexcept { return base_ - origin_; }

  bool contains(device::Address address) const noexcept { return address - base_ < range_bytes_; }
  std::uint64_t offset_of(device::Address address) const noexcept { return address - origin_; }
  device::Address address_of(std::uint64_t offset) const noexcept { return origin_ + offset; }
  core::Suballocator& blocks() noexcept { return *blocks_; }
  const core::Suballocator& blocks() const noexcept { return *blocks_; }
  // No live block, nothing pending, under way or registered: the whole arena may go back to the driver.
  bool is_wholly_free() const noexcept;
  // Registered memory is known to others by its pages. False: not a range, or not a registration, of this arena.
  bool register_range(core::Range range) noexcept;
  bool unregister_range(core::Range range) noexcept;

  // --- Pages: offsets are page-aligned and lie in moving blocks ---------------------------------------------------
  device::PageHandle page_at(std::uint64_t offset) const noexcept {
    return page_of_[offset >> page_shift_].load(std::memory_order_relaxed);
  }
  base::Status map_page(std::uint64_t offset, device::PageHandle page) noexcept;
  base::Result<device::PageHandle> unmap_page(std::uint64_t offset) noexcept;
  // The page at `from` lies at `to` afterwards, in one call of the driver; for devices that can.
  base::Status move_page(std::uint64_t from, std::uint64_t to) noexcept;
  base::Status enable_access(core::Range range) noexcept;
  // Grows whenever a page of the range comes or goes; 0: never. Any thread, for a range that is its own.
  std::uint64_t backing_generation(core::Range range) const noexcept;
  // Runs of mapped pages, ascending. Under the lock.
  std::vector<ExtentSnapshot> extents() const;

 private:
  Arena(device::Device& device, ArenaKind kind) noexcept : device_(&device), kind_(kind) {}
  base::Status divide(core::FitPolicy policy, bool filled);
  void set_page(std::uint64_t offset, device::PageHandle page) noexcept {
    page_of_[offset >> page_shift_].store(page, std::memory_order_relaxed);
    changed_at_[offset >> page_shift_].store(++generation_, std::memory_order_relaxed);
  }

  device::Device* device_;
  ArenaKind kind_;
  device::Address base_ = 0;
  device::Address origin_ = 0;  // offset 0: base rounded down to kMaxAlignment
  std::uint64_t range_bytes_ = 0;
  std::uint64_t page_bytes_ = 0;
  unsigned page_shift_ = 0;
  std::uint64_t mapped_bytes_ = 0;
  std::uint64_t registrations_ = 0;
  std::unique_ptr<core::Suballocator> blocks_;
  // By page number. Atomic because a snapshot may look at a range whose pages are under way.
  base::LazyTable<std::atomic<device::PageHandle>> page_of_;
  base::LazyTable<std::atomic<std::uint64_t>> changed_at_;  // by page number: the generation of its last change
  std::uint64_t generation_ = 0;                            // changes of pages; by whoever has the pool's turn
};

}  // namespace cistern::pool
