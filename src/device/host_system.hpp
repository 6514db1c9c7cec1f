// HostSystem: the kernel calls of devices that keep memory in this process, as an interface.
//
// What matters in a memory manager is what it does when the kernel says no: no huge pages, no more mappings, no room.
// Tests say no through this interface at any call; everybody else uses HostSystem::real().
//
// Thread-safety: all. Every call returns 0 or an errno.
#pragma once

#include <cstdint>

namespace cistern::device {

class HostSystem {
 public:
  static HostSystem& real() noexcept;
  HostSystem() = default;
  HostSystem(const HostSystem&) = delete;
  HostSystem& operator=(const HostSystem&) = delete;
  virtual ~HostSystem() = default;

  // mmap. `*address` is the hint (or the place, with MAP_FIXED) and becomes the result.
  virtual int map(std::uint64_t* address, std::uint64_t bytes, int protection, int flags, int file,
                  std::uint64_t offset) noexcept;
  virtual int unmap(std::uint64_t address, std::uint64_t bytes) noexcept;
  virtual int protect(std::uint64_t address, std::uint64_t bytes, int protection) noexcept;
  virtual int advise(std::uint64_t address, std::uint64_t bytes, int advice) noexcept;
  // The memory at `from` is at `to` afterwards, and `from` stays mapped, empty, with its protection.
  virtual int move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept;
  // Gives the memory behind part of a file back; it reads as zeros afterwards.
  virtual int punch(int file, std::uint64_t offset, std::uint64_t bytes) noexcept;

  virtual std::uint64_t physical_bytes() noexcept;
  virtual std::uint64_t available_bytes() noexcept;  // what the kernel could give without swapping
  virtual std::uint64_t map_count() noexcept;        // mappings of this process now; linear in their number
  virtual std::uint64_t max_map_count() noexcept;    // vm.max_map_count

  // In terms of the above: addresses without memory at a multiple of `alignment`, and their return to that state.
  int map_aligned(std::uint64_t* address, std::uint64_t bytes, std::uint64_t alignment, int protection,
                  int flags) noexcept;
  int seal(std::uint64_t address, std::uint64_t bytes) noexcept;
};

}  // namespace cistern::device
