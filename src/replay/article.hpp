// The published account of LLaMA-7B on a memory pool, taken at its word: the figures it prints, and its inference of 20
// intermediate tensors. Scenarios set their own figures beside these.
#pragma once

#include <cstdint>

#include "replay/tensor_plan.hpp"

namespace cistern::replay::article {

inline constexpr std::uint64_t kWeightBytes = 14'000'000'000;
inline constexpr std::uint64_t kKvBytes = 8'000'000'000;
inline constexpr std::uint64_t kKvTokens = 131'072;  // said to need those 8 GB; see docs/guide/scenarios.md
inline constexpr std::uint64_t kActivationBytes = 3'500'000'000;
inline constexpr std::uint32_t kTensors = 20;
inline constexpr double kPairMinMs = 0.5;  // a driver's malloc and free together
inline constexpr double kPairMaxMs = 2.0;
inline constexpr double kComputeMs = 15;
inline constexpr double kShareMin = 0.40;  // of an inference's time that goes into memory
inline constexpr double kShareMax = 0.70;
inline constexpr std::uint64_t kDirectFragmentationBytes = 500'000'000;
inline constexpr double kDirectMemoryMs = 15;
inline constexpr std::uint64_t kPoolFragmentationBytes = 0;
inline constexpr double kPoolMemoryMs = 1;  // "under"

// Twenty tensors of sizes drawn from `seed`, `activation_bytes` in all, every one live at the peak. The account gives
// only the number and the peak, so the sizes, within a factor of three of each other, are ours. Between 1 KiB and 1
// PiB.
TensorPlan inference(std::uint64_t seed, std::uint64_t activation_bytes);

}  // namespace cistern::replay::article
