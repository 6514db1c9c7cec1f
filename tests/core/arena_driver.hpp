// ArenaDriver: runs steps on a Suballocator and on the model at once and says where they differ.
//
// A step is a few plain numbers that are interpreted against the present state, so that any numbers at all make a
// meaningful history: property tests draw them, fuzzers spell them in bytes, soaks take them from a generator. Wrong
// calls are steps too: they must be refused and change nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/granule_model.hpp"
#include "core/suballocator.hpp"

namespace cistern::core::testing {

struct Step {
  std::uint8_t action = 0;
  std::uint8_t detail = 0;
  std::uint16_t first = 0;
  std::uint16_t second = 0;
};

class ArenaDriver {
 public:
  // `shape` chooses policy, page size, range and whether the arena starts filled.
  explicit ArenaDriver(std::uint32_t shape);

  static SuballocatorConfig config_of(std::uint32_t shape);
  // Empty when all is well, else what is wrong.
  std::string run(const Step& step);
  std::string run_all(const std::vector<Step>& steps);
  Suballocator& arena() { return *arena_; }

 private:
  std::string allocate(const Step& step);
  std::string check_place(BlockIndex block, std::uint64_t bytes, std::uint64_t alignment, ReadinessSlot slot);
  std::string release(const Step& step);
  std::string make_ready(const Step& step);
  std::string change_pages(const Step& step, BlockState from, BlockState to);
  std::string begin_move(const Step& step);
  std::string settle(const Step& step);
  std::string pin(const Step& step);
  std::string unpin(const Step& step);
  std::string repair(const Step& step);
  std::string check_plan(const RepairPlan& plan, std::uint64_t length, std::uint64_t alignment,
                         const RepairLimits& limits);
  std::string apply(const RepairPlan& plan, std::uint64_t bytes, std::uint64_t alignment);
  std::string check_wholly_free_pages(const Step& step);
  std::string wrong_call(const Step& step);

  std::uint64_t pick_bytes(const Step& step) const;
  std::uint64_t pick_alignment(const Step& step) const;
  Range pick_pages(const Step& step) const;
  BlockIndex pick_block(std::uint16_t number, BlockState state) const;
  Stretch stretch_of(BlockIndex block) const;

  SuballocatorConfig config_;
  std::unique_ptr<Suballocator> arena_;
  GranuleModel model_;
  std::vector<Range> pins_;
};

// A whole history spelled in bytes: two for the arena's shape, then six for each step. Empty when all is well.
std::string run_bytes(const std::uint8_t* data, std::size_t size);

}  // namespace cistern::core::testing
