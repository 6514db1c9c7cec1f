// Elastic buffers: the address stays, contents stay, pages come from where they are free and go where others get them.
#include <map>

#include "pool/elastic_fixture.hpp"
#include "pool/observer.hpp"

namespace cistern::pool {
namespace {

using base::StatusCode;

class ElasticOn : public ::testing::TestWithParam<const char*> {};

TEST_P(ElasticOn, GrowsAndShrinksInPlaceWithItsContents) {
  TestPool test(make_device(GetParam(), 64 * kMiB), elastic_options(16 * kMiB));
  ElasticStamps stamps(*test.device);
  const ElasticView made = test->reserve_elastic(8 * kMiB + 1, test->intern_tag("kv")).take();
  EXPECT_EQ(made.max_bytes, 8 * kMiB + kTestPage);
  EXPECT_EQ(made.address % kTestPage, 0u);
  EXPECT_EQ(made.backed_bytes, 0u);
  EXPECT_EQ(test->ledger().reserved_bytes, 0u) << "addresses are not memory";
  std::uint64_t bytes = 0;
  for (const std::uint64_t to : {100 * kKiB, 101 * kKiB, 3 * kMiB, 8 * kMiB + 1}) {
    ASSERT_TRUE(test->grow_elastic(made.id, to).is_ok());
    stamps.write(made.address, bytes, to);
    bytes = to;
    EXPECT_TRUE(stamps.hold(made.address, bytes));
    expect_exact(test);
    EXPECT_EQ(test->ledger().requested_bytes, bytes);
    EXPECT_EQ(test->ledger().allocated_bytes, (bytes + kTestPage - 1) / kTestPage * kTestPage);
    EXPECT_EQ(test->ledger().reserved_bytes, test->ledger().allocated_bytes);
  }
  for (const std::uint64_t to : {8 * kMiB, 5 * kMiB - 1, 64 * kKiB, std::uint64_t{1}, std::uint64_t{0}}) {
    ASSERT_TRUE(test->shrink_elastic(made.id, to).is_ok());
    EXPECT_TRUE(stamps.hold(made.address, to));
    expect_exact(test);
    const ElasticView now = test->describe_elastic(made.id).take();
    EXPECT_EQ(now.address, made.address);
    EXPECT_EQ(now.bytes, to);
    EXPECT_EQ(now.backed_bytes, (to + kTestPage - 1) / kTestPage * kTestPage);
    EXPECT_EQ(now.tag, "kv");
    EXPECT_EQ(test->ledger().reserved_bytes, now.backed_bytes) << "the pages went to the device's page pool";
  }
  ASSERT_TRUE(test->grow_elastic(made.id, kMiB).is_ok());
  EXPECT_TRUE(test->release_elastic(made.id).is_ok());
  expect_exact(test);
  EXPECT_EQ(test->ledger().allocated_bytes, 0u);
  EXPECT_EQ(test->ledger().live_blocks, 0u);
  EXPECT_EQ(test->ledger().free_bytes, kMiB) << "a released buffer's memory is a hole of the pool";
}
INSTANTIATE_TEST_SUITE_P(Devices, ElasticOn, ::testing::Values("host", "simulated", "counting"));

TEST(Elastic, PagesComeFromHolesBeforeTheDevice) {
  for (const OnMiss on_miss : {OnMiss::stitch_first, OnMiss::grow_first}) {
    TestPool test(make_device("host", 64 * kMiB), elastic_options(16 * kMiB, on_miss));
    ElasticStamps stamps(*test.device);
    std::vector<device::Address> blocks;
    for (int i = 0; i < 32; ++i) blocks.push_back(must_allocate(*test.pool, 2 * kTestPage));
    const std::uint64_t created = test.device->counters().pages_created;
    for (int i = 0; i < 32; i += 2) ASSERT_TRUE(test->free(blocks[static_cast<std::size_t>(i)]).is_ok());
    for (int i = 1; i < 32; i += 2) stamps.write(blocks[static_cast<std::size_t>(i)], 0, 2 * kTestPage);
    const ElasticView buffer = test->reserve_elastic(16 * kMiB).take();
    ASSERT_TRUE(test->grow_elastic(buffer.id, 32 * kTestPage).is_ok());
    EXPECT_EQ(test.device->counters().pages_created, created) << "all 32 free pages serve";
    EXPECT_EQ(test->ledger().free_bytes, 0u);
    EXPECT_EQ(test->ledger().stitched_pages, 32u);
    ASSERT_TRUE(test->grow_elastic(buffer.id, 40 * kTestPage).is_ok());
    EXPECT_EQ(test.device->counters().pages_created, created + 8);
    for (int i = 1; i < 32; i += 2) EXPECT_TRUE(stamps.hold(blocks[static_cast<std::size_t>(i)], 2 * kTestPage));
    expect_exact(test);
    // And back: other blocks are served from what it gives up, and no page is made for them.
    ASSERT_TRUE(test->shrink_elastic(buffer.id, 8 * kTestPage).is_ok());
    ASSERT_NE(must_allocate(*test.pool, 32 * kTestPage), 0u);
    EXPECT_EQ(test.device->counters().pages_created, created + 8);
    expect_exact(test);
  }
}

TEST(Elastic, TheLimitHoldsAndARefusalChangesNothing) {
  TestPool test(make_device("simulated", 64 * kMiB), elastic_options(4 * kMiB));
  ElasticStamps stamps(*test.device);
  const device::Address block = must_allocate(*test.pool, kMiB);
  const ElasticView buffer = test->reserve_elastic(8 * kMiB).take();
  ASSERT_TRUE(test->grow_elastic(buffer.id, kMiB).is_ok());
  stamps.write(buffer.address, 0, kMiB);
  const Ledger before = test->ledger();
  const base::Status refused = test->grow_elastic(buffer.id, 4 * kMiB);
  EXPECT_EQ(refused.code(), StatusCode::limit_exceeded);
  EXPECT_NE(refused.text().find("CISTERN_LIMIT_BYTES"), std::string_view::npos) << refused.text();
  EXPECT_EQ(test->ledger().allocated_bytes, before.allocated_bytes);
  EXPECT_EQ(test->ledger().reserved_bytes, before.reserved_bytes);
  EXPECT_TRUE(stamps.hold(buffer.address, kMiB));
  ASSERT_TRUE(test->free(block).is_ok());
  EXPECT_TRUE(test->grow_elastic(buffer.id, 4 * kMiB).is_ok()) << "the freed block's pages and the rest of the limit";
  EXPECT_TRUE(stamps.hold(buffer.address, kMiB));
  expect_exact(test);
}

TEST(Elastic, MagazinesAndPendingMemoryServeBeforeARefusal) {
  PoolOptions options = elastic_options(4 * kMiB);
  options.magazine_bytes = 8 * kMiB;
  TestPool test(make_device("simulated", 64 * kMiB), options);
  std::vector<device::Address> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(must_allocate(*test.pool, kTestPage));
  for (const device::Address block : blocks) ASSERT_TRUE(test->free(block).is_ok());
  EXPECT_GT(test->ledger().cached_bytes, 0u);
  const device::StreamHandle first = test.device->create_stream().take();
  const device::StreamHandle second = test.device->create_stream().take();
  AllocationRequest request;
  request.bytes = kMiB;
  request.stream = first;
  const device::Address on_first = test->allocate(request).take();
  request.stream = second;
  ASSERT_TRUE(test->free_async(test->allocate(request).take(), second).is_ok());
  ASSERT_TRUE(test->free_async(on_first, first).is_ok());
  const ElasticView buffer = test->reserve_elastic(4 * kMiB).take();
  const base::Status grown = test->grow_elastic(buffer.id, 4 * kMiB);
  EXPECT_TRUE(grown.is_ok()) << grown.to_string();
  expect_exact(test);
  for (const device::StreamHandle stream : {first, second}) {
    EXPECT_TRUE(test->forget_stream(stream).is_ok());
    EXPECT_TRUE(test.device->destroy_stream(stream).is_ok());
  }
}

TEST(Elastic, WrongCallsAreRefusedAndSayWhy) {
  TestPool test(make_device("host", 64 * kMiB), elastic_options(4 * kMiB));
  EXPECT_EQ(test->reserve_elastic(0).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(test->reserve_elastic(~std::uint64_t{0}).status().code(), StatusCode::out_of_memory);
  EXPECT_EQ(test->reserve_elastic(64 * kMiB).status().code(), StatusCode::out_of_memory) << "eight limits of addresses";
  const ElasticView buffer = test->reserve_elastic(2 * kMiB).take();
  ASSERT_TRUE(test->grow_elastic(buffer.id, kMiB).is_ok());
  EXPECT_EQ(test->grow_elastic(buffer.id, kMiB - 1).code(), StatusCode::invalid_argument);
  EXPECT_EQ(test->grow_elastic(buffer.id, 2 * kMiB + 1).code(), StatusCode::invalid_argument);
  EXPECT_EQ(test->shrink_elastic(buffer.id, kMiB + 1).code(), StatusCode::invalid_argument);
  EXPECT_EQ(test->grow_elastic(0, 1).code(), StatusCode::not_found);
  EXPECT_EQ(test->shrink_elastic(buffer.id + 1, 1).code(), StatusCode::not_found);
  const base::Status freed = test->free(buffer.address);
  EXPECT_EQ(freed.code(), StatusCode::invalid_argument);
  EXPECT_NE(freed.text().find("elastic buffer"), std::string_view::npos) << freed.text();
  EXPECT_FALSE(test->free(buffer.address + kTestPage).is_ok());
  EXPECT_FALSE(test->free(buffer.address + 2 * kMiB - kTestPage).is_ok()) << "in the rest";
  EXPECT_EQ(test->describe(buffer.address + 5).take().flags, static_cast<std::uint32_t>(kFlagElastic));
  EXPECT_TRUE(test->release_elastic(buffer.id).is_ok());
  EXPECT_EQ(test->release_elastic(buffer.id).code(), StatusCode::double_free);
  EXPECT_EQ(test->grow_elastic(buffer.id, 1).code(), StatusCode::double_free);
  EXPECT_EQ(test->free(buffer.address).code(), StatusCode::double_free);
  expect_exact(test);
}

TEST(Elastic, DriverArenasSayWhatIsNeeded) {
  PoolOptions options = elastic_options(4 * kMiB);
  options.growth = Growth::arenas;
  TestPool test(make_device("host", 64 * kMiB), options);
  const base::Status refused = test->reserve_elastic(kMiB).status();
  EXPECT_EQ(refused.code(), StatusCode::unsupported);
  EXPECT_NE(refused.text().find("EXPANDABLE"), std::string_view::npos) << refused.text();
}

TEST(Elastic, ARegisteredEndStaysAndAnotherBuffersAddressesAreItsOwn) {
  TestPool test(make_device("host", 64 * kMiB), elastic_options(8 * kMiB));
  const ElasticView first = test->reserve_elastic(20 * kMiB).take();
  const ElasticView second = test->reserve_elastic(20 * kMiB).take();
  EXPECT_TRUE(first.address >= second.address + 20 * kMiB || second.address >= first.address + 20 * kMiB);
  ASSERT_TRUE(test->grow_elastic(first.id, 4 * kMiB).is_ok());
  ASSERT_TRUE(test->grow_elastic(second.id, 2 * kMiB).is_ok());
  ASSERT_TRUE(test->register_range(first.address + 3 * kMiB, kTestPage).is_ok());
  EXPECT_EQ(test->shrink_elastic(first.id, kMiB).code(), StatusCode::busy);
  EXPECT_EQ(test->describe_elastic(first.id).take().bytes, 4 * kMiB);
  EXPECT_TRUE(test->shrink_elastic(first.id, 3 * kMiB + kTestPage).is_ok());
  ASSERT_TRUE(test->unregister_range(first.address + 3 * kMiB, kTestPage).is_ok());
  EXPECT_TRUE(test->shrink_elastic(first.id, kMiB).is_ok());
  EXPECT_TRUE(test->grow_elastic(second.id, 7 * kMiB).is_ok());
  expect_exact(test);
}

TEST(Elastic, TheSnapshotShowsItsMemoryAndItsAddresses) {
  TestPool test(make_device("host", 64 * kMiB), elastic_options(8 * kMiB));
  const ElasticView buffer = test->reserve_elastic(2 * kMiB, test->intern_tag("kv")).take();
  ASSERT_TRUE(test->grow_elastic(buffer.id, 100).is_ok());
  const Snapshot snapshot = test->snapshot();
  ASSERT_EQ(snapshot.elastics.size(), 1u);
  EXPECT_EQ(snapshot.elastics[0].max_bytes, 2 * kMiB);
  EXPECT_EQ(snapshot.tags[0].tag, "kv");
  EXPECT_EQ(snapshot.tags[0].requested_bytes, 100u);
  std::map<std::string, std::uint64_t> bytes;
  for (const BlockSnapshot& block : snapshot.arenas[0].blocks) {
    if (block.is_elastic) bytes["memory"] += block.bytes;
    if (block.is_reserved) bytes["rest"] += block.bytes;
  }
  EXPECT_EQ(bytes, (std::map<std::string, std::uint64_t>{{"memory", kTestPage}, {"rest", 2 * kMiB - kTestPage}}));
  ASSERT_EQ(test->live_allocations().size(), 1u) << "a leak check finds it";
  EXPECT_EQ(test->live_allocations()[0].requested_bytes, 100u);
}

class Notes final : public Observer {
 public:
  explicit Notes(std::atomic<std::uint64_t>& order) : Observer(order) {}
  void on_event(const Event& event) noexcept override { events.push_back(event); }
  void on_tag(std::uint32_t, std::string_view) noexcept override {}
  std::vector<Event> events;
};

TEST(Elastic, EveryChangeOfItsSizeIsAnEvent) {
  static std::atomic<std::uint64_t> order{0};
  auto device = make_device("host", 64 * kMiB);
  auto pages = std::make_shared<device::PagePool>(*device, kTestPage);
  auto notes = std::make_shared<Notes>(order);
  PoolOptions options = elastic_options(4 * kMiB);
  options.page_bytes = kTestPage;
  auto pool = Pool::create(device, pages, options, compact::rescue_steps(options.on_miss), notes).take();
  const ElasticView buffer = pool->reserve_elastic(8 * kMiB).take();
  ASSERT_TRUE(pool->grow_elastic(buffer.id, 100).is_ok());
  ASSERT_TRUE(pool->grow_elastic(buffer.id, kMiB).is_ok());
  ASSERT_TRUE(pool->grow_elastic(buffer.id, kMiB).is_ok());  // no change
  ASSERT_FALSE(pool->grow_elastic(buffer.id, 5 * kMiB).is_ok());
  ASSERT_TRUE(pool->shrink_elastic(buffer.id, 7).is_ok());
  ASSERT_TRUE(pool->shrink_elastic(buffer.id, 0).is_ok());
  ASSERT_TRUE(pool->grow_elastic(buffer.id, 9).is_ok());
  ASSERT_TRUE(pool->release_elastic(buffer.id).is_ok());
  std::vector<std::pair<EventOp, std::uint64_t>> seen;
  for (const Event& event : notes->events) {
    if (event.op == EventOp::fill || event.op == EventOp::vacate) continue;
    seen.emplace_back(event.op, event.requested_bytes);
    EXPECT_TRUE(event.address == buffer.address || event.op == EventOp::out_of_memory);
    EXPECT_NE(event.caller, nullptr);
  }
  const std::vector<std::pair<EventOp, std::uint64_t>> expected = {
      {EventOp::allocate, 100}, {EventOp::resize, kMiB}, {EventOp::out_of_memory, 5 * kMiB},
      {EventOp::resize, 7},     {EventOp::free, 0},      {EventOp::allocate, 9},
      {EventOp::free, 0}};
  EXPECT_EQ(seen, expected);
}

// Contexts: what another has borrowed and does not use comes to the buffer; what another was promised does not.
TEST(Elastic, GrowsByWhatOtherContextsHaveBorrowedAndNotByWhatTheyWerePromised) {
  auto device = make_device("simulated", 64 * kTestPage);
  auto pages = std::make_shared<device::PagePool>(*device, kTestPage);
  auto contexts = std::make_shared<ContextSet>(64 * kTestPage);
  const auto open = [&](const char* name, std::uint64_t minimum) {
    PoolOptions options;
    options.name = name;
    options.page_bytes = kTestPage;
    options.minimum_bytes = minimum;
    return Pool::create(device, pages, options, compact::rescue_steps(options.on_miss), nullptr, contexts).take();
  };
  const auto one = open("one", 0);
  const auto other = open("other", 16 * kTestPage);
  const device::Address block = must_allocate(*other, 40 * kTestPage);
  ASSERT_TRUE(other->free(block).is_ok());
  EXPECT_EQ(other->context().borrowed_bytes, 24 * kTestPage);
  const ElasticView buffer = one->reserve_elastic(64 * kTestPage).take();
  ASSERT_TRUE(one->grow_elastic(buffer.id, 48 * kTestPage).is_ok());
  EXPECT_EQ(one->context().reserved_bytes, 48 * kTestPage);
  EXPECT_EQ(other->context().borrowed_bytes, 0u);
  const base::Status refused = one->grow_elastic(buffer.id, 49 * kTestPage);
  EXPECT_EQ(refused.code(), StatusCode::out_of_memory) << refused.to_string();
  EXPECT_EQ(one->describe_elastic(buffer.id).take().backed_bytes, 48 * kTestPage);
  ASSERT_NE(must_allocate(*other, 16 * kTestPage), 0u) << "a promise is kept";
  ASSERT_TRUE(one->shrink_elastic(buffer.id, 0).is_ok());
  EXPECT_EQ(one->context().reserved_bytes, 0u);
  EXPECT_EQ(contexts->share().reserved_bytes, other->ledger().reserved_bytes);
  EXPECT_EQ(one->validate(), "");
  EXPECT_EQ(other->validate(), "");
}

// A pool of one stream: its freed memory may be in use until that work is complete, so pages may not leave before.
TEST(Elastic, WorkOnFreedMemoryIsWaitedForBeforeItsPagesMove) {
  device::CountingConfig config;
  config.capacity_bytes = 64 * kMiB;
  config.completion = device::Completion::stepped;
  std::shared_ptr<device::CountingDevice> device = device::CountingDevice::create(config).take();
  TestPool test(device, elastic_options(2 * kMiB));
  const device::StreamHandle stream = device->create_stream().take();
  AllocationRequest request;
  request.bytes = 2 * kMiB;
  request.stream = stream;
  const device::Address block = test->allocate(request).take();
  ASSERT_TRUE(device->submit(stream, {}).is_ok());
  ASSERT_TRUE(test->free_async(block, stream).is_ok());
  const ElasticView buffer = test->reserve_elastic(2 * kMiB).take();
  ASSERT_TRUE(device->step(stream).is_ok());
  const std::uint64_t waits = device->counters().stream_waits + device->counters().event_waits;
  ASSERT_TRUE(test->grow_elastic(buffer.id, 2 * kMiB).is_ok());
  EXPECT_GT(device->counters().stream_waits + device->counters().event_waits, waits);
  expect_exact(test);
  EXPECT_TRUE(test->forget_stream(stream).is_ok());
}

}  // namespace
}  // namespace cistern::pool
