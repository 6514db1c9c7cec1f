#include "core/fragmentation.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace cistern::core {

double fragmentation_rate(const Suballocator& arena) noexcept {
  const std::uint64_t total = arena.totals().free_ready_bytes;
  if (total == 0) return 0.0;
  return 1.0 - static_cast<double>(arena.largest_free_bytes()) / static_cast<double>(total);
}

double ExposureWindow::exposure(const Suballocator& arena) const noexcept {
  return exposure(arena.largest_free_bytes(), arena.totals().free_ready_bytes);
}

std::vector<std::uint64_t> ExposureWindow::exposed_sizes(std::uint64_t largest_free_bytes,
                                                         std::uint64_t total_free_bytes) const {
  const std::uint64_t count = std::min<std::uint64_t>(recorded_, kSizes);
  std::vector<std::uint64_t> exposed;
  std::copy_if(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(count), std::back_inserter(exposed),
               [&](std::uint64_t bytes) { return bytes > largest_free_bytes && bytes <= total_free_bytes; });
  std::sort(exposed.begin(), exposed.end(), std::greater<>());
  exposed.erase(std::unique(exposed.begin(), exposed.end()), exposed.end());
  return exposed;
}

double ExposureWindow::exposure(std::uint64_t largest_free_bytes, std::uint64_t total_free_bytes) const noexcept {
  const std::uint64_t count = std::min<std::uint64_t>(recorded_, kSizes);
  if (count == 0) return 0.0;
  // Holes are whole granules, so a size is above the largest exactly if its rounded size is.
  const auto exposed =
      std::count_if(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(count),
                    [&](std::uint64_t bytes) { return bytes > largest_free_bytes && bytes <= total_free_bytes; });
  return static_cast<double>(exposed) / static_cast<double>(count);
}

std::uint64_t ExposureWindow::largest_exposed(std::uint64_t largest_free_bytes,
                                              std::uint64_t total_free_bytes) const noexcept {
  std::uint64_t largest = 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(recorded_, kSizes); ++i) {
    if (sizes_[i] > largest_free_bytes && sizes_[i] <= total_free_bytes) largest = std::max(largest, sizes_[i]);
  }
  return largest;
}

}  // namespace cistern::core
