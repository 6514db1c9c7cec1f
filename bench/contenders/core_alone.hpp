// The core's suballocator as a contender: only the bookkeeping of one arena. Callers hold block numbers, so nothing is
// looked up, and nothing is locked: a pool cannot be faster.
#pragma once

#include <memory>

#include "base/bits.hpp"
#include "bench/contenders/contender.hpp"
#include "core/suballocator.hpp"

namespace cistern::bench {

class CoreAlone {
 public:
  explicit CoreAlone(std::uint64_t peak_live_bytes) {
    core::SuballocatorConfig config;
    config.page_bytes = std::uint64_t{2} << 20;
    config.range_bytes = base::round_up(2 * peak_live_bytes, config.page_bytes);
    config.starts_filled = true;
    arena_ = core::Suballocator::create(config).take();
  }

  Place allocate(std::uint64_t bytes) noexcept { return arena_->allocate(bytes, core::kGranuleBytes); }
  void free(Place place) noexcept { arena_->release(static_cast<core::BlockIndex>(place)); }
  std::uint64_t end_of(Place place) const noexcept {
    return arena_->view(static_cast<core::BlockIndex>(place)).range.end();
  }
  std::uint64_t reserved_bytes() const noexcept { return 0; }

 private:
  std::unique_ptr<core::Suballocator> arena_;
};

}  // namespace cistern::bench
