#include "replay/tensor_plan.hpp"

#include <algorithm>

namespace cistern::replay {

TensorPlan::Slot TensorPlan::make(std::uint64_t bytes) { return add(bytes, TensorEvent::Kind::make); }

TensorPlan::Slot TensorPlan::keep(std::uint64_t bytes) {
  kept_bytes_ += bytes;
  ++kept_tensors_;
  return add(bytes, TensorEvent::Kind::keep);
}

void TensorPlan::drop(Slot slot) {
  live_bytes_ -= sizes_[slot];
  events_.push_back({sizes_[slot], slot, TensorEvent::Kind::drop});
}

TensorPlan::Slot TensorPlan::add(std::uint64_t bytes, TensorEvent::Kind kind) {
  const Slot slot = tensors();
  sizes_.push_back(bytes);
  events_.push_back({bytes, slot, kind});
  live_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  transient_peak_ = std::max(transient_peak_, live_bytes_ - kept_bytes_);
  return slot;
}

}  // namespace cistern::replay
