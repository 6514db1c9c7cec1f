#include "replay/fragmentation.hpp"

#include <algorithm>

namespace cistern::replay {

void FragmentationSampler::add(double rate, double exposure) noexcept {
  ++seen_.samples;
  seen_.mean_rate += rate;
  seen_.mean_exposure += exposure;
  seen_.max_rate = std::max(seen_.max_rate, rate);
  seen_.max_exposure = std::max(seen_.max_exposure, exposure);
}

void FragmentationSampler::add_stitchable(double share) noexcept {
  ++with_holes_;
  seen_.mean_stitchable_share += share;
}

FragmentationSamples FragmentationSampler::samples() const noexcept {
  FragmentationSamples means = seen_;
  if (means.samples != 0) {
    means.mean_rate /= static_cast<double>(means.samples);
    means.mean_exposure /= static_cast<double>(means.samples);
  }
  if (with_holes_ != 0) means.mean_stitchable_share /= static_cast<double>(with_holes_);
  return means;
}

}  // namespace cistern::replay
