// Compaction on demand, backing callbacks and generations, and the options of active compaction, from a program's side.
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "capi/capi_fixture.hpp"

namespace cistern::capi_test {
namespace {

constexpr std::uint64_t kPage = 64u << 10;

struct Change {
  cistern_address_t address;
  std::uint64_t bytes;
  std::uint64_t generation;
  bool mapped;
};

struct Listener {
  std::vector<Change> changes;
  cistern_pool_t* pool = nullptr;
  cistern_status_t nested = CISTERN_OK;

  static void hear(cistern_address_t address, uint64_t bytes, uint64_t generation, int32_t mapped, void* user) {
    auto* self = static_cast<Listener*>(user);
    self->changes.push_back({address, bytes, generation, mapped != 0});
    uint64_t live = 0;
    self->nested = cistern_pool_live_blocks(self->pool, &live);
  }
};

// Sixteen pages, of which every other one is free, and a size of six pages that was asked for before.
class CompactionOfTheInterface : public testing::Test {
 protected:
  void open(std::uint32_t compaction) {
    cistern_set_log_level(CISTERN_LOG_ERROR);
    device_ = open_device("counting");
    cistern_pool_options_t options{};
    options.struct_size = sizeof options;
    options.page_bytes = kPage;
    options.limit_bytes = 16 * kPage;
    options.compaction = compaction;
    options.compact_interval_ms = 1;
    ASSERT_EQ(cistern_pool_create(device_, &options, &pool_), CISTERN_OK) << last_text();
    cistern_address_t once = 0;
    ASSERT_EQ(cistern_allocate(pool_, 6 * kPage, &once), CISTERN_OK);
    ASSERT_EQ(cistern_free(pool_, once), CISTERN_OK);
    for (cistern_address_t& block : blocks_) ASSERT_EQ(cistern_allocate(pool_, kPage, &block), CISTERN_OK);
    for (std::size_t i = 0; i < blocks_.size(); i += 2) ASSERT_EQ(cistern_free(pool_, blocks_[i]), CISTERN_OK);
  }
  void TearDown() override {
    cistern_pool_destroy(pool_, nullptr);
    cistern_device_close(device_);
  }
  cistern_ledger_t ledger() {
    cistern_ledger_t now{};
    now.struct_size = sizeof now;
    EXPECT_EQ(cistern_get_ledger(pool_, &now), CISTERN_OK);
    return now;
  }

  cistern_device_t* device_ = nullptr;
  cistern_pool_t* pool_ = nullptr;
  std::array<cistern_address_t, 16> blocks_{};
};

TEST_F(CompactionOfTheInterface, SaysWhatItDid) {
  open(CISTERN_COMPACTION_OFF);
  EXPECT_GT(ledger().exposure, 0);
  cistern_compaction_t result{};
  EXPECT_EQ(cistern_compact(pool_, 0, 0, &result), CISTERN_INVALID_ARGUMENT) << "struct_size";
  EXPECT_EQ(ledger().compactions, 0u) << "a refused call does nothing";
  result.struct_size = sizeof result;
  ASSERT_EQ(cistern_compact(pool_, 2 * kPage, 0, &result), CISTERN_OK) << last_text();
  EXPECT_EQ(result.end, static_cast<std::uint32_t>(CISTERN_COMPACTED_BUDGET));
  EXPECT_EQ(result.moved_bytes, 2 * kPage);
  EXPECT_EQ(result.moved_pages, 2u);
  ASSERT_EQ(cistern_compact(pool_, 0, 1'000'000, &result), CISTERN_OK) << last_text();
  EXPECT_EQ(result.end, static_cast<std::uint32_t>(CISTERN_COMPACTED));
  EXPECT_GT(result.exposure_before, 0);
  EXPECT_EQ(result.exposure_after, 0);
  EXPECT_GE(result.largest_free_after, 6 * kPage);
  EXPECT_EQ(cistern_compact(pool_, 0, 0, nullptr), CISTERN_OK);
  EXPECT_EQ(ledger().compactions, 2u);
  EXPECT_LE(ledger().compacted_bytes, 6 * kPage);
}

TEST_F(CompactionOfTheInterface, TheCallbackHearsOfEveryRangeAndMayNotCallBack) {
  open(CISTERN_COMPACTION_OFF);
  Listener listener;
  listener.pool = pool_;
  std::uint64_t before = 0;
  ASSERT_EQ(cistern_backing_generation(pool_, blocks_[1], kPage, &before), CISTERN_OK);
  ASSERT_EQ(cistern_set_backing_callback(pool_, Listener::hear, &listener), CISTERN_OK);
  ASSERT_EQ(cistern_compact(pool_, 0, 0, nullptr), CISTERN_OK);
  EXPECT_EQ(listener.nested, CISTERN_BUSY);
  std::uint64_t got = 0;
  std::uint64_t lost = 0;
  for (const Change& change : listener.changes) {
    (change.mapped ? got : lost) += change.bytes;
    std::uint64_t now = 0;
    ASSERT_EQ(cistern_backing_generation(pool_, change.address, change.bytes, &now), CISTERN_OK);
    EXPECT_GE(now, change.generation);
  }
  EXPECT_EQ(got, lost);
  EXPECT_EQ(got, ledger().compacted_bytes);
  std::uint64_t after = 0;
  ASSERT_EQ(cistern_backing_generation(pool_, blocks_[1], kPage, &after), CISTERN_OK);
  EXPECT_EQ(after, before) << "pages under live blocks stay";
  ASSERT_EQ(cistern_set_backing_callback(pool_, nullptr, nullptr), CISTERN_OK);
  const std::size_t heard = listener.changes.size();
  ASSERT_EQ(cistern_trim(pool_, 0, nullptr), CISTERN_OK);
  EXPECT_EQ(listener.changes.size(), heard);
  EXPECT_EQ(cistern_backing_generation(pool_, 7, 1, &after), CISTERN_NOT_FOUND);
  EXPECT_EQ(cistern_backing_generation(pool_, blocks_[1], kPage, nullptr), CISTERN_INVALID_ARGUMENT);
}

TEST_F(CompactionOfTheInterface, AnActivePoolCompactsItselfAndItsThreadMayNotCallBackEither) {
  open(CISTERN_COMPACTION_ACTIVE);
  for (int i = 0; i < 2000 && ledger().exposure > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(ledger().exposure, 0);
  EXPECT_GE(ledger().compactions, 1u);
}

TEST_F(CompactionOfTheInterface, ImpossibleOptionsAreRefused) {
  open(CISTERN_COMPACTION_DEFAULT);
  cistern_pool_options_t options{};
  options.struct_size = sizeof options;
  options.compaction = 3;
  cistern_pool_t* pool = nullptr;
  EXPECT_EQ(cistern_pool_create(device_, &options, &pool), CISTERN_INVALID_ARGUMENT);
  options.compaction = 0;
  options.compact_threshold = 1.5;
  EXPECT_EQ(cistern_pool_create(device_, &options, &pool), CISTERN_INVALID_ARGUMENT);
  EXPECT_NE(last_text().find("compact_threshold"), std::string::npos) << last_text();
}

TEST(CompactionFromEnvironment, TheArticlesVariablesTurnItOn) {
  cistern_pool_options_t options{};
  options.struct_size = sizeof options;
  ASSERT_EQ(cistern_pool_options_from_environment(&options), CISTERN_OK) << last_text();
  EXPECT_EQ(options.compaction, static_cast<std::uint32_t>(CISTERN_COMPACTION_OFF));
  setenv("ASCEND_MEMPOOL_COMPACT_INTERVAL", "10000", 1);
  ASSERT_EQ(cistern_pool_options_from_environment(&options), CISTERN_OK) << last_text();
  EXPECT_EQ(options.compaction, static_cast<std::uint32_t>(CISTERN_COMPACTION_ACTIVE));
  EXPECT_EQ(options.compact_interval_ms, 10000u);
  EXPECT_EQ(options.compact_threshold, 0.3);
  setenv("CISTERN_COMPACT", "OFF", 1);
  ASSERT_EQ(cistern_pool_options_from_environment(&options), CISTERN_OK) << last_text();
  EXPECT_EQ(options.compaction, static_cast<std::uint32_t>(CISTERN_COMPACTION_OFF)) << "who says no means it";
  unsetenv("CISTERN_COMPACT");
  unsetenv("ASCEND_MEMPOOL_COMPACT_INTERVAL");
  setenv("ASCEND_MEMPOOL_COMPACT_THRESHOLD", "0.2", 1);
  ASSERT_EQ(cistern_pool_options_from_environment(&options), CISTERN_OK) << last_text();
  EXPECT_EQ(options.compaction, static_cast<std::uint32_t>(CISTERN_COMPACTION_ACTIVE));
  EXPECT_EQ(options.compact_threshold, 0.2);
  unsetenv("ASCEND_MEMPOOL_COMPACT_THRESHOLD");
}

}  // namespace
}  // namespace cistern::capi_test
