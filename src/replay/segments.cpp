#include "replay/segments.hpp"

#include <algorithm>
#include <string>

#include "base/bits.hpp"
#include "base/units.hpp"

namespace cistern::replay {
namespace {

using base::kMiB;

constexpr std::uint64_t kRoundBytes = 512;
constexpr std::uint64_t kSmallBytes = kMiB;  // the largest request that is small
constexpr std::uint64_t kSmallSegmentBytes = 2 * kMiB;
constexpr std::uint64_t kMiddleBytes = 10 * kMiB;  // requests below it share segments
constexpr std::uint64_t kMiddleSegmentBytes = 20 * kMiB;
constexpr std::uint64_t kLargeUnitBytes = 2 * kMiB;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;

std::uint64_t segment_bytes_for(std::uint64_t bytes) noexcept {
  if (bytes <= kSmallBytes) return kSmallSegmentBytes;
  if (bytes < kMiddleBytes) return kMiddleSegmentBytes;
  return base::round_up(bytes, kLargeUnitBytes);
}

bool is_worth_a_block(bool is_small, std::uint64_t rest) noexcept {
  return is_small ? rest >= kRoundBytes : rest > kSmallBytes;
}

}  // namespace

base::Result<device::Address> Segments::allocate(std::uint64_t bytes) noexcept {
  if (bytes == 0 || bytes > kMostBytes)
    return base::invalid_argument("a request of " + std::to_string(bytes) + " bytes");
  const std::uint64_t rounded = base::round_up(bytes, kRoundBytes);
  const bool is_small = rounded <= kSmallBytes;
  Index index = take_free(is_small, rounded);
  if (index == kNone) {
    ++counts_.misses;
    const std::uint64_t segment = segment_bytes_for(rounded);
    if (capacity_bytes_ != 0 && segment > capacity_bytes_ - std::min(capacity_bytes_, counts_.reserved_bytes)) {
      ++counts_.failed_allocations;
      return base::Status(base::StatusCode::limit_exceeded,
                          "a segment of " + base::format_bytes(segment) + " would pass the capacity of " +
                              base::format_bytes(capacity_bytes_) + " (" + base::format_bytes(counts_.reserved_bytes) +
                              " reserved)");
    }
    index = add_segment(is_small, segment);
  }
  if (is_worth_a_block(is_small, blocks_[index].bytes - rounded)) split(index, rounded);
  Block& block = blocks_[index];
  block.is_live = true;
  block.requested_bytes = bytes;
  ++counts_.allocations;
  ++counts_.live_blocks;
  counts_.allocated_bytes += block.bytes;
  counts_.requested_bytes += bytes;
  counts_.peak_allocated_bytes = std::max(counts_.peak_allocated_bytes, counts_.allocated_bytes);
  counts_.peak_requested_bytes = std::max(counts_.peak_requested_bytes, counts_.requested_bytes);
  return device::Address{index} + 1;
}

base::Status Segments::free(device::Address place) noexcept {
  if (place == 0 || place > blocks_.size() || !blocks_[place - 1].is_live) {
    return base::not_found("no live block has the number " + std::to_string(place));
  }
  auto index = static_cast<Index>(place - 1);
  Block& block = blocks_[index];
  block.is_live = false;
  ++counts_.frees;
  --counts_.live_blocks;
  counts_.allocated_bytes -= block.bytes;
  counts_.requested_bytes -= block.requested_bytes;
  for (const bool backwards : {true, false}) {
    const Index neighbour = backwards ? blocks_[index].previous : blocks_[index].next;
    if (neighbour == kNone || blocks_[neighbour].is_live) continue;
    const Block& other = blocks_[neighbour];
    free_blocks_of(other).erase({other.bytes, other.address, neighbour});
    index = backwards ? merge(neighbour, index) : merge(index, neighbour);
  }
  const Block& merged = blocks_[index];
  free_blocks_of(merged).insert({merged.bytes, merged.address, index});
  return {};
}

pool::Ledger Segments::ledger() const noexcept {
  pool::Ledger ledger = counts_;
  ledger.limit_bytes = capacity_bytes_;
  ledger.free_bytes = counts_.reserved_bytes - counts_.allocated_bytes;
  ledger.free_blocks = small_.size() + large_.size();
  ledger.peak_reserved_bytes = counts_.reserved_bytes;  // it only grows
  for (const FreeBlocks* blocks : {&small_, &large_}) {
    if (!blocks->empty()) ledger.largest_free_bytes = std::max(ledger.largest_free_bytes, blocks->rbegin()->bytes);
  }
  return ledger;
}

device::DeviceCounters Segments::counters() const noexcept {
  device::DeviceCounters counters;
  counters.mallocs = counts_.growths;
  counters.driver_bytes = counters.peak_driver_bytes = counts_.reserved_bytes;
  return counters;
}

Segments::Index Segments::take_free(bool is_small, std::uint64_t bytes) {
  FreeBlocks& blocks = is_small ? small_ : large_;
  const auto tightest = blocks.lower_bound({bytes, 0, 0});
  if (tightest == blocks.end()) return kNone;
  const Index index = tightest->block;
  blocks.erase(tightest);
  return index;
}

Segments::Index Segments::add_segment(bool is_small, std::uint64_t bytes) {
  const Index index = new_block();
  blocks_[index] = {.address = next_address_, .bytes = bytes, .is_small = is_small};
  next_address_ += bytes;
  counts_.reserved_bytes += bytes;
  ++counts_.growths;
  return index;
}

Segments::Index Segments::new_block() {
  if (unused_.empty()) {
    blocks_.emplace_back();
    return static_cast<Index>(blocks_.size() - 1);
  }
  const Index index = unused_.back();
  unused_.pop_back();
  return index;
}

void Segments::split(Index front, std::uint64_t bytes) {
  const Index back = new_block();  // may move the blocks
  Block& first = blocks_[front];
  blocks_[back] = {.address = first.address + bytes,
                   .bytes = first.bytes - bytes,
                   .previous = front,
                   .next = first.next,
                   .is_small = first.is_small};
  if (first.next != kNone) blocks_[first.next].previous = back;
  first.next = back;
  first.bytes = bytes;
  free_blocks_of(first).insert({blocks_[back].bytes, blocks_[back].address, back});
}

Segments::Index Segments::merge(Index front, Index back) {
  Block& first = blocks_[front];
  const Block& second = blocks_[back];
  first.bytes += second.bytes;
  first.next = second.next;
  if (second.next != kNone) blocks_[second.next].previous = front;
  unused_.push_back(back);
  return front;
}

}  // namespace cistern::replay
