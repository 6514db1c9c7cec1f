#include "replay/tensor_plan.hpp"

#include <algorithm>

namespace cistern::replay {

TensorPlan::Slot TensorPlan::make(std::uint64_t bytes) {
  return add({bytes, 0, tensors(), 0, TensorEvent::Kind::make});
}

TensorPlan::Slot TensorPlan::keep(std::uint64_t bytes, std::uint64_t alignment, std::uint32_t buffer) {
  kept_bytes_ += bytes;
  ++kept_tensors_;
  return add({bytes, alignment, tensors(), buffer, TensorEvent::Kind::keep});
}

void TensorPlan::drop(Slot slot) {
  live_bytes_ -= sizes_[slot];
  events_.push_back({sizes_[slot], 0, slot, 0, TensorEvent::Kind::drop});
}

TensorPlan::Slot TensorPlan::add(const TensorEvent& event) {
  sizes_.push_back(event.bytes);
  events_.push_back(event);
  live_bytes_ += event.bytes;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  transient_peak_ = std::max(transient_peak_, live_bytes_ - kept_bytes_);
  return event.slot;
}

}  // namespace cistern::replay
