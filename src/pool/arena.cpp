#include "pool/arena.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "base/bits.hpp"
#include "base/units.hpp"

namespace cistern::pool {
namespace {

// What a model server has live: tables for so many cost 100 KiB, and save the first requests a page fault each few.
constexpr std::uint64_t kExpectedBlocks = 1024;

}  // namespace

std::string_view arena_kind_name(ArenaKind kind) noexcept {
  switch (kind) {
    case ArenaKind::expandable:
      return "expandable";
    case ArenaKind::driver:
      return "driver";
    case ArenaKind::direct:
      return "direct";
  }
  return "unknown";
}

base::Result<std::unique_ptr<Arena>> Arena::create_expandable(device::Device& device, core::FitPolicy policy,
                                                              std::uint64_t page_bytes, std::uint64_t range_bytes,
                                                              std::uint64_t least_bytes) {
  std::unique_ptr<Arena> arena(new Arena(device, ArenaKind::expandable));
  arena->page_bytes_ = page_bytes;
  const std::uint64_t least = base::round_up(least_bytes, page_bytes);
  std::uint64_t bytes = std::max(base::round_up(range_bytes, page_bytes), least);
  auto reserved = device.reserve(bytes, page_bytes);
  while (!reserved.is_ok() && bytes > least) {
    bytes = std::max(base::round_up(bytes / 2, page_bytes), least);
    reserved = device.reserve(bytes, page_bytes);
  }
  if (!reserved.is_ok()) {
    return reserved.status().with_context("cannot reserve " + base::format_bytes(bytes) +
                                          " of addresses for an expandable arena");
  }
  arena->base_ = reserved.value();
  arena->range_bytes_ = bytes;
  base::Status divided = arena->divide(policy, false);
  if (divided.is_ok()) return arena;
  (void)device.release(arena->base_, bytes);  // the first failure is the one to tell
  return divided;
}

base::Result<std::unique_ptr<Arena>> Arena::create_driver(device::Device& device, core::FitPolicy policy,
                                                          std::uint64_t bytes, ArenaKind kind) {
  std::unique_ptr<Arena> arena(new Arena(device, kind));
  auto allocated = device.malloc(bytes);
  if (!allocated.is_ok()) return allocated.take_status();
  arena->base_ = allocated.value();
  arena->range_bytes_ = bytes;
  arena->mapped_bytes_ = bytes;
  base::Status divided = arena->divide(policy, true);
  if (divided.is_ok()) return arena;
  (void)device.free(arena->base_);
  return divided;
}

base::Status Arena::divide(core::FitPolicy policy, bool filled) {
  origin_ = base::round_down(base_, kMaxAlignment);
  core::SuballocatorConfig config;
  if (kind_ == ArenaKind::expandable) config.expected_blocks = kExpectedBlocks;
  config.expected_offset = first_offset();
  config.page_bytes = page_bytes_ != 0 ? page_bytes_ : core::kGranuleBytes;
  config.range_bytes = first_offset() + range_bytes_;
  config.policy = policy;
  auto blocks = core::Suballocator::create(config);
  if (!blocks.is_ok()) return blocks.take_status();
  blocks_ = blocks.take();
  if (first_offset() > 0 && blocks_->begin_move({0, first_offset()}) == core::kNoBlock) {
    return base::internal_error("a new arena refused its guard block");
  }
  if (filled && !blocks_->fill({first_offset(), range_bytes_})) {
    return base::internal_error("a new arena refused to be filled");
  }
  if (page_bytes_ == 0) return {};
  page_shift_ = static_cast<unsigned>(std::countr_zero(page_bytes_));
  auto table = base::LazyTable<std::atomic<device::PageHandle>>::create(config.range_bytes >> page_shift_);
  if (!table.is_ok()) return table.take_status();
  page_of_ = table.take();
  auto changes = base::LazyTable<std::atomic<std::uint64_t>>::create(config.range_bytes >> page_shift_);
  if (!changes.is_ok()) return changes.take_status();
  changed_at_ = changes.take();
  return {};
}

base::Status Arena::give_back(std::vector<device::PageHandle>* pages) {
  if (kind_ != ArenaKind::expandable) {
    base::Status freed = device_->free(base_);
    if (freed.is_ok()) mapped_bytes_ = 0;
    return freed;
  }
  base::Status first_failure;
  for (std::uint64_t offset = first_offset(); offset < first_offset() + range_bytes_ && mapped_bytes_ > 0;
       offset += page_bytes_) {
    if (page_at(offset) == device::kNoPage) continue;
    auto page = unmap_page(offset);
    if (page.is_ok()) {
      pages->push_back(page.value());
      mapped_bytes_ -= page_bytes_;
    } else if (first_failure.is_ok()) {
      first_failure = page.take_status();
    }
  }
  if (!first_failure.is_ok()) return first_failure;
  return device_->release(base_, range_bytes_);
}

bool Arena::is_wholly_free() const noexcept {
  const core::SpaceTotals& totals = blocks_->totals();
  return registrations_ == 0 && totals.live_blocks == 0 && totals.free_pending_bytes == 0 &&
         totals.moving_bytes == first_offset();
}

bool Arena::register_range(core::Range range) noexcept {
  if (!blocks_->pin_range(range)) return false;
  ++registrations_;
  return true;
}

bool Arena::unregister_range(core::Range range) noexcept {
  if (!blocks_->unpin_range(range)) return false;
  --registrations_;
  return true;
}

base::Status Arena::map_page(std::uint64_t offset, device::PageHandle page) noexcept {
  base::Status mapped = device_->map(address_of(offset), page);
  if (mapped.is_ok()) set_page(offset, page);
  return mapped;
}

base::Result<device::PageHandle> Arena::unmap_page(std::uint64_t offset) noexcept {
  const device::PageHandle page = page_at(offset);
  base::Status unmapped = device_->unmap(address_of(offset), page);
  if (!unmapped.is_ok()) return unmapped;
  set_page(offset, device::kNoPage);
  return page;
}

base::Status Arena::move_page(std::uint64_t from, std::uint64_t to) noexcept {
  const device::PageHandle page = page_at(from);
  base::Status moved = device_->move_page(address_of(from), address_of(to), page);
  if (!moved.is_ok()) return moved;
  set_page(from, device::kNoPage);
  set_page(to, page);
  return {};
}

std::uint64_t Arena::backing_generation(core::Range range) const noexcept {
  std::uint64_t newest = 0;
  if (page_bytes_ == 0) return newest;
  for (std::uint64_t page = range.offset >> page_shift_; page << page_shift_ < range.end(); ++page) {
    newest = std::max(newest, changed_at_[page].load(std::memory_order_relaxed));
  }
  return newest;
}

base::Status Arena::enable_access(core::Range range) noexcept {
  return device_->set_access(address_of(range.offset), range.bytes, device::Access::read_write);
}

std::vector<ExtentSnapshot> Arena::extents() const {
  if (page_bytes_ == 0) return {{base_, range_bytes_}};
  std::vector<ExtentSnapshot> found;
  std::uint64_t next = first_offset();  // the first page not looked at yet
  for (auto index = blocks_->first_block(); index != core::kNoBlock; index = blocks_->next_block(index)) {
    const core::BlockView block = blocks_->view(index);
    if (block.state == core::BlockState::vacant) continue;
    next = std::max(next, base::round_down(block.range.offset, page_bytes_));
    for (; next < block.range.end(); next += page_bytes_) {
      if (page_at(next) == device::kNoPage) continue;
      const device::Address address = address_of(next);
      if (!found.empty() && found.back().address + found.back().bytes == address) {
        found.back().bytes += page_bytes_;
      } else {
        found.push_back({address, page_bytes_});
      }
    }
  }
  return found;
}

}  // namespace cistern::pool
