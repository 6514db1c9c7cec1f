#include "device/parking.hpp"

#include <sys/mman.h>

#include <bit>
#include <string>

#include "device/text.hpp"

namespace cistern::device {

namespace {

constexpr std::uint64_t kSlotsPerRange = 256;  // addresses cost nothing; each range is one kernel call

}  // namespace

Parking::~Parking() {
  for (const auto& [base, bytes] : ranges_) (void)system_.unmap(base, bytes);
}

std::vector<Address>& Parking::free_slots(std::uint64_t page_bytes) noexcept {
  return free_[static_cast<std::size_t>(std::countr_zero(page_bytes))];
}

base::Result<Address> Parking::take(std::uint64_t page_bytes) noexcept {
  std::vector<Address>& slots = free_slots(page_bytes);
  if (slots.empty()) {
    Address base = 0;
    const std::uint64_t bytes = kSlotsPerRange * page_bytes;
    const int failed =
        system_.map_aligned(&base, bytes, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    if (failed != 0) {
      return base::Status(base::StatusCode::out_of_memory,
                          "the kernel refused " + in_bytes(bytes) + " of addresses for unmapped pages", failed);
    }
    ranges_.emplace_back(base, bytes);
    for (std::uint64_t i = kSlotsPerRange; i-- > 0;) slots.push_back(base + i * page_bytes);
  }
  const Address slot = slots.back();
  slots.pop_back();
  return slot;
}

void Parking::give(Address slot, std::uint64_t page_bytes) noexcept { free_slots(page_bytes).push_back(slot); }

}  // namespace cistern::device
