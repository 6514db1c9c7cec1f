// What an observer is told: every event once, with the right numbers, and never an address's free after its next use.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

class Notes final : public Observer {
 public:
  explicit Notes(std::atomic<std::uint64_t>& order) : Observer(order) {}
  void on_event(const Event& event) noexcept override {
    const std::lock_guard lock(mutex);
    events.push_back(event);
  }
  void on_tag(std::uint32_t id, std::string_view text) noexcept override {
    const std::lock_guard lock(mutex);
    tags[id] = text;
  }
  std::vector<Event> of(EventOp op) {
    std::vector<Event> found;
    for (const Event& event : in_order()) {
      if (event.op == op) found.push_back(event);
    }
    return found;
  }
  std::vector<Event> in_order() {
    const std::lock_guard lock(mutex);
    std::vector<Event> sorted = events;
    std::sort(sorted.begin(), sorted.end(),
              [](const Event& left, const Event& right) { return left.sequence < right.sequence; });
    return sorted;
  }

  std::mutex mutex;
  std::vector<Event> events;
  std::map<std::uint32_t, std::string> tags;
};

struct ObservedPool {
  explicit ObservedPool(PoolOptions options) {
    device = make_device("counting", 64 * kMiB);
    options.page_bytes = options.growth == Growth::expandable ? kTestPage : 0;
    if (options.growth == Growth::expandable) pages = std::make_shared<device::PagePool>(*device, kTestPage);
    pool = Pool::create(device, pages, options, compact::rescue_steps(options.on_miss), notes).take();
  }
  std::atomic<std::uint64_t> order{0};
  std::shared_ptr<Notes> notes = std::make_shared<Notes>(order);
  std::shared_ptr<device::Device> device;
  std::shared_ptr<device::PagePool> pages;
  std::unique_ptr<Pool> pool;
};

PoolOptions with_growth(Growth growth) {
  PoolOptions options;
  options.growth = growth;
  options.limit_bytes = 16 * kMiB;
  return options;
}

std::uint64_t sum(const std::vector<Event>& events) {
  std::uint64_t bytes = 0;
  for (const Event& event : events) bytes += event.granted_bytes;
  return bytes;
}

TEST(Observer, IsToldOfAllocationsAndFrees) {
  ObservedPool on(with_growth(Growth::expandable));
  AllocationRequest request;
  request.bytes = 1000;
  request.tag = on.pool->intern_tag("weights");
  const device::Address address = on.pool->allocate(request).value();
  EXPECT_EQ(on.notes->tags[request.tag], "weights");
  ASSERT_EQ(on.notes->of(EventOp::allocate).size(), 1U);
  const Event allocated = on.notes->of(EventOp::allocate)[0];
  EXPECT_EQ(allocated.address, address);
  EXPECT_EQ(allocated.requested_bytes, 1000U);
  EXPECT_EQ(allocated.granted_bytes, on.pool->describe(address).value().granted_bytes);
  EXPECT_EQ(allocated.tag, request.tag);
  EXPECT_NE(allocated.caller, nullptr);
  ASSERT_TRUE(on.pool->free(address).is_ok());
  ASSERT_EQ(on.notes->of(EventOp::free).size(), 1U);
  EXPECT_EQ(on.notes->of(EventOp::free)[0].address, address);
  EXPECT_FALSE(on.pool->free(address).is_ok());
  EXPECT_EQ(on.notes->of(EventOp::free).size(), 1U) << "a refused free is no event";
}

TEST(Observer, GrantedBytesAreTheBlocksForEverySizeAndAlignment) {
  ObservedPool on(with_growth(Growth::expandable));
  for (const std::uint64_t alignment : {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{65536}}) {
    for (const std::uint64_t bytes : {1ULL, 511ULL, 512ULL, 513ULL, 65536ULL, 70000ULL, 1000001ULL}) {
      const device::Address address = must_allocate(*on.pool, bytes, alignment);
      ASSERT_NE(address, 0U);
      EXPECT_EQ(on.notes->of(EventOp::allocate).back().granted_bytes, on.pool->describe(address).value().granted_bytes);
    }
  }
}

TEST(Observer, BlocksOfAMagazineAreEventsLikeAllOthers) {
  PoolOptions options = with_growth(Growth::expandable);
  options.magazine_bytes = kMiB;
  ObservedPool on(options);
  for (int i = 0; i < 10; ++i) {
    const device::Address address = must_allocate(*on.pool, 5000);
    const Event allocated = on.notes->of(EventOp::allocate).back();
    EXPECT_EQ(allocated.address, address);
    EXPECT_EQ(allocated.granted_bytes, on.pool->describe(address).value().granted_bytes);
    ASSERT_TRUE(on.pool->free(address).is_ok());
  }
  EXPECT_GT(on.pool->ledger().cached_bytes, 0U) << "the test must go through a magazine";
  EXPECT_EQ(on.notes->of(EventOp::allocate).size(), 10U);
  EXPECT_EQ(on.notes->of(EventOp::free).size(), 10U);
}

TEST(Observer, PagesAddUpToWhatIsReserved) {
  ObservedPool on(with_growth(Growth::expandable));
  std::vector<device::Address> blocks;
  for (int i = 0; i < 30; ++i) blocks.push_back(must_allocate(*on.pool, 300 * kKiB));
  for (std::size_t i = 0; i < blocks.size(); i += 2) ASSERT_TRUE(on.pool->free(blocks[i]).is_ok());
  ASSERT_NE(must_allocate(*on.pool, 3 * kMiB), 0U);  // stitched
  EXPECT_GT(on.pool->ledger().stitches, 0U);
  ASSERT_TRUE(on.pool->trim(0).is_ok());
  EXPECT_GT(sum(on.notes->of(EventOp::vacate)), 0U);
  EXPECT_EQ(sum(on.notes->of(EventOp::fill)) - sum(on.notes->of(EventOp::vacate)), on.pool->ledger().reserved_bytes);
}

TEST(Observer, DriverArenasAddUpToWhatIsReserved) {
  PoolOptions options = with_growth(Growth::arenas);
  options.direct_bytes = 4 * kMiB;
  ObservedPool on(options);
  const device::Address small = must_allocate(*on.pool, kMiB);
  const device::Address direct = must_allocate(*on.pool, 5 * kMiB);
  const auto reserved = [&] {
    return sum(on.notes->of(EventOp::driver_malloc)) - sum(on.notes->of(EventOp::driver_free));
  };
  EXPECT_EQ(on.notes->of(EventOp::driver_malloc).size(), 2U);
  EXPECT_EQ(reserved(), on.pool->ledger().reserved_bytes);
  ASSERT_TRUE(on.pool->free(direct).is_ok());
  EXPECT_EQ(on.notes->of(EventOp::driver_free).size(), 1U);
  EXPECT_EQ(reserved(), on.pool->ledger().reserved_bytes);
  ASSERT_TRUE(on.pool->free(small).is_ok());
  ASSERT_TRUE(on.pool->trim(0).is_ok());
  EXPECT_EQ(reserved(), 0U);
}

TEST(Observer, IsToldOfRefusalsForWantOfMemoryAndOfTheEnd) {
  ObservedPool on(with_growth(Growth::expandable));
  EXPECT_FALSE(on.pool->allocate(17 * kMiB).is_ok());
  ASSERT_EQ(on.notes->of(EventOp::out_of_memory).size(), 1U);
  EXPECT_EQ(on.notes->of(EventOp::out_of_memory)[0].requested_bytes, 17 * kMiB);
  EXPECT_FALSE(on.pool->allocate(0).is_ok());
  EXPECT_EQ(on.notes->events.size(), 1U) << "a wrong request is no event";
  on.pool.reset();
  EXPECT_EQ(on.notes->of(EventOp::pool_end).size(), 1U);
}

}  // namespace
}  // namespace cistern::pool
