// Deterministic inputs: the same seed, shape and type give the same bytes on every machine.
//
// Real activations need plausible inputs, not real ones: floating point values are uniform in [-1, 1), 8-bit integers
// take their whole range (images), wider integers are 0 or 1 (they are mostly masks and indices, and those two are
// valid in nearly every model), booleans are 0 or 1.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "engine/tensor.hpp"

namespace cistern::engine {

// A well-mixed function of two numbers: the one source of randomness of the engine.
std::uint64_t mix(std::uint64_t seed, std::uint64_t value) noexcept;

base::Result<Tensor> make_tensor(ElementType type, std::vector<std::int64_t> shape, std::uint64_t seed) noexcept;

// One tensor an input, `shapes` in the order of `inputs`; input i is seeded by mix(seed, i).
base::Result<std::vector<Tensor>> make_inputs(const std::vector<TensorInfo>& inputs,
                                              const std::vector<std::vector<std::int64_t>>& shapes,
                                              std::uint64_t seed) noexcept;

}  // namespace cistern::engine
