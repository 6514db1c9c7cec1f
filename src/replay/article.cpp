#include "replay/article.hpp"

#include <array>
#include <random>

namespace cistern::replay::article {

TensorPlan inference(std::uint64_t seed, std::uint64_t activation_bytes) {
  std::mt19937_64 random(seed);  // its sequence is the standard's, the same everywhere
  std::array<std::uint64_t, kTensors> shares;
  std::uint64_t sum = 0;
  for (std::uint64_t& share : shares) {
    share = 500 + random() % 1001;
    sum += share;
  }
  TensorPlan plan;
  std::uint64_t left = activation_bytes;
  for (std::uint32_t tensor = 0; tensor + 1 < kTensors; ++tensor) {
    const std::uint64_t bytes = activation_bytes * shares[tensor] / sum / 2 * 2;  // whole fp16 numbers
    plan.make(bytes);
    left -= bytes;
  }
  plan.make(left);
  for (std::uint32_t tensor = 0; tensor < kTensors; ++tensor) plan.drop(tensor);
  return plan;
}

}  // namespace cistern::replay::article
