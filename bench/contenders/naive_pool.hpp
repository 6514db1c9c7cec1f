// NaivePool: the pool that one writes on a first afternoon, of the standard library's parts: holes by size in a
// multimap (exact best fit), holes by address in a map (to merge neighbours), a hash table from pointer to size, a
// mutex.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

#include "bench/contenders/contender.hpp"

namespace cistern::bench {

class NaivePool {
 public:
  NaivePool();
  Place allocate(std::uint64_t bytes);
  void free(Place place);
  std::uint64_t end_of(Place place) const { return place + live_.at(place) - kFirstPlace; }
  std::uint64_t reserved_bytes() const noexcept { return 0; }

 private:
  using HolesBySize = std::multimap<std::uint64_t, Place>;
  using HolesByPlace = std::map<Place, HolesBySize::iterator>;

  static constexpr Place kFirstPlace = 512;  // 0 is no place
  static constexpr std::uint64_t kRange = std::uint64_t{1} << 40;

  void add_hole(Place place, std::uint64_t bytes);
  void remove_hole(HolesByPlace::iterator hole);

  std::mutex mutex_;
  HolesBySize by_size_;
  HolesByPlace by_place_;
  std::unordered_map<Place, std::uint64_t> live_;  // bytes
};

}  // namespace cistern::bench
