// PageTransfer: one repair plan carried out in batches, so that a failure anywhere loses nothing and nobody waits long.
//
// Growth, stitching and trim are the same transaction: donors give up their pages, new pages make up the rest, all go
// under one target. The driver is slow and the lock must not wait for it, so every range is made `moving` before it is
// touched, and the work alternates between short holds of the lock and driver calls without it:
//   mark        (lock held)     target and donors become moving, some at a time: nobody else can have them
//   next_batch  (lock held)     what the last batch took from donors becomes vacant
//   move_batch  (lock dropped)  pages go from donors, or from the device, under the target, and are made accessible
//   commit      (lock held)     every range becomes what it is: free where pages are, vacant where not
// All donors are marked before the first page moves, so that two requests in need never count on the same pages.
// When a call fails, pages that came from donors and are accessible stay where they are, as free memory; new pages go
// back; a page that was unmapped but found no place goes to the device's PagePool; a donor whose unmap failed stays
// free; a page that can be neither made accessible nor unmapped stays moving until settle_stuck() succeeds.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "core/suballocator.hpp"
#include "device/device.hpp"
#include "device/page_pool.hpp"
#include "pool/arena.hpp"

namespace cistern::pool {

// Mapped pages that the driver would neither enable nor take back.
struct StuckPages {
  Arena* arena = nullptr;
  core::BlockIndex block = core::kNoBlock;  // moving; the pages are at its beginning
  core::Range pages;
};

class PageTransfer {
 public:
  PageTransfer(Arena& arena, device::PagePool& pages, device::AccountId account) noexcept
      : arena_(arena), pages_(pages), account_(account) {}

  // The target of `plan` becomes moving. False: the plan does not fit the arena any more; nothing changed.
  bool begin(const core::RepairPlan& plan);
  // So do up to `ranges` of its donors. False: all are marked, or one was not to be had any more: is_stale().
  bool mark_donors(std::uint64_t ranges);
  // A stale transfer: ranges become what they were, up to `ranges` at a time. False: all have.
  bool unmark(std::uint64_t ranges);
  // False: there is nothing (more) to move, or something failed: commit.
  bool next_batch(std::uint64_t max_pages);
  void move_batch();
  void commit(std::vector<StuckPages>* stuck);

  // Ok: the whole plan was carried out, and the target is one free block.
  const base::Status& status() const noexcept { return status_; }
  // Somebody else took a donor before it was marked: unmark, and plan again.
  bool is_stale() const noexcept { return stale_; }
  std::uint64_t moved_pages() const noexcept { return moved_pages_; }     // from donors into the target
  std::uint64_t batch_pages() const noexcept { return batch_pages_; }     // of the batch moved last
  std::int64_t mapped_change() const noexcept { return mapped_change_; }  // bytes, of the whole transfer
  std::uint64_t new_pages_planned() const noexcept { return new_planned_; }

  // After commit: report(range, true) where pages came, report(range, false) where they went.
  template <typename Report>
  void for_each_change(const Report& report) const {
    for (const core::Range& range : vacated_) report(range, false);
    for (const core::Range& range : filled_) report(range, true);
  }

 private:
  struct Fill {
    core::Range range;
    core::BlockIndex block = core::kNoBlock;
    std::uint64_t mapped = 0;   // bytes from the start of the range that have pages
    std::uint64_t enabled = 0;  // of these, accessible
    std::uint64_t kept = 0;     // of these, from donors: they stay even if the transfer fails
    bool stuck = false;
  };
  struct Donor {
    core::Range range;
    core::BlockIndex block = core::kNoBlock;
    std::uint64_t vacated = 0;  // bytes given up, from the start of the range
    std::uint64_t settled = 0;  // of these, vacant already
  };

  bool mark_target();
  void unmark_target();
  void settle(Donor* donor);
  void settle_batch();
  Fill* next_place();
  // Has any page of the target been mapped that is no donor's? They come last.
  bool has_new_pages() const noexcept { return new_left_ + new_in_batch_ != new_planned_ || new_in_batch_ != 0; }
  base::Status wait_until_unused();
  base::Status move_donors();
  base::Status move_one(std::uint64_t from);
  base::Status map_new();
  base::Status place(device::PageHandle page);
  base::Status enable();
  void undo();
  void return_spare_pages();

  Arena& arena_;
  device::PagePool& pages_;
  device::AccountId account_;
  base::Status status_;
  core::RepairPlan plan_;
  std::vector<core::BlockIndex> keeps_;
  std::vector<Fill> fills_;
  std::size_t filling_ = 0;            // the first fill that is not complete
  std::vector<Donor> donors_;          // those marked, in the plan's order
  std::size_t settling_ = 0;           // the first that is not wholly settled
  std::size_t moving_ = 0;             // the first that has pages left
  std::uint64_t donors_left_ = 0;      // pages
  std::uint64_t donors_in_batch_ = 0;  // pages
  std::uint64_t new_left_ = 0;
  std::uint64_t new_in_batch_ = 0;
  std::uint64_t new_planned_ = 0;
  std::vector<device::PageHandle> in_hand_;  // pages that are mapped nowhere right now
  std::uint64_t donors_in_hand_ = 0;         // pages of donors that found no place, ever
  std::uint64_t kept_before_ = 0;            // pages that the PagePool had at the start
  std::uint64_t moved_pages_ = 0;
  std::uint64_t batch_pages_ = 0;
  std::int64_t mapped_change_ = 0;
  bool stale_ = false;
  std::vector<core::Range> vacated_;
  std::vector<core::Range> filled_;
};

}  // namespace cistern::pool
