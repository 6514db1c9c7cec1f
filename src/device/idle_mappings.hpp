// IdleMappings: freed allocations of a simulated device whose mapping is kept for the next one of the same size.
//
// Mapping a file and touching its fresh pages costs the simulator far more real time than computing on them. That time
// is nobody's: the driver's is modelled. So a run that allocates every tensor by itself may ask the simulator to keep
// what was freed, up to a sum; the oldest go first. Capacity, counters and modelled time know nothing of it.
//
// Thread-safety: none, the device's lock.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/device.hpp"

namespace cistern::device {

struct IdleMapping {
  Address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t place = 0;
};

class IdleMappings {
 public:
  explicit IdleMappings(std::uint64_t most_bytes) noexcept : most_bytes_(most_bytes) {}

  bool accepts(std::uint64_t bytes) const noexcept { return bytes <= most_bytes_; }

  // The mapping freed last among those of exactly `bytes`.
  std::optional<IdleMapping> take(std::uint64_t bytes) {
    const auto known = by_bytes_.find(bytes);
    if (known == by_bytes_.end() || known->second.empty()) return std::nullopt;
    const auto entry = known->second.back();
    known->second.pop_back();
    const IdleMapping mapping = *entry;
    oldest_first_.erase(entry);
    held_bytes_ -= bytes;
    return mapping;
  }

  void keep(const IdleMapping& mapping) {
    oldest_first_.push_back(mapping);
    by_bytes_[mapping.bytes].push_back(std::prev(oldest_first_.end()));
    held_bytes_ += mapping.bytes;
  }

  // What must go for the sum to hold; empty when it does.
  std::optional<IdleMapping> take_surplus() { return held_bytes_ > most_bytes_ ? take_oldest() : std::nullopt; }

  std::optional<IdleMapping> take_oldest() {
    if (oldest_first_.empty()) return std::nullopt;
    const IdleMapping mapping = oldest_first_.front();
    auto& of_size = by_bytes_[mapping.bytes];
    of_size.erase(of_size.begin());  // the oldest of all is the oldest of its size
    oldest_first_.pop_front();
    held_bytes_ -= mapping.bytes;
    return mapping;
  }

 private:
  using Entry = std::list<IdleMapping>::iterator;

  std::uint64_t most_bytes_;
  std::uint64_t held_bytes_ = 0;
  std::list<IdleMapping> oldest_first_;
  std::unordered_map<std::uint64_t, std::vector<Entry>> by_bytes_;
};

}  // namespace cistern::device
