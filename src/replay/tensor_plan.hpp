// TensorPlan: one inference as the memory sees it, a list of tensors that appear and disappear.
//
// Made before any clock runs, then played against a way of getting memory: what is timed is that way and nothing else.
// A tensor is named by its slot, its number among the plan's tensors. Most die inside the plan; one that is kept (a
// block of a cache) is the player's to free. Kept tensors of one buffer may become one that grows in place, where the
// way of getting memory has such.
#pragma once

#include <cstdint>
#include <vector>

namespace cistern::replay {

struct TensorEvent {
  enum class Kind : std::uint8_t { make, drop, keep };  // keep: make, and never drop
  std::uint64_t bytes = 0;                              // of the tensor, for a drop as well
  std::uint64_t alignment = 0;                          // 0: the device's own
  std::uint32_t slot = 0;
  std::uint32_t buffer = 0;  // of a kept tensor: the growing buffer that it extends, from 1; 0: it is by itself
  Kind kind = Kind::make;
  friend bool operator==(const TensorEvent&, const TensorEvent&) = default;
};

class TensorPlan {
 public:
  using Slot = std::uint32_t;

  Slot make(std::uint64_t bytes);
  Slot keep(std::uint64_t bytes, std::uint64_t alignment = 0, std::uint32_t buffer = 0);
  void drop(Slot slot);

  const std::vector<TensorEvent>& events() const noexcept { return events_; }
  std::uint32_t tensors() const noexcept { return static_cast<std::uint32_t>(sizes_.size()); }
  std::uint32_t kept_tensors() const noexcept { return kept_tensors_; }
  std::uint64_t kept_bytes() const noexcept { return kept_bytes_; }
  std::uint64_t peak_bytes() const noexcept { return peak_bytes_; }                // live at once, kept ones included
  std::uint64_t peak_transient_bytes() const noexcept { return transient_peak_; }  // live at once without kept ones
  bool is_balanced() const noexcept { return live_bytes_ == kept_bytes_; }         // every tensor not kept was dropped

 private:
  Slot add(const TensorEvent& event);

  std::vector<TensorEvent> events_;
  std::vector<std::uint64_t> sizes_;  // by slot
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t transient_peak_ = 0;
  std::uint64_t kept_bytes_ = 0;
  std::uint32_t kept_tensors_ = 0;
};

}  // namespace cistern::replay
