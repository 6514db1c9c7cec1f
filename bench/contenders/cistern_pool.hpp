// Cistern's pool as a contender: everything is in it (lock, look-up of pointers, ledger, growth, stitching) but memory:
// the device only counts. Pages are as large as in a pool that is limited to the workload's peak.
#pragma once

#include <memory>

#include "bench/contenders/contender.hpp"
#include "bench/workloads/workload.hpp"
#include "pool/pool.hpp"

namespace cistern::bench {

struct PoolVariant {
  core::FitPolicy policy = core::FitPolicy::best_fit;
  std::uint64_t magazine_bytes = 0;
  pool::OnMiss on_miss = pool::OnMiss::stitch_first;
};

class CisternPool {
 public:
  // Ends the process where the pool cannot be made: there is nothing to measure then.
  CisternPool(const PoolVariant& variant, std::uint64_t peak_live_bytes);

  Place allocate(std::uint64_t bytes) noexcept {
    auto served = pool_->allocate(bytes);
    return served.is_ok() ? served.value() : 0;
  }
  void free(Place place) noexcept { (void)pool_->free(place); }
  std::uint64_t end_of(Place) const noexcept { return 0; }
  std::uint64_t reserved_bytes() const noexcept { return pool_->ledger().peak_reserved_bytes; }
  std::uint64_t misses() const noexcept { return pool_->ledger().misses; }

 private:
  std::unique_ptr<pool::Pool> pool_;
};

}  // namespace cistern::bench
