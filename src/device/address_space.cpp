#include "device/address_space.hpp"

#include <string>
#include <utility>

#include "base/bits.hpp"
#include "device/text.hpp"

namespace cistern::device {

using base::Status;
using base::StatusCode;

namespace {

constexpr unsigned kGenerationShift = 32;

std::uint32_t page_number(PageHandle handle) noexcept {
  return static_cast<std::uint32_t>(handle) - 1;  // kNoPage wraps to a number no page has
}

}  // namespace

AddressSpace::AddressSpace(std::uint64_t min_page_bytes, std::uint64_t max_page_bytes) noexcept
    : min_page_bytes_(min_page_bytes), max_page_bytes_(max_page_bytes) {}

// --- Driver allocations ------------------------------------------------------------------------

void AddressSpace::add_allocation(Address address, const AllocationRecord& record) {
  allocations_.emplace(address, record);
}

Status AddressSpace::check_free(Address address, AllocationRecord* record) const {
  auto after = allocations_.upper_bound(address);
  if (after != allocations_.begin()) {
    const auto& [start, found] = *std::prev(after);
    if (start == address) {
      *record = found;
      return {};
    }
    if (address - start < found.bytes) {
      return base::invalid_argument(hex(address) + " lies inside the allocation " + range_text(start, found.bytes) +
                                    "; free exactly the address that malloc returned");
    }
  }
  return base::not_found(hex(address) + " is no driver allocation of this device (freed before, or foreign)");
}

void AddressSpace::remove_allocation(Address address) noexcept { allocations_.erase(address); }

// --- Reservations ------------------------------------------------------------------------------

Status AddressSpace::check_reserve(std::uint64_t bytes, std::uint64_t alignment) const {
  if (bytes == 0 || !base::is_aligned(bytes, min_page_bytes_)) {
    return base::invalid_argument("a reservation of " + in_bytes(bytes) +
                                  " is not a positive multiple of the smallest page, " + in_bytes(min_page_bytes_));
  }
  if (!base::is_power_of_two(alignment) || alignment < min_page_bytes_) {
    return base::invalid_argument("alignment " + std::to_string(alignment) +
                                  " of a reservation is not a power of two of at least " + in_bytes(min_page_bytes_));
  }
  return {};
}

Status AddressSpace::add_reservation(Address base, std::uint64_t bytes) {
  auto table = base::LazyTable<std::uint32_t>::create(bytes / min_page_bytes_);
  if (!table.is_ok()) return table.take_status();
  Reservation reservation;
  reservation.bytes = bytes;
  reservation.pages = table.take();
  reservations_.emplace(base, std::move(reservation));
  return {};
}

Status AddressSpace::check_release(Address base, std::uint64_t bytes) const {
  auto found = reservations_.find(base);
  if (found == reservations_.end()) {
    return base::not_found("no reservation of this device begins at " + hex(base));
  }
  if (found->second.bytes != bytes) {
    return base::invalid_argument("the reservation at " + hex(base) + " has " + in_bytes(found->second.bytes) +
                                  ", not " + in_bytes(bytes) + "; release it whole");
  }
  if (found->second.mapped_pages != 0) {
    return Status(StatusCode::busy, "the reservation " + range_text(base, bytes) + " still holds " +
                                        std::to_string(found->second.mapped_pages) + " mapped pages; unmap them first");
  }
  return {};
}

void AddressSpace::remove_reservation(Address base) noexcept { reservations_.erase(base); }

Status AddressSpace::find_site(Address at, std::uint64_t bytes, Site* site) {
  auto after = reservations_.upper_bound(at);
  if (after != reservations_.begin()) {
    auto& [start, reservation] = *std::prev(after);
    const std::uint64_t offset = at - start;
    if (offset < reservation.bytes && bytes <= reservation.bytes - offset) {
      *site = {&reservation, offset / min_page_bytes_, bytes / min_page_bytes_};
      return {};
    }
  }
  return base::not_found(range_text(at, bytes) + " is not inside one reservation of this device");
}

// --- Pages -------------------------------------------------------------------------------------

Status AddressSpace::check_page_bytes(std::uint64_t page_bytes) const {
  if (base::is_power_of_two(page_bytes) && page_bytes >= min_page_bytes_ && page_bytes <= max_page_bytes_) {
    return {};
  }
  return base::invalid_argument("page size " + std::to_string(page_bytes) + " is not a power of two from " +
                                std::to_string(min_page_bytes_) + " to " + in_bytes(max_page_bytes_));
}

PageHandle AddressSpace::add_page(const PageRecord& record) {
  std::uint32_t number = 0;
  if (free_pages_.empty()) {
    number = static_cast<std::uint32_t>(pages_.size());
    pages_.emplace_back();
  } else {
    number = free_pages_.back();
    free_pages_.pop_back();
  }
  PageRecord& page = pages_[number];
  const std::uint32_t generation = page.generation + 1;
  page = record;
  page.generation = generation;
  page.in_use = true;
  return (static_cast<PageHandle>(generation) << kGenerationShift) | (number + 1);
}

Status AddressSpace::find_page(PageHandle handle, PageRecord** page) {
  const std::uint32_t number = page_number(handle);
  if (number < pages_.size()) {
    PageRecord& found = pages_[number];
    if (found.in_use && found.generation == handle >> kGenerationShift) {
      *page = &found;
      return {};
    }
  }
  return base::not_found(hex(handle) + " is no page of this device (destroyed before, or foreign)");
}

Status AddressSpace::check_destroy(PageHandle handle, PageRecord** page) {
  if (Status found = find_page(handle, page); !found.is_ok()) return found;
  if ((*page)->mapped_at == 0) return {};
  return Status(StatusCode::busy, "page " + hex(handle) + " is mapped at " + hex((*page)->mapped_at) +
                                      "; unmap it before it is destroyed");
}

void AddressSpace::remove_page(PageHandle handle) {
  const std::uint32_t number = page_number(handle);
  pages_[number].in_use = false;
  free_pages_.push_back(number);
}

Status AddressSpace::check_vacant(Address at, const PageRecord& page, Site* site) {
  if (!base::is_aligned(at, page.bytes)) {
    return base::invalid_argument(hex(at) + " is not a multiple of the page's size, " + in_bytes(page.bytes));
  }
  if (Status found = find_site(at, page.bytes, site); !found.is_ok()) return found;
  for (std::uint64_t i = 0; i < site->count; ++i) {
    if (const PageRecord* there = page_at(*site, i)) {
      return Status(StatusCode::busy,
                    "a page of " + in_bytes(there->bytes) + " is mapped at " + hex(there->mapped_at) + " already");
    }
  }
  return {};
}

Status AddressSpace::check_map(Address at, PageHandle handle, PageRecord** page, Site* site) {
  if (Status found = find_page(handle, page); !found.is_ok()) return found;
  if ((*page)->mapped_at != 0) {
    return Status(StatusCode::busy,
                  "page " + hex(handle) + " is mapped at " + hex((*page)->mapped_at) + " already; unmap it first");
  }
  return check_vacant(at, **page, site);
}

void AddressSpace::commit_map(Address at, PageHandle handle, PageRecord* page, const Site& site) noexcept {
  page->mapped_at = at;
  page->access = Access::none;
  ++site.reservation->mapped_pages;
  const std::uint32_t entry = page_number(handle) + 1;
  for (std::uint64_t i = 0; i < site.count; ++i) site.reservation->pages[site.first + i] = entry;
}

Status AddressSpace::check_unmap(Address at, PageHandle handle, PageRecord** page, Site* site) {
  if (Status found = find_page(handle, page); !found.is_ok()) return found;
  if ((*page)->mapped_at != at || at == 0) {
    return base::invalid_argument("page " + hex(handle) + " is not mapped at " + hex(at) + " but " +
                                  ((*page)->mapped_at == 0 ? std::string("nowhere") : "at " + hex((*page)->mapped_at)));
  }
  return find_site(at, (*page)->bytes, site);
}

void AddressSpace::commit_unmap(PageRecord* page, const Site& site) noexcept {
  page->mapped_at = 0;
  page->access = Access::none;
  --site.reservation->mapped_pages;
  for (std::uint64_t i = 0; i < site.count; ++i) site.reservation->pages[site.first + i] = 0;
}

Status AddressSpace::check_move(Address from, Address to, PageHandle handle, PageRecord** page, Site* source,
                                Site* target) {
  if (Status found = check_unmap(from, handle, page, source); !found.is_ok()) return found;
  return check_vacant(to, **page, target);
}

PageRecord* AddressSpace::page_at(const Site& site, std::uint64_t index) noexcept {
  const std::uint32_t entry = site.reservation->pages[site.first + index];
  return entry == 0 ? nullptr : &pages_[entry - 1];
}

Status AddressSpace::check_access(Address base, std::uint64_t bytes, std::uint64_t* page_count) {
  if (bytes == 0 || !base::is_aligned(base | bytes, min_page_bytes_)) {
    return base::invalid_argument("access to " + range_text(base, bytes) + " does not cover whole pages");
  }
  Site site;
  if (Status found = find_site(base, bytes, &site); !found.is_ok()) return found;
  *page_count = 0;
  for (std::uint64_t i = 0; i < site.count;) {
    const PageRecord* page = page_at(site, i);
    const Address here = base + i * min_page_bytes_;
    if (page == nullptr) {
      return base::invalid_argument("no page is mapped at " + hex(here) + " in " + range_text(base, bytes));
    }
    if (page->mapped_at != here || page->bytes > base + bytes - here) {
      return base::invalid_argument("access to " + range_text(base, bytes) + " cuts the page at " +
                                    hex(page->mapped_at) + " of " + in_bytes(page->bytes));
    }
    ++*page_count;
    i += page->bytes / min_page_bytes_;
  }
  return {};
}

void AddressSpace::commit_access(Address base, std::uint64_t bytes, Access access) noexcept {
  Site site;
  if (!find_site(base, bytes, &site).is_ok()) return;
  for (std::uint64_t i = 0; i < site.count;) {
    PageRecord* page = page_at(site, i);
    page->access = access;
    i += page->bytes / min_page_bytes_;
  }
}

Status AddressSpace::check_contents(Address at, std::uint64_t bytes) {
  if (auto after = allocations_.upper_bound(at); after != allocations_.begin()) {
    const auto& [start, record] = *std::prev(after);
    const std::uint64_t offset = at - start;
    if (offset < record.bytes) {
      if (bytes <= record.bytes - offset) return {};
      return base::invalid_argument(range_text(at, bytes) + " ends beyond the allocation " +
                                    range_text(start, record.bytes));
    }
  }
  Site site;
  if (Status found = find_site(at, bytes, &site); !found.is_ok()) {
    return base::not_found(range_text(at, bytes) + " is not memory of this device");
  }
  const Address end = at + bytes;
  const Address first = base::round_down(at, min_page_bytes_);
  for (Address here = first; here < end;) {
    const PageRecord* page = page_at(site, (here - first) / min_page_bytes_);
    if (page == nullptr) {
      return base::invalid_argument("no page is mapped at " + hex(here) + " in " + range_text(at, bytes));
    }
    if (page->access == Access::none) {
      return base::invalid_argument("the page at " + hex(page->mapped_at) +
                                    " has no access; call set_access after map");
    }
    here = page->mapped_at + page->bytes;
  }
  return {};
}

}  // namespace cistern::device
