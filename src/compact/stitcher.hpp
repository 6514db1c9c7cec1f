// Stitching: when free memory suffices but lies in pieces, its pages are put together under one range of addresses.
//
// Holes give up their whole pages, a run of vacant addresses takes them, and the request is served there. No pointer
// that anybody holds changes, no byte is copied; pages that the holes lack come from the device, under the limit, into
// the same target.
//
// A load that repeats itself may need the same stitches over and over: its working set has a shape that the peak of
// live bytes has no room for. Each costs page moves that a driver takes a millisecond for, while a few more pages would
// end them for ever. As nobody knows beforehand which loads do, stitches are paid until they have moved as many pages
// as the pool has; then one miss grows the pool instead, while it stays within a few per cent of its peak of live bytes
// (slack_percent). Where that is not enough, stitches go on, and the longer they do, the further the pool may grow.
#pragma once

#include <memory>
#include <vector>

#include "pool/options.hpp"
#include "pool/rescue.hpp"

namespace cistern::compact {

class StitchStep final : public pool::RescueStep {
 public:
  // `order`: stitch_first, before growth, which it may leave a miss to; or stitch, after it.
  explicit StitchStep(pool::RescueOrder order) noexcept : order_(order) {}
  std::string_view name() const noexcept override { return "stitch"; }
  pool::RescueOrder order() const noexcept override { return order_; }
  // Of two in a list, the one after growth compacts.
  pool::BatchResult compact(pool::PoolCore& pool, const pool::Need& hole, const pool::BatchBudget& budget,
                            pool::PoolLock& lock) override;
  pool::RescueResult run(pool::PoolCore& pool, const pool::Need& need, pool::PoolLock& lock) override;

 private:
  pool::RescueOrder order_;
};

// The steps of stitching alone.
std::vector<std::unique_ptr<pool::RescueStep>> stitch_steps(pool::OnMiss on_miss);
// The steps that compaction brings to a pool's rescue list: these, and relocation.
std::vector<std::unique_ptr<pool::RescueStep>> rescue_steps(pool::OnMiss on_miss);

}  // namespace cistern::compact
