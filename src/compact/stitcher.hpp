// Stitching: when free memory suffices but lies in pieces, its pages are put together under one range of addresses.
//
// Holes give up their whole pages, a run of vacant addresses takes them, and the request is served there. No pointer
// that anybody holds changes, no byte is copied; pages that the holes lack come from the device, under the limit, into
// the same target.
#pragma once

#include <memory>
#include <vector>

#include "pool/options.hpp"
#include "pool/rescue.hpp"

namespace cistern::compact {

class StitchStep final : public pool::RescueStep {
 public:
  explicit StitchStep(pool::OnMiss on_miss) noexcept : on_miss_(on_miss) {}
  std::string_view name() const noexcept override { return "stitch"; }
  pool::RescueOrder order() const noexcept override {
    return on_miss_ == pool::OnMiss::stitch_first ? pool::RescueOrder::stitch_first : pool::RescueOrder::stitch;
  }
  pool::RescueResult run(pool::PoolCore& pool, const pool::Need& need, pool::PoolLock& lock) override;

 private:
  pool::OnMiss on_miss_;
};

// The steps that compaction brings to a pool's rescue list.
std::vector<std::unique_ptr<pool::RescueStep>> rescue_steps(pool::OnMiss on_miss);

}  // namespace cistern::compact
