// Fragmentation: how much of the free memory is out of reach.
//
// The fragmentation rate compares the largest hole with all free memory; it is high in healthy arenas whose requests
// are small. Exposure asks what matters: of the requests that really came lately, which share could free memory hold in
// sum, but no single hole?
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/suballocator.hpp"

namespace cistern::core {

// 1 - largest ready hole / all ready free memory; 0 when there is none.
double fragmentation_rate(const Suballocator& arena) noexcept;

// The sizes of the last 256 requests. Thread-safety: none.
class ExposureWindow {
 public:
  static constexpr unsigned kSizes = 256;

  void record(std::uint64_t bytes) noexcept {
    sizes_[recorded_ & (kSizes - 1)] = bytes;
    ++recorded_;
  }
  // The share of the sizes recorded (of the last 256) that all ready free memory together could hold but no ready hole
  // can; 0 when nothing has been recorded.
  double exposure(const Suballocator& arena) const noexcept;
  // The largest size recorded that so much free memory could hold but no hole of it can; 0: there is none.
  std::uint64_t largest_exposed(std::uint64_t largest_free_bytes, std::uint64_t total_free_bytes) const noexcept;
  // The same for several arenas taken together: their largest hole and their free memory in sum.
  double exposure(std::uint64_t largest_free_bytes, std::uint64_t total_free_bytes) const noexcept;
  // These sizes, each once, the largest first.
  std::vector<std::uint64_t> exposed_sizes(std::uint64_t largest_free_bytes, std::uint64_t total_free_bytes) const;

 private:
  std::array<std::uint64_t, kSizes> sizes_{};
  std::uint64_t recorded_ = 0;
};

}  // namespace cistern::core
