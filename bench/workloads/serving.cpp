#include "bench/workloads/serving.hpp"

#include <array>

#include "bench/workloads/random.hpp"

namespace cistern::bench {
namespace {

constexpr std::uint32_t kLayers = 32;
constexpr std::uint32_t kHidden = 4096;
constexpr std::uint32_t kFeedForward = 11'008;
constexpr std::uint32_t kVocabulary = 32'000;
constexpr std::uint32_t kBytesPerValue = 2;  // fp16

constexpr std::uint32_t kSequences = 16;
constexpr std::uint32_t kMostKvBlocks = 24;  // of one sequence
constexpr std::uint32_t kSmallBuffers = 12;
constexpr std::uint32_t kActivations = 5;  // live at once in a layer
constexpr unsigned kSteps = 400;           // in a cycle
constexpr unsigned kGrowPercent = 10;      // that a sequence needs another KV block in a step
constexpr unsigned kEndPercent = 1;        // that it ends

class Server {
 public:
  explicit Server(std::uint64_t seed) : random_(seed) { workload_.name = "W3"; }

  Workload run() {
    load_weights();
    for (unsigned i = 0; i < kSteps; ++i) step();
    for (std::uint32_t sequence = 0; sequence < kSequences; ++sequence) end_sequence(sequence);
    workload_.slots = first_activation() + kActivations;
    return std::move(workload_);
  }

 private:
  static constexpr std::uint32_t kWeights = 291;  // 9 a layer, embedding, output, last norm
  static constexpr std::uint32_t slot_of_kv(std::uint32_t sequence) { return kWeights + sequence * kMostKvBlocks; }
  static constexpr std::uint32_t first_small() { return slot_of_kv(kSequences); }
  static constexpr std::uint32_t first_activation() { return first_small() + kSmallBuffers; }

  void load_weights() {
    constexpr std::uint32_t kSquare = kHidden * kHidden * kBytesPerValue;
    constexpr std::uint32_t kWide = kHidden * kFeedForward * kBytesPerValue;
    constexpr std::uint32_t kNorm = kHidden * kBytesPerValue;
    constexpr std::uint32_t kTable = kVocabulary * kHidden * kBytesPerValue;
    std::uint32_t slot = 0;
    workload_.opening.push_back({slot++, kTable});
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      for (const std::uint32_t bytes : {kSquare, kSquare, kSquare, kSquare, kWide, kWide, kWide, kNorm, kNorm}) {
        workload_.opening.push_back({slot++, bytes});
      }
    }
    workload_.opening.push_back({slot++, kNorm});
    workload_.opening.push_back({slot++, kTable});
  }

  // One token for every sequence.
  void step() {
    for (std::uint32_t buffer = 0; buffer < kSmallBuffers; ++buffer) {
      allocate(first_small() + buffer, random_.size(8, 14));
    }
    for (std::uint32_t sequence = 0; sequence < kSequences; ++sequence) advance(sequence);
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) run_layer();
    for (std::uint32_t buffer = 0; buffer < kSmallBuffers; ++buffer) release(first_small() + buffer);
  }

  void advance(std::uint32_t sequence) {
    std::uint32_t& blocks = kv_blocks_[sequence];
    if (blocks == kMostKvBlocks || random_.chance(kEndPercent)) {
      end_sequence(sequence);
    } else if (blocks == 0 || random_.chance(kGrowPercent)) {
      allocate(slot_of_kv(sequence) + blocks++, random_.size(19, 24));
    }
  }

  void end_sequence(std::uint32_t sequence) {
    std::uint32_t& blocks = kv_blocks_[sequence];
    while (blocks > 0) release(slot_of_kv(sequence) + --blocks);
  }

  // Of a batch of one token a sequence: projections, attention scores, the two halves of the feed-forward.
  void run_layer() {
    constexpr std::uint32_t kTokens = kSequences * kBytesPerValue;
    const std::array<std::uint32_t, kActivations> sizes = {
        kTokens * kHidden, kTokens * kHidden * 3, kTokens * 32 * 1024, kTokens * kFeedForward, kTokens * kFeedForward};
    for (std::uint32_t i = 0; i < kActivations; ++i) allocate(first_activation() + i, sizes[i]);
    for (std::uint32_t i = kActivations; i > 0; --i) release(first_activation() + i - 1);
  }

  void allocate(std::uint32_t slot, std::uint32_t bytes) { workload_.cycle.push_back({slot, bytes}); }
  void release(std::uint32_t slot) { workload_.cycle.push_back({slot, 0}); }

  Random random_;
  Workload workload_;
  std::array<std::uint32_t, kSequences> kv_blocks_{};
};

}  // namespace

Workload serving() { return Server(3).run(); }

}  // namespace cistern::bench
