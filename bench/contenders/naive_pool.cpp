#include "bench/contenders/naive_pool.hpp"

#include <iterator>

#include "base/bits.hpp"

namespace cistern::bench {
namespace {

constexpr std::uint64_t kGranule = 512;

}  // namespace

NaivePool::NaivePool() { add_hole(kFirstPlace, kRange); }

Place NaivePool::allocate(std::uint64_t bytes) {
  const std::uint64_t needed = base::round_up(bytes, kGranule);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto tightest = by_size_.lower_bound(needed);
  if (tightest == by_size_.end()) return 0;
  const auto [hole_bytes, place] = *tightest;
  remove_hole(by_place_.find(place));
  if (hole_bytes > needed) add_hole(place + needed, hole_bytes - needed);
  live_.emplace(place, needed);
  return place;
}

void NaivePool::free(Place place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto block = live_.find(place);
  if (block == live_.end()) return;
  std::uint64_t bytes = block->second;
  live_.erase(block);
  const auto after = by_place_.lower_bound(place);
  const auto before = after == by_place_.begin() ? by_place_.end() : std::prev(after);
  if (after != by_place_.end() && after->first == place + bytes) {
    bytes += after->second->first;
    remove_hole(after);
  }
  if (before != by_place_.end() && before->first + before->second->first == place) {
    place = before->first;
    bytes += before->second->first;
    remove_hole(before);
  }
  add_hole(place, bytes);
}

void NaivePool::add_hole(Place place, std::uint64_t bytes) { by_place_[place] = by_size_.emplace(bytes, place); }

void NaivePool::remove_hole(HolesByPlace::iterator hole) {
  by_size_.erase(hole->second);
  by_place_.erase(hole);
}

}  // namespace cistern::bench
