#include "core/arena_driver.hpp"

#include <algorithm>
#include <limits>

namespace cistern::core::testing {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

std::uint64_t granules_for(std::uint64_t bytes) { return bytes / kGranuleBytes + (bytes % kGranuleBytes != 0 ? 1 : 0); }

Stretch to_stretch(Range range) { return {range.offset / kGranuleBytes, granules_for(range.end())}; }

std::string in_words(std::string_view what, std::uint64_t first, std::uint64_t second) {
  return std::string(what) + " (" + std::to_string(first) + ", " + std::to_string(second) + ")";
}

}  // namespace

SuballocatorConfig ArenaDriver::config_of(std::uint32_t shape) {
  constexpr std::uint64_t kPageBytes[] = {512, 1024, 4096, 65536};
  SuballocatorConfig config;
  config.policy = static_cast<FitPolicy>(shape % 3);
  config.page_bytes = kPageBytes[(shape >> 2) % 4];
  config.starts_filled = (shape >> 4) % 2 != 0;
  // Mostly small arenas, where blocks crowd; sometimes one that holds alignments of 2 MiB.
  const std::uint64_t pages = 1 + (shape >> 6) % 96;
  config.range_bytes = pages * config.page_bytes;
  if ((shape >> 5) % 8 == 7) config.range_bytes = 4 * kMiB;
  return config;
}

ArenaDriver::ArenaDriver(std::uint32_t shape)
    : config_(config_of(shape)), arena_(Suballocator::create(config_).take()), model_(config_) {}

std::string ArenaDriver::run_all(const std::vector<Step>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::string problem = run(steps[i]);
    if (!problem.empty()) return "step " + std::to_string(i) + ": " + problem;
  }
  return {};
}

std::string ArenaDriver::run(const Step& step) {
  std::string problem;
  switch (step.action % 20) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      problem = allocate(step);
      break;
    case 6:
    case 7:
    case 8:
    case 9:
      problem = release(step);
      break;
    case 10:
      problem = make_ready(step);
      break;
    case 11:
    case 12:
      problem = change_pages(step, BlockState::vacant, BlockState::free);
      break;
    case 13:
      problem = change_pages(step, BlockState::free, BlockState::vacant);
      break;
    case 14:
      problem = begin_move(step);
      break;
    case 15:
      problem = settle(step);
      break;
    case 16:
      problem = step.detail % 2 == 0 ? pin(step) : unpin(step);
      break;
    case 17:
    case 18:
      problem = repair(step);
      break;
    default:
      problem = step.detail % 4 == 0 ? check_wholly_free_pages(step) : wrong_call(step);
  }
  const std::string action = "action " + std::to_string(step.action % 20) + ": ";
  if (!problem.empty()) return action + problem;
  problem = arena_->validate();
  if (!problem.empty()) return action + "validate: " + problem;
  problem = model_.difference(*arena_);
  return problem.empty() ? problem : action + problem;
}

// --- Drawing from numbers -------------------------------------------------------------------------------------------

std::uint64_t ArenaDriver::pick_bytes(const Step& step) const {
  const std::uint64_t range = config_.range_bytes;
  switch (step.detail % 16) {
    case 0:
      return kHuge - step.first % 1024;
    case 1:
      return range + step.first % 1024;
    case 2:
      return step.first % 3;
    case 3:
      return 1 + range / 2 + step.first % (range / 2 + 1);
    case 4:
    case 5:
      return 1 + step.first % range;
    case 6:
    case 7:
    case 8:
      return 1 + step.first % (range / 8 + 1);
    default:
      return 1 + step.first % 4096;
  }
}

std::uint64_t ArenaDriver::pick_alignment(const Step& step) const {
  const unsigned choice = step.second % 64;
  if (choice < 22) return std::uint64_t{1} << choice;  // 1 B to 2 MiB
  if (choice == 22) return std::uint64_t{1} << (step.second >> 10);
  return 512;
}

Range ArenaDriver::pick_pages(const Step& step) const {
  const std::uint64_t pages = config_.range_bytes / config_.page_bytes;
  const std::uint64_t first = step.first % pages;
  const std::uint64_t longest = step.detail % 4 == 0 ? pages - first : 4;
  const std::uint64_t count = 1 + step.second % longest;
  return {first * config_.page_bytes, count * config_.page_bytes};
}

BlockIndex ArenaDriver::pick_block(std::uint16_t number, BlockState state) const {
  std::vector<BlockIndex> blocks;
  for (BlockIndex block = arena_->first_block(); block != kNoBlock; block = arena_->next_block(block)) {
    if (arena_->view(block).state == state) blocks.push_back(block);
  }
  return blocks.empty() ? kNoBlock : blocks[number % blocks.size()];
}

Stretch ArenaDriver::stretch_of(BlockIndex block) const { return to_stretch(arena_->view(block).range); }

// --- Placement ------------------------------------------------------------------------------------------------------

std::string ArenaDriver::allocate(const Step& step) {
  const std::uint64_t bytes = pick_bytes(step);
  const std::uint64_t alignment = pick_alignment(step);
  const auto slot = static_cast<ReadinessSlot>(step.detail >= 224 ? 1 + step.detail % 3 : 0);
  const std::uint64_t length = granules_for(bytes);
  const std::uint64_t grid = std::max<std::uint64_t>(alignment / kGranuleBytes, 1);
  const bool expected = bytes != 0 && model_.any_hole_fits(length, grid, slot);
  if (slot == kReadySlot && arena_->fits(bytes) != (bytes != 0 && model_.any_hole_fits(length, 1, kReadySlot))) {
    return in_words("fits() is wrong", bytes, alignment);
  }
  const BlockIndex block = arena_->allocate(bytes, alignment, slot);
  if ((block != kNoBlock) != expected) {
    return in_words(expected ? "no block though a hole fits" : "a block where no hole fits", bytes, alignment);
  }
  if (block == kNoBlock) return {};
  std::string problem = check_place(block, bytes, alignment, slot);
  if (problem.empty()) model_.make_live(stretch_of(block));
  return problem;
}

std::string ArenaDriver::check_place(BlockIndex block, std::uint64_t bytes, std::uint64_t alignment,
                                     ReadinessSlot slot) {
  const BlockView view = arena_->view(block);
  const std::uint64_t length = granules_for(bytes);
  const std::uint64_t grid = std::max<std::uint64_t>(alignment / kGranuleBytes, 1);
  const std::uint64_t place = view.range.offset / kGranuleBytes;
  if (view.range.bytes != length * kGranuleBytes) return "a block of the wrong size";
  if (place % grid != 0) return "a block that is not aligned";
  if (!model_.is(to_stretch(view.range), BlockState::free, slot)) {
    return "a block where there is no hole";
  }
  if (config_.policy == FitPolicy::first_fit) {
    const std::uint64_t lowest = *model_.lowest_fit(length, grid, slot);
    if (place != lowest) return in_words("not the lowest place", place, lowest);
  }
  if (config_.policy == FitPolicy::exact_best_fit) {
    const std::uint64_t tightest = *model_.tightest_fit(length, grid, slot);
    if (place != tightest) return in_words("not the tightest place", place, tightest);
  }
  return {};
}

std::string ArenaDriver::release(const Step& step) {
  const BlockIndex block = pick_block(step.first, BlockState::live);
  if (block == kNoBlock) return {};
  if (step.detail % 16 == 15) {
    model_.make_moving(stretch_of(block));
    return arena_->retire(block) ? "" : "a live block was not retired";
  }
  Readiness readiness;
  if (step.detail % 3 == 0) {
    readiness = {static_cast<ReadinessSlot>(1 + step.detail % 4), step.second % 8U};
  }
  const Stretch stretch = stretch_of(block);
  if (!arena_->release(block, readiness)) return "a live block was not released";
  model_.make_free(stretch, readiness);
  return {};
}

std::string ArenaDriver::make_ready(const Step& step) {
  const auto slot = static_cast<ReadinessSlot>(step.detail % 5);
  const std::uint32_t batch = step.first % 8;
  const std::uint64_t bytes = arena_->make_ready(slot, batch);
  const std::uint64_t expected = model_.make_ready(slot, batch) * kGranuleBytes;
  return bytes == expected ? "" : in_words("wrong bytes made ready", bytes, expected);
}

// --- Pages ----------------------------------------------------------------------------------------------------------

std::string ArenaDriver::change_pages(const Step& step, BlockState from, BlockState to) {
  const Range pages = pick_pages(step);
  const Stretch stretch = to_stretch(pages);
  const bool fills = to == BlockState::free;
  const bool expected = model_.is(stretch, from) && (fills || !model_.pinned(stretch));
  const bool done = fills ? arena_->fill(pages) : arena_->vacate(pages);
  if (done != expected) return done ? "done though it may not be" : "refused without a reason";
  if (!done) return {};
  if (fills) {
    model_.make_free(stretch, {});
  } else {
    model_.make_vacant(stretch);
  }
  return {};
}

std::string ArenaDriver::begin_move(const Step& step) {
  Range range = pick_pages(step);
  bool page_aligned = true;
  if (step.detail % 3 == 0) {  // some granules of a hole, as a kept part would be
    const BlockIndex hole = pick_block(step.first, BlockState::free);
    if (hole == kNoBlock) return {};
    const Range whole = arena_->view(hole).range;
    const std::uint64_t skipped = step.second % (whole.bytes / kGranuleBytes) * kGranuleBytes;
    range = {whole.offset + skipped, whole.bytes - skipped};
    page_aligned = range.offset % config_.page_bytes == 0 && range.bytes % config_.page_bytes == 0;
  }
  const Stretch stretch = to_stretch(range);
  const bool expected =
      model_.is(stretch, BlockState::free) || (page_aligned && model_.is(stretch, BlockState::vacant));
  const BlockIndex moving = arena_->begin_move(range);
  if ((moving != kNoBlock) != expected) {
    return in_words(expected ? "begin_move refused" : "begin_move moved", range.offset, range.bytes);
  }
  if (moving == kNoBlock) return {};
  if (!(arena_->view(moving).range == range)) return "another range than asked for is moving";
  model_.make_moving(stretch);
  return {};
}

std::string ArenaDriver::settle(const Step& step) {
  const BlockIndex moving = pick_block(step.first, BlockState::moving);
  if (moving == kNoBlock) return {};
  const Range whole = arena_->view(moving).range;
  if (step.detail % 8 == 7) {
    if (!arena_->land(moving)) return "land refused";
    model_.make_live(to_stretch(whole));
    return {};
  }
  const BlockState to = step.detail % 2 == 0 ? BlockState::free : BlockState::vacant;
  std::uint64_t head = kHuge;
  if (step.detail % 3 == 0) head = step.second % 5 * config_.page_bytes;
  if (step.detail % 3 == 1) head = step.second;  // often no multiple of anything
  const Range settled{whole.offset, std::min(head, whole.bytes)};
  bool expected = settled.bytes != 0 && settled.bytes % kGranuleBytes == 0;
  if (to == BlockState::vacant) {
    expected = expected && settled.offset % config_.page_bytes == 0 && settled.bytes % config_.page_bytes == 0 &&
               !model_.pinned(to_stretch(settled));
  }
  const BlockIndex rest = arena_->settle(moving, to, head);
  if (!expected) return rest == moving ? "" : "settle did what it should refuse";
  const bool is_rest = settled.bytes < whole.bytes;
  if ((rest != kNoBlock) != is_rest) return "settle is wrong about the rest";
  if (is_rest && arena_->view(rest).range.offset != settled.end()) return "settle's rest is wrong";
  if (to == BlockState::free) {
    model_.make_free(to_stretch(settled), {});
  } else {
    model_.make_vacant(to_stretch(settled));
  }
  return {};
}

std::string ArenaDriver::pin(const Step& step) {
  const std::uint64_t offset = step.first * std::uint64_t{100} % config_.range_bytes;
  const Range range{offset, 1 + step.second % (config_.range_bytes - offset)};
  if (pins_.size() >= 4) return {};  // else soon nothing could be vacated
  const Stretch stretch = to_stretch(range);
  bool expected = true;
  for (std::uint64_t i = stretch.begin; i < stretch.end; ++i) {
    if (model_.is({i, i + 1}, BlockState::moving)) expected = false;
  }
  if (arena_->pin_range(range) != expected) return "pin_range is wrong";
  if (!expected) return {};
  pins_.push_back(range);
  model_.pin(stretch);
  return {};
}

std::string ArenaDriver::unpin(const Step& step) {
  if (pins_.empty()) {
    return arena_->unpin_range({0, config_.range_bytes}) ? "unpinned what was not pinned" : "";
  }
  const auto chosen = pins_.begin() + static_cast<std::ptrdiff_t>(step.first % pins_.size());
  if (!arena_->unpin_range(*chosen)) return "a pin was not undone";
  if (!model_.unpin(to_stretch(*chosen))) return "the model has no such pin";
  pins_.erase(chosen);
  return {};
}

// --- Repair ---------------------------------------------------------------------------------------------------------

std::string ArenaDriver::repair(const Step& step) {
  const std::uint64_t bytes = pick_bytes(step);
  const std::uint64_t alignment = pick_alignment(step);
  const std::uint64_t length = granules_for(bytes);
  const std::uint64_t grid = std::max<std::uint64_t>(alignment / kGranuleBytes, 1);
  RepairLimits limits;
  limits.use_donors = step.detail % 3 != 0;
  if (step.detail % 5 < 3) limits.max_new_pages = step.second % 5;
  const auto cheapest =
      bytes == 0 || length > model_.granules() ? std::nullopt : model_.cheapest_window(length, grid, limits);
  RepairPlan plan;
  const bool found = arena_->plan_repair(bytes, alignment, limits, &plan);
  if (found != cheapest.has_value()) {
    return in_words(found ? "a plan that can't be" : "no plan though there is one", bytes, alignment);
  }
  if (!found) return {};
  if (plan.fill_pages != cheapest->fill_pages) {
    return in_words("not the fewest pages", plan.fill_pages, cheapest->fill_pages);
  }
  if (plan.target.offset != cheapest->start * kGranuleBytes) {
    return in_words("not the lowest target", plan.target.offset, cheapest->start * kGranuleBytes);
  }
  std::string problem = check_plan(plan, length, grid, limits);
  if (!problem.empty()) return problem;
  // Pure: nothing has changed yet. Every other plan is carried out.
  problem = model_.difference(*arena_);
  if (!problem.empty() || step.detail % 2 != 0) return problem;
  return apply(plan, bytes, alignment);
}

std::string ArenaDriver::check_plan(const RepairPlan& plan, std::uint64_t length, std::uint64_t alignment,
                                    const RepairLimits& limits) {
  const Stretch target = to_stretch(plan.target);
  if (target.length() != length || target.begin % alignment != 0) return "a wrong target";
  std::vector<bool> covered(model_.granules());
  std::uint64_t filled = 0;
  for (const Range& fill : plan.fills) {
    const Stretch part = to_stretch(fill);
    if (!model_.is(part, BlockState::vacant)) return "a fill that is not vacant";
    if (part.begin % model_.page() != 0 || part.length() % model_.page() != 0) {
      return "a fill that is not page-aligned";
    }
    filled += part.length() / model_.page();
    for (std::uint64_t i = part.begin; i < part.end; ++i) covered[i] = true;
  }
  for (const Range& keep : plan.keeps) {
    const Stretch part = to_stretch(keep);
    if (!model_.is(part, BlockState::free)) return "a keep that is not a ready hole";
    if (part.begin < target.begin || part.end > target.end) return "a keep outside the target";
    for (std::uint64_t i = part.begin; i < part.end; ++i) covered[i] = true;
  }
  for (std::uint64_t i = target.begin; i < target.end; ++i) {
    if (!covered[i]) return "a target that keeps and fills do not cover";
  }
  std::uint64_t donated = 0;
  for (const Range& donor : plan.donors) {
    const Stretch part = to_stretch(donor);
    if (!model_.is(part, BlockState::free) || model_.pinned(part)) return "a wrong donor";
    if (part.begin % model_.page() != 0 || part.length() % model_.page() != 0) {
      return "a donor that is not page-aligned";
    }
    if (part.begin < target.end && target.begin < part.end) return "a donor in the target";
    donated += part.length() / model_.page();
  }
  const std::uint64_t available = limits.use_donors ? model_.donor_pages(target) : 0;
  if (filled != plan.fill_pages) return "fills and fill_pages disagree";
  if (donated != plan.donor_pages || donated != std::min(filled, available)) {
    return in_words("not the donors that there are", donated, available);
  }
  if (plan.new_pages != filled - donated) return "wrong new_pages";
  return plan.new_pages <= limits.max_new_pages ? "" : "more new pages than allowed";
}

// In two steps, as the pool does: everything becomes moving, then target free and donors vacant.
std::string ArenaDriver::apply(const RepairPlan& plan, std::uint64_t bytes, std::uint64_t alignment) {
  std::vector<BlockIndex> target;
  std::vector<BlockIndex> donors;
  std::vector<Range> parts = plan.keeps;
  parts.insert(parts.end(), plan.fills.begin(), plan.fills.end());
  for (const Range& part : parts) {
    target.push_back(arena_->begin_move(part));
    if (target.back() == kNoBlock) return "a part of the target does not move";
    model_.make_moving(to_stretch(part));
  }
  for (const Range& donor : plan.donors) {
    donors.push_back(arena_->begin_move(donor));
    if (donors.back() == kNoBlock) return "a donor does not move";
    model_.make_moving(to_stretch(donor));
  }
  std::string problem = arena_->validate();
  if (problem.empty()) problem = model_.difference(*arena_);
  if (!problem.empty()) return "while moving: " + problem;
  for (const BlockIndex moving : donors) {
    model_.make_vacant(stretch_of(moving));
    if (arena_->settle(moving, BlockState::vacant) != kNoBlock) return "a donor does not settle";
  }
  for (const BlockIndex moving : target) {
    model_.make_free(stretch_of(moving), {});
    if (arena_->settle(moving, BlockState::free) != kNoBlock) return "a target does not settle";
  }
  const BlockIndex block = arena_->allocate(bytes, alignment);
  if (block == kNoBlock) return "the repair did not help";
  model_.make_live(stretch_of(block));
  return {};
}

std::string ArenaDriver::check_wholly_free_pages(const Step& step) {
  const std::uint64_t most = step.second % 2 == 0 ? kHuge : step.first * std::uint64_t{512};
  const std::vector<Range> ranges = arena_->wholly_free_pages(most);
  std::uint64_t sum = 0;
  std::uint64_t before = config_.range_bytes;
  for (const Range& range : ranges) {
    if (range.end() > before) return "whole pages do not come highest first";
    before = range.offset;
    const Stretch part = to_stretch(range);
    if (!model_.is(part, BlockState::free) || model_.pinned(part)) return "pages that are not free";
    if (part.begin % model_.page() != 0 || part.length() % model_.page() != 0) {
      return "parts of pages";
    }
    sum += range.bytes;
  }
  const std::uint64_t all = model_.donor_pages({0, 0}) * config_.page_bytes;
  const std::uint64_t expected = std::min(all, most / config_.page_bytes * config_.page_bytes);
  return sum == expected ? "" : in_words("wrong sum of whole pages", sum, expected);
}

// --- Wrong calls ----------------------------------------------------------------------------------------------------

std::string ArenaDriver::wrong_call(const Step& step) {
  const auto states = {BlockState::free, BlockState::vacant, BlockState::moving};
  for (const BlockState state : states) {
    const BlockIndex block = pick_block(step.first, state);
    if (arena_->release(block) || arena_->retire(block)) return "released what is not live";
    if (state != BlockState::moving && arena_->land(block)) return "landed what does not move";
    if (state != BlockState::moving && arena_->settle(block, BlockState::free) != kNoBlock) {
      return "settled what does not move";
    }
  }
  const BlockIndex unknown = 1'000'000'000U + step.first;
  if (arena_->release(unknown) || arena_->release(kNoBlock)) return "released no block";
  const BlockIndex live = pick_block(step.first, BlockState::live);
  if (live != kNoBlock && arena_->release(live, {kMaxReadinessSlots, 0})) {
    return "released into a slot that does not exist";
  }
  const BlockIndex moving = pick_block(step.second, BlockState::moving);
  if (moving != kNoBlock && arena_->settle(moving, BlockState::live) != moving) {
    return "settled as live";
  }
  if (arena_->allocate(512, 3) != kNoBlock || arena_->allocate(512, 0) != kNoBlock) {
    return "took a bad alignment";
  }
  if (arena_->allocate(512, 512, kMaxReadinessSlots) != kNoBlock) return "took a bad slot";
  const std::uint64_t range = config_.range_bytes;
  const Range bad[] = {{0, 0},
                       {range, 512},
                       {0, range + config_.page_bytes},
                       {1, 512},
                       {0, 511},
                       {kHuge - 511, 512},
                       {512, kHuge - 511},
                       {kHuge - 511, kHuge - 511}};
  for (const Range& wrong : bad) {
    if (arena_->fill(wrong) || arena_->vacate(wrong)) return "changed pages of a wrong range";
    if (arena_->begin_move(wrong) != kNoBlock) return "moved a wrong range";
    if (wrong.bytes != 512 && wrong.bytes != 511 && arena_->pin_range(wrong)) {
      return "pinned a wrong range";
    }
  }
  if (arena_->find_live(range) != kNoBlock || arena_->find_live(kHuge) != kNoBlock ||
      arena_->find_containing(range) != kNoBlock || arena_->find_containing(kHuge) != kNoBlock) {
    return "found a block beyond the range";
  }
  return {};
}

}  // namespace cistern::core::testing
