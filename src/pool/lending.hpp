// Lending: pages that a context has borrowed and does not use go to another that needs them.
//
// A miss that the device has no room for asks the other contexts, those that have borrowed most first, to vacate wholly
// free pages, as far as they are above their minimum. The pages go through the PagePool that both share, without a
// driver allocation. Who asks holds neither his pool's lock nor its turn meanwhile and takes the other's turn like any
// miss of that pool, so two contexts may ask one another at once. Between a lender's giving and the borrower's claim a
// third may be faster; then the borrower asks again, a few times.
//
// Contexts within their minimum are not disturbed: not even their lock is taken.
#pragma once

#include <cstdint>

#include "pool/context.hpp"
#include "pool/pool_core.hpp"
#include "pool/rescue.hpp"

namespace cistern::pool {

// What growth for a request lacks, and who refuses it.
struct Shortage {
  std::uint64_t bytes = 0;
  bool by_own_limit = false;  // else by the device: other contexts hold it, or the driver refused
};
// Pool's lock held.
Shortage shortage_of(const PoolCore& pool, const Need& need);

// Other contexts of `id` vacate what they can spare, at least `wanted` bytes if they have it; the bytes. `pages`: where
// the borrower takes its pages from; pages kept elsewhere, and all of them where that is null, go back to the device.
// No lock and no turn held.
std::uint64_t collect_from_others(ContextSet& contexts, ContextId id, const device::PagePool* pages,
                                  std::uint64_t wanted);

class OtherPoolsStep final : public RescueStep {
 public:
  std::string_view name() const noexcept override { return "other contexts"; }
  RescueOrder order() const noexcept override { return RescueOrder::other_pools; }
  RescueResult run(PoolCore& pool, const Need& need, PoolLock& lock) override;
};

}  // namespace cistern::pool
