// MapCountGuard: keeps a device from running the process into vm.max_map_count.
//
// The kernel allows a process a number of mappings (65,530 by default), and at the limit even munmap may fail, in any
// library. Every moved page is a mapping of its own, so a device can get there. The guard counts what the device's
// calls can have added at worst; when that sum would reach the limit it asks the kernel for the truth, which is
// usually far less because neighbours are joined, and only when the truth is near the limit too it refuses. A head-room
// is left for everybody else and for the calls that give memory back.
//
// Thread-safety: none; the device's lock covers it. Cost: nothing, but a count of all mappings (about 0.5 us each)
// whenever the sum has used up what was left.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "device/host_system.hpp"

namespace cistern::device {

class MapCountGuard {
 public:
  // `limit` 0: the kernel's.
  MapCountGuard(HostSystem& system, std::uint64_t limit, std::uint64_t headroom) noexcept;

  // Whether a call that may add up to `mappings` could be made now; out_of_memory where they could be too many.
  base::Status check(std::uint64_t mappings) noexcept;
  // The same, before making it.
  base::Status admit(std::uint64_t mappings) noexcept;
  // For calls that must not be refused, because they give something back.
  void add(std::uint64_t mappings) noexcept { estimate_ += mappings; }
  // Mappings have gone: after a refusal it is worth counting again.
  void note_release() noexcept { refusals_left_ = 0; }

 private:
  HostSystem& system_;
  std::uint64_t limit_;
  std::uint64_t headroom_;
  std::uint64_t estimate_;
  std::uint64_t refusals_left_ = 0;  // to be given without counting again
};

}  // namespace cistern::device
