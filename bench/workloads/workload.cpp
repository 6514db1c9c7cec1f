#include "bench/workloads/workload.hpp"

#include <algorithm>
#include <utility>

namespace cistern::bench {
namespace {

// Plays operations against nothing but the rules: a slot is allocated when empty, freed when live.
class RulesCheck {
 public:
  RulesCheck(const Workload& workload, WorkloadFacts* facts) : sizes_(workload.slots), facts_(facts) {}

  void play(const std::vector<Operation>& operations, const char* part) {
    for (std::size_t index = 0; index < operations.size() && facts_->fault.empty(); ++index) {
      if (!is_allowed(operations[index])) {
        facts_->fault = "operation " + std::to_string(index) + " of the " + part + ", slot " +
                        std::to_string(operations[index].slot) + ", " + std::to_string(operations[index].bytes) + " B";
        return;
      }
      apply(operations[index]);
    }
  }
  const std::vector<std::uint32_t>& sizes() const noexcept { return sizes_; }
  std::uint64_t live_blocks() const noexcept { return live_blocks_; }

 private:
  bool is_allowed(const Operation& operation) const {
    return operation.slot < sizes_.size() && (sizes_[operation.slot] == 0) == (operation.bytes != 0);
  }
  void apply(const Operation& operation) {
    const std::uint32_t before = std::exchange(sizes_[operation.slot], operation.bytes);
    live_bytes_ += operation.bytes;
    live_bytes_ -= before;
    live_blocks_ += operation.bytes != 0 ? 1 : 0;
    live_blocks_ -= before != 0 ? 1 : 0;
    facts_->peak_live_bytes = std::max(facts_->peak_live_bytes, live_bytes_);
    facts_->peak_live_blocks = std::max(facts_->peak_live_blocks, live_blocks_);
  }

  std::vector<std::uint32_t> sizes_;  // by slot; 0: not live
  WorkloadFacts* facts_;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t live_blocks_ = 0;
};

std::vector<bool> live_slots(const std::vector<std::uint32_t>& sizes) {
  std::vector<bool> live(sizes.size());
  for (std::size_t slot = 0; slot < sizes.size(); ++slot) live[slot] = sizes[slot] != 0;
  return live;
}

}  // namespace

WorkloadFacts facts_of(const Workload& workload) {
  WorkloadFacts facts;
  RulesCheck check(workload, &facts);
  check.play(workload.opening, "opening");
  facts.live_blocks_between_cycles = check.live_blocks();
  const std::vector<bool> before = live_slots(check.sizes());
  check.play(workload.cycle, "cycle");
  if (facts.fault.empty() && live_slots(check.sizes()) != before) facts.fault = "the cycle leaves other slots live";
  check.play(workload.cycle, "second cycle");
  for (const Operation& operation : workload.cycle) facts.pairs_in_cycle += operation.bytes != 0 ? 1 : 0;
  return facts;
}

}  // namespace cistern::bench
