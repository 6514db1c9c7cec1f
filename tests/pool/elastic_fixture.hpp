// Stamps for the contents of elastic buffers: each byte's value follows from its place, so that any that were lost or
// exchanged are seen.
#pragma once

#include "pool/pool_fixture.hpp"

namespace cistern::pool {

class ElasticStamps {
 public:
  explicit ElasticStamps(device::Device& device) noexcept : device_(device) {}

  // Some of the bytes [from, to) of the buffer at `at`: the same ones, whichever part is written or looked at.
  void write(device::Address at, std::uint64_t from, std::uint64_t to) {
    if (!device_.info().capabilities.host_alias) return;
    for_each(from, to, [&](std::uint64_t i) { *byte_at(at + i) = value(at + i); });
  }
  ::testing::AssertionResult hold(device::Address at, std::uint64_t bytes) const {
    std::uint64_t wrong = ~std::uint64_t{0};
    if (device_.info().capabilities.host_alias) {
      for_each(0, bytes, [&](std::uint64_t i) {
        if (*byte_at(at + i) != value(at + i)) wrong = std::min(wrong, i);
      });
    }
    if (wrong == ~std::uint64_t{0}) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "byte " << wrong << " of " << bytes << " is not what was written";
  }

 private:
  static constexpr std::uint64_t kStride = 16381;  // four or five in every page of the tests
  template <typename Visit>
  static void for_each(std::uint64_t from, std::uint64_t to, const Visit& visit) {
    for (std::uint64_t i = (from + kStride - 1) / kStride * kStride; i < to; i += kStride) visit(i);
  }
  unsigned char* byte_at(device::Address at) const { return static_cast<unsigned char*>(device_.host_alias(at)); }
  static unsigned char value(device::Address at) noexcept {
    return static_cast<unsigned char>((at * 0x9e3779b97f4a7c15ULL) >> 56);
  }

  device::Device& device_;
};

inline PoolOptions elastic_options(std::uint64_t limit_bytes, OnMiss on_miss = OnMiss::stitch_first) {
  PoolOptions options;
  options.limit_bytes = limit_bytes;
  options.on_miss = on_miss;
  return options;
}

inline void expect_exact(const TestPool& test) {
  EXPECT_EQ(test->validate(), "");
  const Ledger ledger = test->ledger();
  EXPECT_EQ(ledger.reserved_bytes, ledger.allocated_bytes + ledger.cached_bytes + ledger.awaiting_free_bytes +
                                       ledger.free_bytes + ledger.moving_bytes);
}

}  // namespace cistern::pool
