// AddressSpace: what a device knows of its own allocations, reservations and pages, and the place where misuse is
// noticed.
//
// Every device needs the same bookkeeping: which ranges were given out, which page is where, who may touch it. It is
// kept once, here, apart from any memory, so that a wrong call (a second map of one page, an unmap of a page that is
// somewhere else, a release of a range that still holds pages, a free of a foreign address) is refused with the same
// clear text by every device before the driver is asked at all. Each operation is a pair: a check that changes nothing,
// and a commit for after the driver has agreed.
//
// Thread-safety: none; the device's lock covers it. Cost: pages are found in constant time through a lazily backed
// table with an entry per smallest page; ranges in the logarithm of their number.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/lazy_table.hpp"
#include "base/status.hpp"
#include "device/device.hpp"

namespace cistern::device {

struct AllocationRecord {
  std::uint64_t bytes = 0;         // as asked for
  std::uint64_t driver_bytes = 0;  // as the driver rounds it: what the device has less
  std::uint64_t place = 0;         // the device's own: where the memory is
  std::uint64_t cookie = 0;        // the device's own
};

struct PageRecord {
  std::uint64_t bytes = 0;
  Address mapped_at = 0;    // 0: not mapped
  std::uint64_t place = 0;  // the device's own: where the memory is
  std::uint32_t generation = 0;
  Access access = Access::none;
  bool in_use = false;
};

struct Reservation {
  std::uint64_t bytes = 0;
  std::uint64_t mapped_pages = 0;
  base::LazyTable<std::uint32_t> pages;  // an entry per smallest page: number of the page there + 1, or 0
};

class AddressSpace {
 public:
  // Part of a reservation, counted in smallest pages.
  struct Site {
    Reservation* reservation = nullptr;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };

  AddressSpace(std::uint64_t min_page_bytes, std::uint64_t max_page_bytes) noexcept;

  // --- Driver allocations ----------------------------------------------------------------------------------------
  void add_allocation(Address address, const AllocationRecord& record);
  base::Status check_free(Address address, AllocationRecord* record) const;
  void remove_allocation(Address address) noexcept;

  // --- Reservations ----------------------------------------------------------------------------------------------
  base::Status check_reserve(std::uint64_t bytes, std::uint64_t alignment) const;
  base::Status add_reservation(Address base, std::uint64_t bytes);
  base::Status check_release(Address base, std::uint64_t bytes) const;
  void remove_reservation(Address base) noexcept;

  // --- Pages -----------------------------------------------------------------------------------------------------
  base::Status check_page_bytes(std::uint64_t page_bytes) const;
  PageHandle add_page(const PageRecord& record);
  base::Status check_destroy(PageHandle handle, PageRecord** page);
  void remove_page(PageHandle handle);
  base::Status check_map(Address at, PageHandle handle, PageRecord** page, Site* site);
  void commit_map(Address at, PageHandle handle, PageRecord* page, const Site& site) noexcept;
  base::Status check_unmap(Address at, PageHandle handle, PageRecord** page, Site* site);
  void commit_unmap(PageRecord* page, const Site& site) noexcept;
  base::Status check_move(Address from, Address to, PageHandle handle, PageRecord** page, Site* source, Site* target);
  base::Status check_access(Address base, std::uint64_t bytes, std::uint64_t* page_count);
  void commit_access(Address base, std::uint64_t bytes, Access access) noexcept;

  // Every byte of the range is in one driver allocation, or in neighbouring pages with access.
  base::Status check_contents(Address at, std::uint64_t bytes);

  const std::map<Address, AllocationRecord>& allocations() const noexcept { return allocations_; }
  const std::map<Address, Reservation>& reservations() const noexcept { return reservations_; }
  std::uint64_t page_count() const noexcept { return pages_.size() - free_pages_.size(); }

 private:
  base::Status find_page(PageHandle handle, PageRecord** page);
  base::Status find_site(Address at, std::uint64_t bytes, Site* site);
  base::Status check_vacant(Address at, const PageRecord& page, Site* site);
  PageRecord* page_at(const Site& site, std::uint64_t index) noexcept;

  std::uint64_t min_page_bytes_;
  std::uint64_t max_page_bytes_;
  std::map<Address, AllocationRecord> allocations_;
  std::map<Address, Reservation> reservations_;
  std::deque<PageRecord> pages_;  // records never move: devices hold pointers during a call
  std::vector<std::uint32_t> free_pages_;
};

}  // namespace cistern::device
