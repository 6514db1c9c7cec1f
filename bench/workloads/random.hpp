// Random: numbers from a seed, by integer arithmetic alone, so that they are the same everywhere.
//
// The generator is a counter put through a mixing function (the SplitMix scheme): every seed is as good as another.
#pragma once

#include <cstdint>

namespace cistern::bench {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15ull;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
    return mixed ^ (mixed >> 31);
  }
  // In [0, bound), bound > 0 and small against 2^64.
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) noexcept { return least + below(most - least + 1); }
  bool chance(unsigned percent) noexcept { return below(100) < percent; }

  // In [2^least_log2, 2^most_log2): every power of two is as likely as the next, and within one all sizes are.
  std::uint32_t size(unsigned least_log2, unsigned most_log2) noexcept {
    const std::uint64_t octave = std::uint64_t{1} << between(least_log2, most_log2 - 1);
    return static_cast<std::uint32_t>(octave + below(octave));
  }

 private:
  std::uint64_t state_;
};

}  // namespace cistern::bench
