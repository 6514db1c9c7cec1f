// Parking: addresses where unmapped pages of the host device wait with their contents.
//
// The host has no handle for memory that is mapped nowhere, so a page that is taken out of a pool's range is moved to a
// slot here. Slots are as long and as aligned as their page, so that a huge page moves as one entry.
//
// Thread-safety: none; the device's lock covers it.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"
#include "device/host_system.hpp"

namespace cistern::device {

class Parking {
 public:
  explicit Parking(HostSystem& system) noexcept : system_(system) {}
  ~Parking();  // gives all slots back, and what is in them
  Parking(const Parking&) = delete;
  Parking& operator=(const Parking&) = delete;

  base::Result<Address> take(std::uint64_t page_bytes) noexcept;
  void give(Address slot, std::uint64_t page_bytes) noexcept;

 private:
  std::vector<Address>& free_slots(std::uint64_t page_bytes) noexcept;

  HostSystem& system_;
  std::array<std::vector<Address>, 64> free_;  // by the page size's power of two
  std::vector<std::pair<Address, std::uint64_t>> ranges_;
};

}  // namespace cistern::device
