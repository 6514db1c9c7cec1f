// VirtualMemory: addresses without memory, physical memory without addresses, and mappings of the one at the other.
//
// One handle of physical memory is a number of pages of the device of 2 MiB each, the granularity of AscendCL. Freeing
// a handle that is mapped happens when it is unmapped.
//
// Thread-safety: all. Cost: a driver call a page.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "acl/runtime/runtime.hpp"
#include "base/units.hpp"

namespace cistern::acl {

inline constexpr std::uint64_t kGranularityBytes = 2 * base::kMiB;

class PhysicalMemory {
 public:
  static Outcome create(std::shared_ptr<Npu> npu, std::uint64_t bytes, const void* caller,
                        std::shared_ptr<PhysicalMemory>* memory);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  const std::shared_ptr<Npu>& npu() const noexcept { return npu_; }
  std::uint64_t bytes() const noexcept { return pages_.size() * kGranularityBytes; }
  const void* caller() const noexcept { return caller_; }
  const std::vector<device::PageHandle>& pages() const noexcept { return pages_; }

 private:
  PhysicalMemory(std::shared_ptr<Npu> npu, const void* caller) noexcept : npu_(std::move(npu)), caller_(caller) {}
  const std::shared_ptr<Npu> npu_;
  const void* const caller_;
  std::vector<device::PageHandle> pages_;
};

class VirtualMemory {
 public:
  explicit VirtualMemory(Runtime& runtime) noexcept : runtime_(runtime) {}

  Outcome reserve(const std::shared_ptr<Npu>& npu, std::uint64_t bytes, const void* caller, void** address);
  Outcome release(const void* address);
  Outcome map(const void* address, std::uint64_t bytes, const std::shared_ptr<PhysicalMemory>& memory,
              const void* caller);
  Outcome unmap(const void* address);
  Outcome set_access(const void* address, std::uint64_t bytes, device::Access access);

  void list(const Npu* npu, std::vector<LeftItem>* items) const;
  void end(const Npu* npu);

 private:
  struct Reservation {
    std::shared_ptr<Npu> npu;
    std::uint64_t bytes = 0;
    const void* caller = nullptr;
  };
  using Mapping = std::shared_ptr<PhysicalMemory>;  // by its first address

  Outcome find_room(std::uint64_t at, const PhysicalMemory& memory) const;
  Outcome unmap_locked(std::map<std::uint64_t, Mapping>::iterator place);

  Runtime& runtime_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Reservation> reservations_;
  std::map<std::uint64_t, Mapping> mappings_;
};

VirtualMemory& virtual_memory();
Handles<PhysicalMemory>& physical_memory();
std::unique_ptr<Inventory> virtual_memory_inventory();

}  // namespace cistern::acl
