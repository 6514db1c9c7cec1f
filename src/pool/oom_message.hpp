// The out-of-memory message that explains itself: what was asked, where the memory is, which wall was hit, what was
// tried, and which option would have helped. A pure function of facts, so that every sentence of it can be tested.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pool/context.hpp"
#include "pool/ledger.hpp"
#include "pool/snapshot.hpp"

namespace cistern::pool {

struct OutOfMemoryFacts {
  std::string pool;
  std::string device;  // "simulated:0"
  std::uint64_t requested_bytes = 0;
  std::uint64_t needed_bytes = 0;  // rounded, with room for the alignment
  std::uint64_t alignment = 0;
  std::string tag;
  Ledger ledger;
  double exposure = 0;
  bool expandable = false;
  bool limited = false;       // the pool's own limit stopped growth
  bool device_known = false;  // the next two were readable
  std::uint64_t device_free_bytes = 0;
  std::uint64_t device_total_bytes = 0;
  std::uint64_t pages_kept_bytes = 0;                      // unmapped pages that the device's PagePool keeps
  std::vector<std::pair<std::string, std::string>> tried;  // step, outcome
  std::vector<TagSnapshot> holders;                        // largest first
  // Of a pool that shares its device; else empty.
  ContextView context;
  DeviceShare share;
  std::vector<ContextView> contexts;  // all of the device, this one included

  // Is there anything to tell of them?
  bool is_shared() const noexcept { return contexts.size() > 1 || context.minimum_bytes != 0; }
};

// One sentence a line; the first line alone says what happened.
std::string explain_out_of_memory(const OutOfMemoryFacts& facts);

}  // namespace cistern::pool
