// Elastics: the elastic buffers of a pool, and what each holds.
//
// An elastic buffer is a range of addresses of the page arena that nobody else gets. It begins with a live block, the
// part that has memory; behind that lies its rest, kept from others as a moving block without pages:
//
//   address ─▶  │ live: backed bytes │ rest: moving, no pages              │
//               └ offset                                    offset + range ┘
//
// Growing fills the beginning of the rest and lets the live block take it in, shrinking does the opposite. The address
// never changes, and the bytes below the size stay where they are.
//
// Thread-safety: the pool's lock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "core/types.hpp"
#include "device/device.hpp"

namespace cistern::pool {

using ElasticId = std::uint64_t;  // 0: none. Never used again

struct ElasticView {
  ElasticId id = 0;
  device::Address address = 0;
  std::uint64_t bytes = 0;         // the size, as asked for last
  std::uint64_t backed_bytes = 0;  // what has memory: the size in whole pages, more where the device took none back
  std::uint64_t max_bytes = 0;     // reserved addresses
  std::string tag;
};

struct Elastic {
  core::Range range;  // all its addresses, as offsets of the page arena
  std::uint64_t bytes = 0;
  std::uint64_t backed = 0;
  std::uint64_t stuck = 0;  // bytes behind that have pages, but the driver would neither enable nor take them back
  std::uint32_t tag = 0;
  bool is_busy = false;  // a call is at work on it
};

class Elastics {
 public:
  ElasticId add(core::Range range, std::uint32_t tag);
  // Null: explain() says why.
  Elastic* find(ElasticId id) noexcept;
  const Elastic* find(ElasticId id) const noexcept { return const_cast<Elastics*>(this)->find(id); }
  base::Status explain(ElasticId id, std::string_view pool) const;
  void remove(ElasticId id) noexcept { by_id_.erase(id); }
  // Is a moving block the rest of a buffer, at which no call is at work?
  bool is_rest(core::Range moving) const noexcept;

  const std::map<ElasticId, Elastic>& all() const noexcept { return by_id_; }

 private:
  std::map<ElasticId, Elastic> by_id_;
  ElasticId last_ = 0;
};

}  // namespace cistern::pool
