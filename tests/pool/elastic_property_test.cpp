// Random calls on elastic buffers and blocks against a record of what each must hold.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "pool/elastic_fixture.hpp"

namespace cistern::pool {
namespace {

constexpr std::uint64_t kPages = 64;  // of the limit

struct Held {
  device::Address at = 0;
  std::uint64_t bytes = 0;
  std::uint64_t max = 0;  // elastic buffers
};

// The naive model: what is held, and that nobody holds what is another's.
class World {
 public:
  explicit World(OnMiss on_miss)
      : test_(make_device("host", 64 * kMiB), elastic_options(kPages * kTestPage, on_miss)), stamps_(*test_.device) {}

  ~World() {
    for (const auto& [id, buffer] : buffers_) (void)test_->release_elastic(id);
    for (const auto& [at, block] : blocks_) (void)test_->free(at);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void reserve(std::uint64_t max) {
    if (buffers_.size() >= 4) return;
    auto made = test_->reserve_elastic(max);
    RC_ASSERT(made.is_ok());
    const ElasticView view = made.take();
    buffers_[view.id] = {view.address, 0, view.max_bytes};
    check();
  }
  void resize(std::size_t which, std::uint64_t to) {
    if (buffers_.empty()) return;
    auto& [id, buffer] = *std::next(buffers_.begin(), static_cast<long>(which % buffers_.size()));
    to %= buffer.max + kTestPage;
    if (to > buffer.bytes) {
      const base::Status grown = test_->grow_elastic(id, to);
      const std::uint64_t pages = rounded_up(to) - rounded_up(buffer.bytes);
      if (to > buffer.max) {
        RC_ASSERT(grown.code() == base::StatusCode::invalid_argument);
      } else if (grown.is_ok()) {
        stamps_.write(buffer.at, buffer.bytes, to);
        buffer.bytes = to;
      } else {  // only where there really are not enough pages: none is hidden in a hole of whole pages
        RC_ASSERT(grown.code() == base::StatusCode::limit_exceeded);
        const Ledger ledger = test_->ledger();
        RC_ASSERT(test_->snapshot().stitchable_bytes + ledger.limit_bytes - ledger.reserved_bytes < pages);
      }
    } else {
      RC_ASSERT(test_->shrink_elastic(id, to).is_ok());
      buffer.bytes = to;
    }
    check();
  }
  void release(std::size_t which) {
    if (buffers_.empty()) return;
    const auto victim = std::next(buffers_.begin(), static_cast<long>(which % buffers_.size()));
    RC_ASSERT(test_->release_elastic(victim->first).is_ok());
    buffers_.erase(victim);
    check();
  }
  void allocate(std::uint64_t bytes) {
    const device::Address at = must_allocate(*test_.pool, bytes);
    if (at != 0) {
      stamps_.write(at, 0, bytes);
      blocks_[at] = {at, bytes, 0};
    }
    check();
  }
  void free(std::size_t which) {
    if (blocks_.empty()) return;
    const auto victim = std::next(blocks_.begin(), static_cast<long>(which % blocks_.size()));
    RC_ASSERT(test_->free(victim->first).is_ok());
    blocks_.erase(victim);
    check();
  }
  void trim() {
    RC_ASSERT(test_->trim(0).is_ok());
    check();
  }

 private:
  static std::uint64_t rounded_up(std::uint64_t bytes) { return (bytes + kTestPage - 1) / kTestPage * kTestPage; }

  void check() {
    RC_ASSERT(test_->validate() == "");
    std::map<device::Address, std::uint64_t> owned;  // addresses, the reserved ones included
    std::uint64_t requested = 0;
    std::uint64_t backed = 0;
    for (const auto& [id, buffer] : buffers_) {
      const ElasticView now = test_->describe_elastic(id).take();
      RC_ASSERT(now.address == buffer.at);
      RC_ASSERT(now.bytes == buffer.bytes);
      RC_ASSERT(now.backed_bytes == rounded_up(buffer.bytes));
      RC_ASSERT(bool(stamps_.hold(buffer.at, buffer.bytes)));
      owned[buffer.at] = buffer.max;
      requested += buffer.bytes;
      backed += now.backed_bytes;
    }
    for (const auto& [at, block] : blocks_) {
      RC_ASSERT(bool(stamps_.hold(at, block.bytes)));
      owned[at] = block.bytes;
      requested += block.bytes;
      backed += (block.bytes + 511) / 512 * 512;
    }
    device::Address end = 0;
    for (const auto& [at, bytes] : owned) {
      RC_ASSERT(at >= end);
      end = at + bytes;
    }
    const Ledger ledger = test_->ledger();
    RC_ASSERT(ledger.requested_bytes == requested);
    RC_ASSERT(ledger.allocated_bytes == backed);
    RC_ASSERT(ledger.moving_bytes == 0u);
    RC_ASSERT(ledger.reserved_bytes == ledger.allocated_bytes + ledger.free_bytes);
    RC_ASSERT(ledger.reserved_bytes <= ledger.limit_bytes);
  }

  TestPool test_;
  ElasticStamps stamps_;
  std::map<ElasticId, Held> buffers_;
  std::map<device::Address, Held> blocks_;
};

void play() {
  World world(*rc::gen::element(OnMiss::stitch_first, OnMiss::grow_first));
  const int steps = *rc::gen::inRange(10, 80);
  for (int i = 0; i < steps; ++i) {
    const std::size_t which = *rc::gen::inRange<std::size_t>(0, 64);
    switch (*rc::gen::weightedElement<int>({{2, 0}, {6, 1}, {1, 2}, {6, 3}, {4, 4}, {1, 5}})) {
      case 0:
        world.reserve(*rc::gen::inRange<std::uint64_t>(1, kPages * kTestPage));
        break;
      case 1:
        world.resize(which, *rc::gen::inRange<std::uint64_t>(0, kPages * kTestPage));
        break;
      case 2:
        world.release(which);
        break;
      case 3:
        world.allocate(*rc::gen::inRange<std::uint64_t>(1, 5 * kTestPage));
        break;
      case 4:
        world.free(which);
        break;
      default:
        world.trim();
    }
  }
}

TEST(ElasticProperties, BuffersAndBlocksHoldWhatTheModelSays) {
  EXPECT_TRUE(rc::check("every step leaves buffers, blocks and ledger as the model says", play));
}

}  // namespace
}  // namespace cistern::pool
