#include "replay/content_watch.hpp"

namespace cistern::replay {

void ContentWatch::begin(std::uint32_t slot, std::uint64_t bytes, device::Address place) {
  blocks_[slot] = {place, bytes, live_.size(), false};
  live_.push_back(slot);
  stamps_.stamp(target_.address_of(place), bytes, slot);
}

void ContentWatch::end(std::uint32_t slot, std::uint64_t event) {
  ++found_.blocks;
  look(slot, event);
  const std::uint64_t position = blocks_[slot].position;
  blocks_[live_.back()].position = position;
  live_[position] = live_.back();
  live_.pop_back();
}

void ContentWatch::look_at_all(std::uint64_t event) {
  ++found_.looks;
  for (const std::uint32_t slot : live_) look(slot, event);
}

void ContentWatch::look(std::uint32_t slot, std::uint64_t event) {
  Block& block = blocks_[slot];
  const auto damage = stamps_.find_damage(target_.address_of(block.place), block.bytes, slot);
  if (!damage || block.damaged) return;
  block.damaged = true;
  ++found_.damaged;
  if (!found_.first) found_.first = DamagedBlock{event, block.bytes, damage->offset, damage->expected, damage->found};
}

}  // namespace cistern::replay
