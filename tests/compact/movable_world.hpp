// MovableWorld: a pool, the blocks that a test has in it, and what each must contain.
//
// Every block is filled by a stamp of its own; verify() looks at every byte of every live block (where the device has
// contents), and at the ledger, and has the pool validate itself.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "compact/relocator.hpp"
#include "pool/pool_fixture.hpp"

namespace cistern::compact {

using pool::kKiB;
using pool::kMiB;

struct WorldSetup {
  std::string device = "host";
  pool::Growth growth = pool::Growth::arenas;
  core::FitPolicy policy = core::FitPolicy::best_fit;
  std::uint64_t limit_bytes = 4 * kMiB;
  std::uint64_t page_bytes = 256 * kKiB;
};

inline pool::PoolOptions options_of(const WorldSetup& setup) {
  pool::PoolOptions options;
  options.growth = setup.growth;
  options.policy = setup.policy;
  options.limit_bytes = setup.limit_bytes;
  options.initial_bytes = setup.limit_bytes;  // one arena, all of the limit: no growth helps
  options.page_bytes = setup.page_bytes;
  return options;
}

class MovableWorld {
 public:
  explicit MovableWorld(const WorldSetup& setup)
      : MovableWorld(pool::make_device(setup.device, 64 * kMiB), options_of(setup)) {}
  MovableWorld(std::shared_ptr<device::Device> device, const pool::PoolOptions& options)
      : pool_(std::move(device), options), has_contents_(pool_.device->info().capabilities.host_alias) {}
  ~MovableWorld() {
    for (const auto& [id, block] : movables_) EXPECT_TRUE(pool_->free_movable(id).is_ok());
    for (const auto& [address, block] : fixed_) EXPECT_TRUE(pool_->free(address).is_ok());
  }

  pool::Pool& pool() { return *pool_.pool; }
  device::Device& device() { return *pool_.device; }
  bool is_made() const { return pool_.pool != nullptr; }

  // 0: refused.
  pool::MovableId add(std::uint64_t bytes, std::uint64_t alignment = 0, std::string_view name = {}) {
    pool::AllocationRequest request;
    request.bytes = bytes;
    request.alignment = alignment;
    request.name = name;
    auto served = pool_->allocate_movable(request);
    if (!served.is_ok()) return 0;
    movables_[served.value()] = {bytes, ++stamp_};
    fill(address_of(served.value()), bytes, stamp_);
    return served.value();
  }
  device::Address add_fixed(std::uint64_t bytes) {
    const device::Address address = pool::must_allocate(*pool_.pool, bytes);
    if (address == 0) return 0;
    fixed_[address] = {bytes, ++stamp_};
    fill(address, bytes, stamp_);
    return address;
  }
  // Looks at the contents first, unless somebody else is copying them just now.
  void drop(pool::MovableId id, bool looks = true) {
    if (looks) verify_block(address_of(id), movables_[id]);
    EXPECT_TRUE(pool_->free_movable(id).is_ok());
    movables_.erase(id);
  }
  void drop_fixed(device::Address address) {
    verify_block(address, fixed_[address]);
    EXPECT_TRUE(pool_->free(address).is_ok());
    fixed_.erase(address);
  }
  // Alternating movable blocks and holes over all of the pool; the ids of the blocks.
  std::vector<pool::MovableId> checker(std::uint64_t bytes) {
    std::vector<pool::MovableId> all;
    while (const pool::MovableId id = add(bytes)) all.push_back(id);
    std::vector<pool::MovableId> kept;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % 2 == 0) {
        drop(all[i]);
      } else {
        kept.push_back(all[i]);
      }
    }
    return kept;
  }

  void verify(const char* after) {
    EXPECT_EQ(pool_->validate(), "") << "after " << after;
    std::uint64_t requested = 0;
    for (const auto& [id, block] : movables_) {
      requested += block.bytes;
      verify_block(address_of(id), block);
    }
    for (const auto& [address, block] : fixed_) {
      requested += block.bytes;
      verify_block(address, block);
    }
    const pool::Ledger ledger = pool_->ledger();
    EXPECT_EQ(ledger.requested_bytes, requested) << "after " << after;
    EXPECT_EQ(ledger.live_blocks, movables_.size() + fixed_.size()) << "after " << after;
    EXPECT_EQ(ledger.movable_blocks, movables_.size()) << "after " << after;
    EXPECT_EQ(ledger.reserved_bytes, ledger.allocated_bytes + ledger.cached_bytes + ledger.awaiting_free_bytes +
                                         ledger.free_bytes + ledger.moving_bytes);
    EXPECT_EQ(ledger.moving_bytes, 0U) << "after " << after;
    EXPECT_EQ(ledger.pinned_bytes, 0U) << "after " << after;
  }

  device::Address address_of(pool::MovableId id) {
    auto address = pool_->pin(id);
    EXPECT_TRUE(address.is_ok());
    EXPECT_TRUE(pool_->unpin(id).is_ok());
    return address.is_ok() ? address.value() : 0;
  }
  const auto& movables() const { return movables_; }
  const auto& fixed() const { return fixed_; }

 private:
  struct Block {
    std::uint64_t bytes = 0;
    std::uint32_t stamp = 0;
  };
  void fill(device::Address at, std::uint64_t bytes, std::uint32_t stamp) {
    if (has_contents_) std::memcpy(pool_.device->host_alias(at), expected(bytes, stamp), bytes);
  }
  void verify_block(device::Address at, const Block& block) {
    if (!has_contents_) return;
    const void* memory = pool_.device->host_alias(at);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(std::memcmp(memory, expected(block.bytes, block.stamp), block.bytes), 0)
        << "block " << block.stamp << " is not as it was";
  }
  // What a block of that stamp holds: a piece of one long row of random words, which begins elsewhere for each stamp.
  // So every byte is written and looked at by one call of the library, and no two blocks agree anywhere.
  static const void* expected(std::uint64_t bytes, std::uint32_t stamp) {
    static std::mt19937_64 random{1};
    static std::vector<std::uint64_t> row;  // for all worlds: there are thousands
    const std::size_t first = stamp % kStamps;
    const std::size_t words = first + bytes / 8 + 1;
    while (row.size() < words) row.push_back(random());
    return row.data() + first;
  }

  static constexpr std::size_t kStamps = std::size_t{1} << 16;
  pool::TestPool pool_;
  bool has_contents_;
  std::map<pool::MovableId, Block> movables_;
  std::map<device::Address, Block> fixed_;
  std::uint32_t stamp_ = 0;
};

}  // namespace cistern::compact
