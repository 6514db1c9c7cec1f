// Runs for planners: made up, random, and shaped like networks.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "plan/lifetimes.hpp"

namespace cistern::plan::testing {

// `count` tensors of up to `most_units` * 512 bytes; most live shortly, some long.
inline std::vector<Lifetime> random_run(std::uint32_t seed, std::size_t count, std::uint64_t times,
                                        std::uint64_t most_units) {
  std::mt19937 random(seed);
  const auto below = [&random](std::uint64_t bound) { return random() % bound; };
  std::vector<Lifetime> run;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t lower = below(times);
    const std::uint64_t most = below(8) == 0 ? times : 1 + times / 50;
    run.push_back({lower, lower + 1 + below(most), 512 * (1 + below(most_units))});
  }
  return run;
}

// Plays a network: make() and drop() as its operators run.
class NetworkRun {
 public:
  std::size_t make(double megabytes) {
    run_.push_back({time_++, 0, static_cast<std::uint64_t>(megabytes * 1e6)});
    return run_.size() - 1;
  }
  void drop(std::size_t tensor) { run_[tensor].upper = time_++; }
  // An operator: its output lives, its input goes.
  std::size_t step(std::size_t input, double megabytes) {
    const std::size_t output = make(megabytes);
    drop(input);
    return output;
  }
  std::vector<Lifetime> finish() {
    for (Lifetime& lifetime : run_) {
      if (lifetime.upper == 0) lifetime.upper = time_;
    }
    return run_;
  }

 private:
  std::vector<Lifetime> run_;
  std::uint64_t time_ = 1;
};

// An encoder that halves resolution, keeps each level for the decoder, and doubles channels; a decoder that joins them
// again. Around each operator there is a workspace. Megabytes of the first level scale everything.
inline std::vector<Lifetime> unet_run(int levels, int blocks, double megabytes) {
  NetworkRun run;
  std::vector<std::size_t> skips;
  std::size_t x = run.make(megabytes);
  double size = megabytes;
  const auto block = [&run](std::size_t input, double bytes) {
    const std::size_t normalised = run.make(bytes);
    const std::size_t workspace = run.make(bytes * 2.25);
    const std::size_t convolved = run.make(bytes);
    run.drop(workspace);
    run.drop(normalised);
    const std::size_t scores = run.make(bytes * 0.75);
    const std::size_t sum = run.make(bytes);
    run.drop(scores);
    run.drop(convolved);
    run.drop(input);
    return sum;
  };
  for (int level = 0; level < levels; ++level) {
    for (int i = 0; i < blocks; ++i) {
      const std::size_t kept = run.make(size);
      skips.push_back(kept);
      x = block(x, size);
    }
    size /= 2;
    x = run.step(x, size);
  }
  for (int level = 0; level < levels; ++level) {
    size *= 2;
    x = run.step(x, size);
    for (int i = 0; i < blocks; ++i) {
      const std::size_t joined = run.make(2 * size);
      run.drop(skips.back());
      skips.pop_back();
      run.drop(x);
      x = block(joined, size);
    }
  }
  return run.finish();
}

}  // namespace cistern::plan::testing
