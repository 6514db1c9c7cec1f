// Fragmentation as a run goes on: what was seen each time somebody looked, and the means of it.
#pragma once

#include <cstdint>

namespace cistern::replay {

struct FragmentationSamples {
  std::uint64_t every_events = 0;  // of a replayed trace; 0: after each request
  std::uint64_t samples = 0;
  double mean_rate = 0;
  double max_rate = 0;
  double mean_exposure = 0;
  double max_exposure = 0;
  // Of the bytes of holes, those in whole pages that may move, which stitching can use: the mean of the samples where
  // there was a hole. 0 where there is no pool.
  double mean_stitchable_share = 0;
};

// Thread-safety: none.
class FragmentationSampler {
 public:
  void add(double rate, double exposure) noexcept;
  // Where there is a hole, in a pool.
  void add_stitchable(double share) noexcept;
  FragmentationSamples samples() const noexcept;

 private:
  FragmentationSamples seen_;  // sums in the place of means
  std::uint64_t with_holes_ = 0;
};

}  // namespace cistern::replay
