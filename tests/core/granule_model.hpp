// GranuleModel: an arena as an array with one cell a granule, and every question answered by looking at all of them.
// Slow and obvious: what the Suballocator is measured against.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/suballocator.hpp"

namespace cistern::core::testing {

// Granules, half-open.
struct Stretch {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t length() const { return end - begin; }
};

// What the cheapest repair costs.
struct CheapestWindow {
  std::uint64_t start = 0;  // granules
  std::uint64_t fill_pages = 0;
};

class GranuleModel {
 public:
  explicit GranuleModel(const SuballocatorConfig& config);

  // --- Questions. Lengths, alignments and offsets in granules
  // --------------------------------------
  bool is(Stretch stretch, BlockState state, ReadinessSlot slot = kReadySlot) const;
  std::vector<Stretch> holes(ReadinessSlot slot) const;
  bool any_hole_fits(std::uint64_t length, std::uint64_t alignment, ReadinessSlot slot) const;
  std::optional<std::uint64_t> lowest_fit(std::uint64_t length, std::uint64_t alignment, ReadinessSlot slot) const;
  std::optional<std::uint64_t> tightest_fit(std::uint64_t length, std::uint64_t alignment, ReadinessSlot slot) const;
  std::uint64_t longest_ready_hole() const;
  bool pinned(Stretch stretch) const;
  // Whole pages of ready holes, unpinned, that do not touch `outside`.
  std::uint64_t donor_pages(Stretch outside) const;
  std::optional<CheapestWindow> cheapest_window(std::uint64_t length, std::uint64_t alignment,
                                                const RepairLimits& limits) const;
  // The first difference between the arena and this model, in words; empty when there is none.
  std::string difference(const Suballocator& arena) const;

  // --- Changes. The caller has seen to it that they are allowed
  // ------------------------------------
  void make_live(Stretch stretch);
  void make_free(Stretch stretch, Readiness readiness);
  void make_vacant(Stretch stretch);
  void make_moving(Stretch stretch);
  std::uint64_t make_ready(ReadinessSlot slot, std::uint32_t batch);  // granules
  void pin(Stretch stretch) { pins_.push_back(stretch); }
  bool unpin(Stretch stretch);

  std::uint64_t granules() const { return cells_.size(); }
  std::uint64_t page() const { return page_; }
  std::uint64_t count(BlockState state) const;

 private:
  struct Cell {
    BlockState state = BlockState::vacant;
    ReadinessSlot slot = kReadySlot;
    std::uint32_t batch = 0;
    std::uint32_t id = 0;  // tells neighbouring live (or moving) blocks apart
  };
  void set(Stretch stretch, Cell cell);
  bool in_one_block(const Cell& left, const Cell& right) const;
  bool usable(std::uint64_t granule) const;
  std::uint64_t vacant_pages_touched(Stretch window) const;
  SpaceTotals count_all() const;

  std::vector<Cell> cells_;
  std::vector<Stretch> pins_;
  std::uint64_t page_;
  std::uint32_t next_id_ = 1;
};

}  // namespace cistern::core::testing
