// Stitching in the sequences of numbers where other pools run out of memory, and what must hold while it happens.
#include <gtest/gtest.h>

#include <vector>

#include "base/units.hpp"
#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

using base::kGiB;

constexpr std::uint64_t kPage = 2 * kMiB;

PoolOptions with_large_pages(OnMiss on_miss) {
  PoolOptions options;
  options.page_bytes = kPage;
  options.on_miss = on_miss;
  return options;
}

std::uint64_t gib(double amount) {
  return static_cast<std::uint64_t>(amount * static_cast<double>(kGiB)) / kPage * kPage;
}

// Fills a pool with `reserved` bytes in blocks of `piece` and frees every other one, from the first on, until `idle`
// bytes are free, in no hole larger than `piece`.
void leave_holes(Pool& pool, std::uint64_t reserved, std::uint64_t idle, std::uint64_t piece) {
  std::vector<device::Address> blocks;
  for (std::uint64_t bytes = 0; bytes < reserved; bytes += piece) {
    blocks.push_back(must_allocate(pool, std::min(piece, reserved - bytes)));
    ASSERT_NE(blocks.back(), 0U);
  }
  for (std::size_t i = 0; i < blocks.size() && pool.ledger().free_bytes < idle; i += 2) {
    ASSERT_TRUE(pool.free(blocks[i]).is_ok());
  }
  ASSERT_EQ(pool.ledger().reserved_bytes, reserved);
  ASSERT_EQ(pool.ledger().free_bytes, idle);
  ASSERT_EQ(pool.ledger().largest_free_bytes, piece);
}

class StitchTest : public ::testing::TestWithParam<OnMiss> {};

TEST_P(StitchTest, EightFreedBlocksServeFourOfTwiceTheSize) {
  TestPool test(make_device("counting", kGiB), with_large_pages(GetParam()));
  std::vector<device::Address> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(must_allocate(*test.pool, 16 * kMiB));
  for (const device::Address block : blocks) EXPECT_TRUE(test->free(block).is_ok());
  for (int i = 0; i < 4; ++i) EXPECT_NE(must_allocate(*test.pool, 32 * kMiB), 0U);
  EXPECT_EQ(test->ledger().peak_reserved_bytes, 128 * kMiB);
}

TEST(Stitch, TwoFreedNeighboursOfLiveBlocksServeOneOfTwiceTheSizeWithoutGrowth) {
  TestPool test(make_device("counting", kGiB), with_large_pages(OnMiss::stitch_first));
  std::vector<device::Address> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(must_allocate(*test.pool, 16 * kMiB));
  EXPECT_TRUE(test->free(blocks[0]).is_ok());
  EXPECT_TRUE(test->free(blocks[2]).is_ok());
  EXPECT_NE(must_allocate(*test.pool, 32 * kMiB), 0U);
  EXPECT_EQ(test->ledger().peak_reserved_bytes, 64 * kMiB);
  EXPECT_EQ(test->validate(), "");
}

// A load that needs the same stitches in every round: after a while the pool grows a little, and they end.
TEST(Stitch, RecurringStitchesEndByALittleGrowth) {
  const auto pages_moved_late = [](int rounds, std::uint64_t slack_percent, double* overhead) {
    PoolOptions options = with_large_pages(OnMiss::stitch_first);
    options.slack_percent = slack_percent;
    TestPool test(make_device("counting", kGiB), options);
    std::uint64_t before = 0;
    for (int round = 0; round < rounds; ++round) {
      if (round == rounds - 20) before = test->ledger().stitched_pages;
      // Four small ones, every other one back, one large one: its room is in pieces each time.
      std::vector<device::Address> blocks;
      for (int i = 0; i < 4; ++i) blocks.push_back(must_allocate(*test.pool, 32 * kMiB - kPage / 2));
      for (const int i : {0, 2}) EXPECT_TRUE(test->free(blocks[static_cast<std::size_t>(i)]).is_ok());
      const device::Address large = must_allocate(*test.pool, 60 * kMiB);
      for (const int i : {1, 3}) EXPECT_TRUE(test->free(blocks[static_cast<std::size_t>(i)]).is_ok());
      const device::Address whole = must_allocate(*test.pool, 63 * kMiB);
      EXPECT_TRUE(test->free(large).is_ok());
      EXPECT_TRUE(test->free(whole).is_ok());
    }
    const Ledger ledger = test->ledger();
    *overhead = static_cast<double>(ledger.peak_reserved_bytes) / static_cast<double>(ledger.peak_requested_bytes);
    EXPECT_EQ(test->validate(), "");
    return ledger.stitched_pages - before;
  };
  double overhead = 0;
  EXPECT_GT(pages_moved_late(40, 0, &overhead), 20U) << "the load must be one that stitches in every round";
  EXPECT_LT(overhead, 1.06);
  EXPECT_EQ(pages_moved_late(40, 100, &overhead), 0U);
  EXPECT_LT(overhead, 2.0);
  // What a quarter doesn't end, four times that does, once it was paid for long enough; and never more than that.
  EXPECT_GT(pages_moved_late(40, 25, &overhead), 20U);
  EXPECT_LT(overhead, 1.25);
  EXPECT_EQ(pages_moved_late(400, 25, &overhead), 0U);
  EXPECT_GT(overhead, 1.25);
  EXPECT_LT(overhead, 2.0);
  EXPECT_GT(pages_moved_late(3000, 2, &overhead), 20U);
  EXPECT_LT(overhead, 1.08);
}

// Where the device has no more, what was left to growth is stitched all the same.
TEST(Stitch, RecurringStitchesGoOnWhereThePoolCannotGrow) {
  PoolOptions options = with_large_pages(OnMiss::stitch_first);
  options.slack_percent = 100;
  TestPool test(make_device("counting", 128 * kMiB), options);
  for (int round = 0; round < 40; ++round) {
    std::vector<device::Address> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(must_allocate(*test.pool, 32 * kMiB));
    for (const int i : {0, 2}) EXPECT_TRUE(test->free(blocks[static_cast<std::size_t>(i)]).is_ok());
    const device::Address large = must_allocate(*test.pool, 64 * kMiB);
    ASSERT_NE(large, 0U) << "round " << round;
    for (const int i : {1, 3}) EXPECT_TRUE(test->free(blocks[static_cast<std::size_t>(i)]).is_ok());
    EXPECT_TRUE(test->free(large).is_ok());
  }
  EXPECT_EQ(test->validate(), "");
}

// Whole pages are idle, the device can't give what is asked, and no hole holds it.
TEST_P(StitchTest, FiveGibFitWhereEightAreIdleInPiecesAndTheDeviceHasThree) {
  TestPool test(make_device("counting", gib(60.96)), with_large_pages(GetParam()));
  leave_holes(*test.pool, gib(57.55), gib(8.1) / (100 * kMiB) * (100 * kMiB), 100 * kMiB);
  EXPECT_NE(must_allocate(*test.pool, gib(5.03)), 0U);
  EXPECT_EQ(test->ledger().reserved_bytes, gib(57.55)) << "not by growth";
  EXPECT_EQ(test->validate(), "");
}

TEST_P(StitchTest, SeventyTwoMibFitWhereTwoGibAreIdleInPieces) {
  const std::uint64_t all = 16 * kGiB;
  TestPool test(make_device("counting", all), with_large_pages(GetParam()));
  leave_holes(*test.pool, all, gib(2.3) / (32 * kMiB) * (32 * kMiB), 32 * kMiB);
  EXPECT_NE(must_allocate(*test.pool, 72 * kMiB), 0U);
  EXPECT_EQ(test->ledger().reserved_bytes, all);
}

// 4.0 GiB idle and 2.8 left on the device hold 4.5 only together: the pool grows by what the idle pages lack.
TEST_P(StitchTest, GrowsByExactlyTheMissingPart) {
  const std::uint64_t reserved = 16 * kGiB;
  TestPool test(make_device("counting", reserved + gib(2.8)), with_large_pages(GetParam()));
  leave_holes(*test.pool, reserved, 4 * kGiB, 64 * kMiB);
  EXPECT_NE(must_allocate(*test.pool, gib(4.5)), 0U);
  EXPECT_EQ(test->ledger().reserved_bytes, reserved + kGiB / 2);
  EXPECT_EQ(test->validate(), "");
}

INSTANTIATE_TEST_SUITE_P(All, StitchTest, ::testing::Values(OnMiss::stitch_first, OnMiss::grow_first),
                         [](const auto& setup) { return std::string(on_miss_name(setup.param)); });

// --- Who moves how
// ----------------------------------------------------------------------------------------------------

// Two holes of one page each beside live blocks, all of the limit taken: a request of two pages needs both.
struct TwoHoles {
  explicit TwoHoles(const std::shared_ptr<device::Device>& device) : test(device, options()) {
    for (int i = 0; i < 4; ++i) blocks.push_back(must_allocate(*test.pool, kTestPage));
  }
  void open() {
    EXPECT_TRUE(test->free(blocks[0]).is_ok());
    EXPECT_TRUE(test->free(blocks[2]).is_ok());
  }
  static PoolOptions options() {
    PoolOptions options;
    options.limit_bytes = 4 * kTestPage;
    return options;
  }
  TestPool test;
  std::vector<device::Address> blocks;
};

TEST(Stitch, PagesMoveInOneCallWhereTheDeviceCan) {
  for (const bool moves : {true, false}) {
    device::CountingConfig config;
    config.move_pages = moves;
    TwoHoles holes(device::CountingDevice::create(config).take());
    const device::DeviceCounters before = holes.test.device->counters();
    holes.open();
    EXPECT_NE(must_allocate(*holes.test.pool, 2 * kTestPage), 0U);
    const device::DeviceCounters after = holes.test.device->counters();
    EXPECT_EQ(after.pages_moved - before.pages_moved, moves ? 2U : 0U);
    EXPECT_EQ(after.unmaps - before.unmaps, moves ? 0U : 2U);
    EXPECT_EQ(after.maps - before.maps, moves ? 0U : 2U);
    EXPECT_EQ(after.pages_created, before.pages_created);
  }
}

// A device whose work runs apart from the host, with a record of the order of calls.
class AsynchronousDevice final : public device::FaultInjectingDevice {
 public:
  explicit AsynchronousDevice(std::shared_ptr<device::Device> behind)
      : FaultInjectingDevice(std::move(behind)), info_(FaultInjectingDevice::info()) {
    info_.capabilities.unmap_needs_idle = true;
  }
  const device::DeviceInfo& info() const noexcept override { return info_; }
  base::Status wait_device() noexcept override {
    is_idle = true;
    ++waits;
    return refuses_to_wait ? base::Status(base::StatusCode::device_error, "lost") : base::Status();
  }
  base::Status move_page(device::Address from, device::Address to, device::PageHandle page) noexcept override {
    moved_while_busy |= !is_idle;
    return FaultInjectingDevice::move_page(from, to, page);
  }
  bool is_idle = false;
  bool moved_while_busy = false;
  bool refuses_to_wait = false;
  int waits = 0;

 private:
  device::DeviceInfo info_;
};

TEST(Stitch, WaitsForTheDevicesWorkBeforePagesLeave) {
  auto device = std::make_shared<AsynchronousDevice>(make_device("counting", kGiB));
  TwoHoles holes(device);
  EXPECT_EQ(device->waits, 0) << "growth moves nothing away";
  holes.open();
  EXPECT_NE(must_allocate(*holes.test.pool, 2 * kTestPage), 0U);
  EXPECT_FALSE(device->moved_while_busy);
  EXPECT_GE(device->waits, 1);
}

TEST(Stitch, NothingMovesWhenTheWaitFails) {
  auto device = std::make_shared<AsynchronousDevice>(make_device("counting", kGiB));
  TwoHoles holes(device);
  holes.open();
  device->refuses_to_wait = true;
  auto refused = holes.test->allocate(2 * kTestPage);
  ASSERT_FALSE(refused.is_ok());
  EXPECT_EQ(device->counters().pages_moved, 0U);
  EXPECT_EQ(holes.test->ledger().free_bytes, 2 * kTestPage);
  EXPECT_EQ(holes.test->validate(), "");
}

// --- Limits
// -----------------------------------------------------------------------------------------------------------

TEST(Stitch, IsRefusedBeforeItBeginsWhereTheKernelAllowsTooFewMappings) {
  device::HostConfig config;
  config.huge_pages = false;
  config.max_mappings = device::HostSystem::real().map_count() + 400;
  config.mapping_headroom = 16;
  PoolOptions options;
  options.limit_bytes = 1200 * kTestPage;
  TestPool test(device::HostDevice::create(config).take(), options);
  std::vector<device::Address> blocks;
  for (int i = 0; i < 1200; ++i) blocks.push_back(must_allocate(*test.pool, kTestPage));
  for (std::size_t i = 0; i < blocks.size(); i += 2) EXPECT_TRUE(test->free(blocks[i]).is_ok());
  const device::DeviceCounters before = test.device->counters();
  auto refused = test->allocate(500 * kTestPage);
  ASSERT_FALSE(refused.is_ok());
  EXPECT_NE(refused.status().text().find("vm.max_map_count"), std::string_view::npos) << refused.status().text();
  EXPECT_EQ(test.device->counters().pages_moved, before.pages_moved) << "not half-way";
  EXPECT_NE(must_allocate(*test.pool, 8 * kTestPage), 0U) << "smaller repairs go on";
  EXPECT_EQ(test->validate(), "");
}

// --- Backing
// ----------------------------------------------------------------------------------------------------------

class Notes final : public BackingListener {
 public:
  void on_backing_changed(const BackingChange& change) noexcept override {
    changes.push_back(change);
    if (pool == nullptr) return;
    EXPECT_EQ(pool->validate(), "") << "no lock is held";
  }
  std::vector<BackingChange> changes;
  const Pool* pool = nullptr;
};

TEST(Backing, TheListenerIsToldOfEveryRangeThatGetsOrLosesPages) {
  TwoHoles holes(make_device("counting", kGiB));
  auto notes = std::make_shared<Notes>();
  notes->pool = holes.test.pool.get();
  holes.test->set_backing_listener(notes);
  holes.open();
  const device::Address target = must_allocate(*holes.test.pool, 2 * kTestPage);
  ASSERT_EQ(notes->changes.size(), 3U);
  std::uint64_t gone = 0;
  for (const BackingChange& change : notes->changes) {
    if (!change.mapped) {
      gone += change.bytes;
      EXPECT_TRUE(change.address == holes.blocks[0] || change.address == holes.blocks[2]);
      continue;
    }
    EXPECT_EQ(change.address, target);
    EXPECT_EQ(change.bytes, 2 * kTestPage);
  }
  EXPECT_EQ(gone, 2 * kTestPage);
  holes.test->set_backing_listener(nullptr);
  EXPECT_TRUE(holes.test->trim(0).is_ok());
  EXPECT_EQ(notes->changes.size(), 3U);
}

TEST(Backing, TheGenerationOfARangeGrowsExactlyWhenItsPagesChange) {
  TwoHoles holes(make_device("counting", kGiB));
  const auto generation = [&](device::Address at) { return holes.test->backing_generation(at, kTestPage).take(); };
  const std::uint64_t live = generation(holes.blocks[1]);
  const std::uint64_t freed = generation(holes.blocks[0]);
  EXPECT_NE(live, 0U);
  holes.open();
  EXPECT_EQ(generation(holes.blocks[0]), freed) << "a free changes nothing";
  EXPECT_NE(must_allocate(*holes.test.pool, 2 * kTestPage), 0U);
  EXPECT_EQ(generation(holes.blocks[1]), live) << "pages of live blocks stay";
  EXPECT_GT(generation(holes.blocks[0]), freed);
  EXPECT_FALSE(holes.test->backing_generation(12345, 1).is_ok());
}

}  // namespace
}  // namespace cistern::pool
