#include "replay/llama7b.hpp"

#include <algorithm>
#include <numeric>

namespace cistern::replay::llama7b {
namespace {

constexpr std::uint64_t kScalarBytes = 8;  // a number that an operator takes as a tensor

// Writes the operators of one pass into a plan. A function a part of the network, in the order in which they run.
class PassWriter {
 public:
  explicit PassWriter(const Pass& pass) : pass_(pass), tokens_(pass.tokens) {}

  TensorPlan write() {
    enter();
    for (layer_ = 1; layer_ <= kLayers; ++layer_) write_layer();
    leave();
    return std::move(plan_);
  }

 private:
  using Slot = TensorPlan::Slot;

  bool is_prompt() const noexcept { return tokens_ > 1; }
  std::uint64_t hidden_bytes() const noexcept { return tokens_ * kHidden * kHalf; }
  std::uint64_t score_bytes() const noexcept { return kHeads * tokens_ * pass_.context * kHalf; }
  Slot make(std::uint64_t bytes) { return plan_.make(bytes); }
  void drop(Slot slot) { plan_.drop(slot); }

  // A result that replaces its only operand.
  Slot turn(Slot operand, std::uint64_t bytes) {
    const Slot result = make(bytes);
    drop(operand);
    return result;
  }

  // Token numbers, embeddings, the tables of the rotary embedding, and for a prompt the causal mask.
  void enter() {
    held_.push_back(make(tokens_ * 8));  // token numbers, int64
    hidden_ = make(hidden_bytes());
    held_.push_back(turn(make(tokens_ * 8), tokens_ * kSingle));                // positions
    held_.push_back(turn(make(kHeadSize * kSingle), kHeadSize / 2 * kSingle));  // inverse frequencies
    held_.push_back(make(tokens_ * kHeadSize / 2 * kSingle));                   // angles
    held_.push_back(make(tokens_ * kHeadSize * kSingle));
    for (int table = 0; table < 2; ++table) {  // cosines and sines, rounded to fp16
      held_.push_back(turn(make(tokens_ * kHeadSize * kSingle), tokens_ * kHeadSize * kHalf));
    }
    if (is_prompt()) held_.push_back(turn(make(tokens_ * pass_.context * kHalf), tokens_ * pass_.context * kHalf));
  }

  void write_layer() {
    const Slot normalised = normalise(tokens_);
    const Slot query_source = make(hidden_bytes());
    const Slot key_source = make(hidden_bytes());
    const Slot value = make(hidden_bytes());
    const Slot query = rotate();
    const Slot key = rotate();
    drop(key_source);
    drop(query_source);
    store_in_cache();
    const Slot all_keys = make(pass_.context * kHidden * kHalf);
    const Slot all_values = make(pass_.context * kHidden * kHalf);
    drop(value);
    drop(key);
    const Slot weights = attention_weights();
    const Slot attended = attend(normalised);
    drop(all_keys);
    drop(all_values);
    const Slot middle = turn(make(hidden_bytes()), hidden_bytes());  // output projection, plus the layer's input
    const Slot middle_normalised = normalise(tokens_);
    drop(attended);
    const Slot output = feed_forward();
    for (const Slot slot : {middle, middle_normalised, query, weights, hidden_}) drop(slot);
    hidden_ = output;
  }

  // RMS normalisation, computed in fp32: 9 tensors of which the last stays.
  Slot normalise(std::uint64_t rows) {
    const std::uint64_t wide = rows * kHidden * kSingle;
    const Slot input = make(wide);
    const Slot mean = turn(make(wide), rows * kSingle);
    const Slot inverse_root = turn(turn(make(kScalarBytes), rows * kSingle), rows * kSingle);
    const Slot scaled = make(wide);
    drop(inverse_root);
    drop(input);
    const Slot result = turn(make(wide / 2), wide / 2);
    drop(scaled);
    drop(mean);
    return result;
  }

  // Rotary embedding: x * cos + rotate_half(x) * sin.
  Slot rotate() {
    const Slot by_cosine = make(hidden_bytes());
    const Slot by_sine = turn(turn(make(hidden_bytes() / 2), hidden_bytes()), hidden_bytes());
    const Slot result = make(hidden_bytes());
    drop(by_cosine);
    drop(by_sine);
    return result;
  }

  void store_in_cache() {
    const std::uint64_t block = pass_.kv_block_tokens;
    const std::uint64_t before = (pass_.context - tokens_ + block - 1) / block;
    const std::uint64_t after = (pass_.context + block - 1) / block;
    const std::uint64_t bytes = block * kKvBytesPerTokenAndLayer;
    const std::uint64_t alignment = std::min(bytes & (~bytes + 1), pass_.kv_alignment_bytes);
    for (std::uint64_t next = before; next < after; ++next) plan_.keep(bytes, alignment, layer_);
  }

  // Scores, scaled, masked in a prompt, softmax in fp32, back to fp16.
  Slot attention_weights() {
    const Slot raw = make(score_bytes());
    const Slot scale = make(kScalarBytes);
    Slot scores = make(score_bytes());
    drop(scale);
    drop(raw);
    if (is_prompt()) scores = turn(scores, score_bytes());
    const Slot wide = turn(make(2 * score_bytes()), 2 * score_bytes());
    const Slot weights = turn(wide, score_bytes());
    drop(scores);
    return weights;
  }

  // Weights times V; a prompt's result is put back in token order by a copy.
  Slot attend(Slot normalised) {
    Slot result = make(hidden_bytes());
    if (is_prompt()) result = turn(result, hidden_bytes());
    drop(normalised);
    return result;
  }

  // Gate, SiLU, up, their product, down, plus the residual.
  Slot feed_forward() {
    const std::uint64_t inner = tokens_ * kFeedForward * kHalf;
    const Slot activated = turn(make(inner), inner);
    const Slot up = make(inner);
    const Slot product = make(inner);
    drop(activated);
    drop(up);
    return turn(turn(product, hidden_bytes()), hidden_bytes());
  }

  // The last token's normalisation and logits.
  void leave() {
    const Slot logits = turn(normalise(1), kVocabulary * kHalf);
    drop(hidden_);
    for (const Slot slot : held_) drop(slot);
    drop(logits);
  }

  Pass pass_;
  std::uint64_t tokens_;
  TensorPlan plan_;
  std::vector<Slot> held_;  // until the end of the pass
  Slot hidden_ = 0;         // the layer's input
  std::uint32_t layer_ = 0;
};

}  // namespace

std::vector<std::uint64_t> weight_tensors() {
  constexpr std::uint64_t kNorm = kHidden * kHalf;
  constexpr std::uint64_t kSquare = kHidden * kHidden * kHalf;
  constexpr std::uint64_t kWide = kHidden * kFeedForward * kHalf;
  constexpr std::uint64_t kTable = kVocabulary * kHidden * kHalf;
  std::vector<std::uint64_t> sizes{kTable};  // embeddings
  for (std::uint64_t layer = 0; layer < kLayers; ++layer) {
    sizes.insert(sizes.end(), {kNorm, kSquare, kSquare, kSquare, kSquare, kNorm, kWide, kWide, kWide});
  }
  sizes.insert(sizes.end(), {kNorm, kTable});  // last norm, output head
  return sizes;
}

std::uint64_t parameter_count() {
  const auto sizes = weight_tensors();
  return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) / kHalf;
}

TensorPlan forward_pass(const Pass& pass) { return PassWriter(pass).write(); }

std::uint64_t kv_bytes(std::uint64_t tokens, std::uint64_t kv_block_tokens) noexcept {
  return (tokens + kv_block_tokens - 1) / kv_block_tokens * kv_block_tokens * kKvBytesPerToken;
}

std::uint64_t longest_chunk(std::uint64_t context, std::uint64_t activation_bytes) {
  const auto fits = [&](std::uint64_t tokens) {
    return forward_pass({tokens, context, context}).peak_transient_bytes() <= activation_bytes;
  };
  if (!fits(1)) return 0;
  std::uint64_t most = 1;
  std::uint64_t too_many = context + 1;
  while (too_many - most > 1) {
    const std::uint64_t middle = most + (too_many - most) / 2;
    (fits(middle) ? most : too_many) = middle;
  }
  return most;
}

}  // namespace cistern::replay::llama7b
