// PageTransfer: one repair plan carried out, so that a failure anywhere loses nothing.
//
// Growth and stitching are the same transaction: donors give up their pages, new pages make up the rest, all go under
// one target. Three phases, because the driver is slow and the lock must not wait for it:
//   begin    (lock held)     target and donors become moving: nobody else can touch them
//   execute  (lock dropped)  unmap donors, take new pages, map the target, enable access; on failure undo the target
//   commit   (lock held)     every range becomes what it really is now: free where pages are, vacant where not
// A page that was unmapped but found no place goes to the device's PagePool; a donor whose unmap failed stays free; a
// page that can be neither enabled nor unmapped stays moving, unreachable, until the arena is given back.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "core/suballocator.hpp"
#include "device/device.hpp"
#include "device/page_pool.hpp"
#include "pool/arena.hpp"

namespace cistern::pool {

class PageTransfer {
 public:
  PageTransfer(Arena& arena, device::PagePool& pages, device::AccountId account) noexcept
      : arena_(arena), pages_(pages), account_(account) {}

  // False: the plan does not fit the arena any more; nothing changed.
  bool begin(const core::RepairPlan& plan);
  base::Status execute();
  // Bytes by which the arena's mapped memory changed. Afterwards the target, if execute succeeded, is one free block.
  std::int64_t commit();
  // After commit: report(range, true) where pages came, report(range, false) where they went.
  template <typename Report>
  void for_each_change(const Report& report) const {
    for (const Move& donor : donors_) {
      if (donor.unmapped_bytes != 0) report(core::Range{donor.range.offset, donor.unmapped_bytes}, false);
    }
    for (const Move& fill : fills_) {
      if (!fill.mapped.empty()) {
        report(core::Range{fill.range.offset, fill.mapped.size() * arena_.page_bytes()}, true);
      }
    }
  }

 private:
  struct Move {
    core::Range range;
    core::BlockIndex block = core::kNoBlock;
    std::vector<device::PageHandle> mapped;  // fills: pages now in place, from the start of the range
    std::uint64_t unmapped_bytes = 0;        // donors: given up, from the start of the range
    bool stuck = false;                      // fills: pages that could be neither enabled nor taken back
  };

  bool mark(const std::vector<core::Range>& ranges, std::vector<Move>* moves);
  void unmark_all();
  base::Status unmap_donors();
  base::Status map_target();
  void undo_target();
  void return_spare_pages(std::uint64_t kept_before);

  Arena& arena_;
  device::PagePool& pages_;
  device::AccountId account_;
  std::uint64_t new_pages_ = 0;
  std::vector<Move> keeps_;
  std::vector<Move> fills_;
  std::vector<Move> donors_;
  std::vector<device::PageHandle> in_hand_;  // pages that are mapped nowhere right now
};

}  // namespace cistern::pool
