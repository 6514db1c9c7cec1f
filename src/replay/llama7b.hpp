// LLaMA-7B in fp16 as the memory sees it: its weights, its KV cache, and the tensors of one forward pass.
//
// The sizes follow from the model's published shape. The order and lifetimes of a pass are those of an eager framework
// that gives every operator's result a tensor of its own, as traces of such a run show: a decode step makes 1,558
// tensors. One thing differs: there the cache is one growing tensor a layer, copied whole at every token; here it
// grows by blocks of tokens that never move, and a layer gathers its K and V into a contiguous tensor each for as long
// as its attention runs.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/tensor_plan.hpp"

namespace cistern::replay::llama7b {

inline constexpr std::uint64_t kLayers = 32;
inline constexpr std::uint64_t kHidden = 4096;
inline constexpr std::uint64_t kFeedForward = 11008;
inline constexpr std::uint64_t kVocabulary = 32000;
inline constexpr std::uint64_t kHeads = 32;
inline constexpr std::uint64_t kHeadSize = kHidden / kHeads;
inline constexpr std::uint64_t kHalf = 2;    // bytes of fp16
inline constexpr std::uint64_t kSingle = 4;  // bytes of fp32

// K and V of one token in one layer: 16 KiB; in all layers: 512 KiB.
inline constexpr std::uint64_t kKvBytesPerTokenAndLayer = 2 * kHidden * kHalf;
inline constexpr std::uint64_t kKvBytesPerToken = kLayers * kKvBytesPerTokenAndLayer;

// Bytes of each weight tensor, in loading order: 291 of them.
std::vector<std::uint64_t> weight_tensors();
std::uint64_t parameter_count();

// One forward pass: `tokens` new tokens (1: a decode step; more: a chunk of a prompt) at the end of `context` tokens,
// the new ones included.
struct Pass {
  std::uint64_t tokens = 1;
  std::uint64_t context = 1;
  std::uint64_t kv_block_tokens = 128;
  std::uint64_t kv_alignment_bytes = 0;  // most that a block of cache is aligned to, by the power of two in its size
};

// The blocks of cache that this pass is first to need appear as kept tensors, in every layer; those of a layer belong
// to one buffer, which has the layer's number, from 1.
TensorPlan forward_pass(const Pass& pass);

// Bytes of blocks that hold `tokens` tokens in all layers.
std::uint64_t kv_bytes(std::uint64_t tokens, std::uint64_t kv_block_tokens) noexcept;

// The most tokens that a pass ending at `context` may add with its transient tensors within `activation_bytes`; 0 when
// not even one token's do.
std::uint64_t longest_chunk(std::uint64_t context, std::uint64_t activation_bytes);

}  // namespace cistern::replay::llama7b
