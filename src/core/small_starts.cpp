#include "core/small_starts.hpp"

namespace cistern::core {
namespace {

constexpr std::uint64_t kLeavesBacked = 32;  // 32 KiB

}  // namespace

base::Result<SmallStarts> SmallStarts::create(std::uint64_t regions) noexcept {
  auto leaf_of = base::LazyTable<std::atomic<std::uint32_t>>::create(regions);
  if (!leaf_of.is_ok()) return leaf_of.take_status();
  auto leaves = base::LazyTable<Leaf>::create(regions + 1);
  if (!leaves.is_ok()) return leaves.take_status();
  auto info = base::LazyTable<LeafInfo>::create(regions + 1);
  if (!info.is_ok()) return info.take_status();
  SmallStarts starts;
  starts.leaf_of_ = leaf_of.take();
  starts.leaves_ = leaves.take();
  starts.info_ = info.take();
  return starts;
}

void SmallStarts::back(std::uint64_t first_region, std::uint64_t regions) noexcept {
  leaf_of_.back(first_region, regions);
  leaves_.back(0, kLeavesBacked);
  info_.back(0, kLeavesBacked);
}

std::uint64_t SmallStarts::leaves() const noexcept {
  std::uint64_t spare = 0;
  for (std::uint32_t leaf = spare_; leaf != kNoLeaf; leaf = info_[leaf].next_spare) ++spare;
  return next_fresh_ - 1 - spare;
}

}  // namespace cistern::core
