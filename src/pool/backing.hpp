// Backing: which physical pages lie under a pool's addresses, for those who must know when that changes.
//
// Addresses are stable, pages under free ones are not. Who registers memory with another device by its pages (RDMA,
// IPC) either pins the range (Pool::register_range) or keeps a cache of registrations: then the generation of a range
// tells whether a cached one still holds, and the listener drops stale ones early.
#pragma once

#include <cstdint>

#include "device/device.hpp"

namespace cistern::pool {

struct BackingChange {
  device::Address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t generation = 0;  // of the range from now on
  bool mapped = false;           // the range got pages; else it gave its pages up
};

class BackingListener {
 public:
  virtual ~BackingListener() = default;
  // After the change, by the thread that made it, before its call returns, without any lock. Another thread may have
  // got the addresses by then; the generation of the range has changed before that.
  virtual void on_backing_changed(const BackingChange& change) noexcept = 0;
};

}  // namespace cistern::pool
