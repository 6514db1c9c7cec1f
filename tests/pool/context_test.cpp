// Contexts: promises, borrowing, what is taken back, sums, messages; each rule by one thread.
#include <atomic>
#include <chrono>
#include <thread>

#include "device/tracked_device.hpp"
#include "pool/context_fixture.hpp"
#include "pool/stream_fixture.hpp"

namespace cistern::pool {
namespace {

using base::StatusCode;

class Contexts : public ::testing::TestWithParam<Growth> {
 protected:
  std::unique_ptr<Pool> must_make(const std::string& name, std::uint64_t minimum, std::uint64_t maximum = 0) {
    auto made = on_.make(name, minimum, maximum, GetParam());
    EXPECT_TRUE(made.is_ok()) << made.status().to_string();
    return made.is_ok() ? made.take() : nullptr;
  }
  void expect_exact() {
    EXPECT_EQ(on_.reserved(), on_.contexts->share().reserved_bytes);
    EXPECT_EQ(on_.reserved(), on_.given_by_device());
  }

  TestDevice on_{"simulated", 32 * kMiB};
};

TEST_P(Contexts, MinimaBeyondTheDeviceAreRefusedAtCreation) {
  const auto first = must_make("first", 20 * kMiB);
  const auto refused = on_.make("second", 13 * kMiB, 0, GetParam());
  ASSERT_FALSE(refused.is_ok());
  EXPECT_EQ(refused.status().code(), StatusCode::limit_exceeded);
  EXPECT_NE(refused.status().text().find("second"), std::string::npos) << refused.status().text();
  EXPECT_NE(refused.status().text().find("20 MiB are promised"), std::string::npos) << refused.status().text();
  EXPECT_TRUE(on_.make("second", 12 * kMiB, 0, GetParam()).is_ok());
  EXPECT_EQ(on_.contexts->share().promised_bytes, 20 * kMiB) << "those that were refused or have ended left nothing";
  EXPECT_EQ(on_.device->counters().driver_bytes, 0u) << "a promise makes no page";
}

TEST_P(Contexts, AMinimumAboveTheMaximumIsRefused) {
  const auto refused = on_.make("odd", 9 * kMiB, 8 * kMiB, GetParam());
  ASSERT_FALSE(refused.is_ok());
  EXPECT_EQ(refused.status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(on_.contexts->share().contexts, 0u);
}

TEST_P(Contexts, WhoBorrowsMayTakeTheRestAndNothingThatIsPromised) {
  const auto quiet = must_make("quiet", 8 * kMiB);
  const auto noisy = must_make("noisy", 4 * kMiB);
  std::uint64_t served = 0;
  base::Status refused;
  for (;;) {
    auto block = noisy->allocate(kMiB);
    if (!block.is_ok()) {
      refused = block.take_status();
      break;
    }
    served += kMiB;
  }
  EXPECT_EQ(served, 24 * kMiB) << "the device's 32, less the 8 that are promised";
  EXPECT_EQ(refused.code(), StatusCode::out_of_memory);
  EXPECT_EQ(noisy->context().borrowed_bytes, 20 * kMiB);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(quiet->allocate(kMiB).is_ok()) << i;
  expect_exact();
  EXPECT_EQ(quiet->validate(), "");
  EXPECT_EQ(noisy->validate(), "");
}

TEST_P(Contexts, ItsOwnMaximumStopsAContextAndTheErrorNamesIt) {
  const auto other = must_make("other", 2 * kMiB);
  const auto leaky = must_make("leaky", kMiB, 4 * kMiB);
  AllocationRequest request;
  request.bytes = kMiB;
  request.tag = leaky->intern_tag("never freed");
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(leaky->allocate(request).is_ok());
  const auto refused = leaky->allocate(request);
  ASSERT_FALSE(refused.is_ok());
  EXPECT_EQ(refused.status().code(), StatusCode::limit_exceeded);
  const std::string text(refused.status().text());
  for (const char* part : {"context 'leaky' cannot serve", "its limit of 4 MiB", "1 MiB are promised, 3 MiB borrowed",
                           "'other' 0 B (promised 2 MiB)", "never freed 4 MiB in 4 blocks"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
  }
  EXPECT_TRUE(other->allocate(8 * kMiB).is_ok()) << "others go on";
}

TEST_P(Contexts, WhatIsBorrowedAndFreeGoesToWhoeverNeedsIt) {
  const auto lender = must_make("lender", 4 * kMiB);
  const auto borrower = must_make("borrower", 4 * kMiB);
  std::vector<device::Address> blocks;
  for (int i = 0; i < 7; ++i) blocks.push_back(must_allocate(*lender, 4 * kMiB));
  for (const device::Address block : blocks) ASSERT_TRUE(lender->free(block).is_ok());
  ASSERT_GT(lender->context().reserved_bytes, 4 * kMiB);
  for (int i = 0; i < 7; ++i) EXPECT_NE(must_allocate(*borrower, 4 * kMiB), 0u) << i;
  EXPECT_LE(lender->context().reserved_bytes, 4 * kMiB);
  EXPECT_EQ(borrower->context().borrowed_bytes, 24 * kMiB);
  EXPECT_FALSE(borrower->allocate(4 * kMiB).is_ok()) << "what the lender is promised stays";
  EXPECT_NE(must_allocate(*lender, 4 * kMiB), 0u);
  expect_exact();
  EXPECT_EQ(lender->validate(), "");
  EXPECT_EQ(borrower->validate(), "");
}

TEST_P(Contexts, ALenderWithinItsMinimumKeepsItsFreePages) {
  const auto owner = must_make("owner", 16 * kMiB);
  ASSERT_TRUE(owner->free(must_allocate(*owner, 16 * kMiB)).is_ok());
  const std::uint64_t held = owner->context().reserved_bytes;
  ASSERT_GE(held, 16 * kMiB);
  const auto other = must_make("other", 0);
  EXPECT_FALSE(other->allocate(17 * kMiB).is_ok());
  EXPECT_TRUE(other->allocate(16 * kMiB).is_ok());
  EXPECT_EQ(owner->context().reserved_bytes, 16 * kMiB);
}

TEST_P(Contexts, ANewMinimumIsTakenBackFromWhoHasBorrowedIt) {
  const auto first = must_make("first", 0);
  const device::Address kept = must_allocate(*first, 10 * kMiB);
  const device::Address spare = must_allocate(*first, 20 * kMiB);
  auto refused = on_.make("second", 16 * kMiB, 0, GetParam());
  ASSERT_FALSE(refused.is_ok());
  EXPECT_EQ(refused.status().code(), StatusCode::out_of_memory) << refused.status().text();
  EXPECT_NE(refused.status().text().find("borrowed"), std::string::npos) << refused.status().text();
  ASSERT_TRUE(first->free(spare).is_ok());
  const auto second = must_make("second", 16 * kMiB);
  ASSERT_NE(second, nullptr);
  EXPECT_LE(first->context().reserved_bytes, 16 * kMiB);
  EXPECT_NE(must_allocate(*second, 16 * kMiB), 0u);
  EXPECT_TRUE(first->free(kept).is_ok());
}

TEST_P(Contexts, AFreeInAnotherContextNamesTheOwner) {
  const auto one = must_make("one", kMiB);
  const auto two = must_make("two", kMiB);
  const device::Address block = must_allocate(*one, 4096);
  for (const base::Status& refused : {two->free(block), two->free_async(block, 0), two->record_use(block, 0)}) {
    EXPECT_EQ(refused.code(), StatusCode::wrong_context);
    EXPECT_NE(refused.text().find("context 'one'"), std::string::npos) << refused.text();
  }
  EXPECT_EQ(two->free(12345).code(), StatusCode::not_found);
  EXPECT_TRUE(one->free(block).is_ok());
  EXPECT_EQ(two->validate(), "");
}

TEST_P(Contexts, AContextThatEndsWithLiveBlocksLeavesItsShareToOthers) {
  const auto stays = must_make("stays", 0);
  {
    const auto goes = must_make("goes", 8 * kMiB);
    for (int i = 0; i < 3; ++i) ASSERT_NE(must_allocate(*goes, 8 * kMiB), 0u);
    const auto stream = on_.device->create_stream();
    ASSERT_TRUE(stream.is_ok());
    auto pending = goes->allocate(kMiB);
    ASSERT_TRUE(pending.is_ok());
    EXPECT_TRUE(goes->free_async(pending.value(), stream.value()).is_ok());
    EXPECT_FALSE(stays->allocate(20 * kMiB).is_ok());
  }
  EXPECT_EQ(on_.contexts->share().contexts, 1u);
  EXPECT_TRUE(stays->allocate(20 * kMiB).is_ok());
  expect_exact();
}

TEST_P(Contexts, ViewsAddUpAndFollowWhatHappens) {
  const auto one = must_make("one", 2 * kMiB, 16 * kMiB);
  const auto two = must_make("two", 0, 8 * kMiB);
  const device::Address block = must_allocate(*one, 6 * kMiB);
  ASSERT_NE(must_allocate(*two, kMiB), 0u);
  const std::vector<ContextView> views = on_.contexts->views();
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[0].name, "one");
  EXPECT_EQ(views[0].allocated_bytes, 6 * kMiB);
  EXPECT_EQ(views[0].reserved_bytes, one->ledger().reserved_bytes);
  EXPECT_EQ(views[0].minimum_bytes, 2 * kMiB);
  EXPECT_EQ(views[0].maximum_bytes, 16 * kMiB);
  EXPECT_EQ(views[0].borrowed_bytes, one->ledger().reserved_bytes - 2 * kMiB);
  EXPECT_EQ(views[1].allocated_bytes, kMiB);
  EXPECT_EQ(views[1].borrowed_bytes, two->ledger().reserved_bytes);
  expect_exact();
  EXPECT_TRUE(one->free(block).is_ok());
  EXPECT_TRUE(one->trim(0).is_ok());
  EXPECT_EQ(one->context().reserved_bytes, 0u);
  const Snapshot snapshot = two->snapshot();
  EXPECT_EQ(snapshot.contexts.size(), 2u);
  EXPECT_EQ(snapshot.share.promised_bytes, 2 * kMiB);
  EXPECT_EQ(snapshot.share.reserved_bytes, two->ledger().reserved_bytes);
}

INSTANTIATE_TEST_SUITE_P(All, Contexts, ::testing::Values(Growth::expandable, Growth::arenas), growth_param_name);

// A thread's magazine is charged to its context, and emptied when another is in need.
TEST(ContextMagazines, WhatThreadsKeepIsChargedAndGivenUpAtTheirEndOrOnDemand) {
  const TestDevice on("counting", 16 * kMiB);
  PoolOptions options;
  options.name = "cached";
  options.magazine_bytes = 8 * kMiB;
  auto cached = on.make(options);
  ASSERT_TRUE(cached.is_ok());
  Pool& pool = *cached.value();
  std::vector<device::Address> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(must_allocate(pool, kTestPage));
  for (const device::Address block : blocks) ASSERT_TRUE(pool.free(block).is_ok());
  ASSERT_GT(pool.ledger().cached_bytes, 0u);
  EXPECT_GE(pool.context().reserved_bytes, 4 * kMiB);
  EXPECT_EQ(pool.context().allocated_bytes, 0u);
  auto needy = on.make("needy", 0);
  ASSERT_TRUE(needy.is_ok());
  EXPECT_TRUE(needy.value()->allocate(16 * kMiB).is_ok()) << "all of the device";
  EXPECT_EQ(pool.context().reserved_bytes, 0u);
  EXPECT_EQ(pool.ledger().cached_bytes, 0u);
  EXPECT_EQ(pool.validate(), "");
}

// Pages of another size can't be handed on; they go back to the device, where the other's come from.
TEST(ContextPages, MemoryChangesHandsBetweenPageSizes) {
  const TestDevice on("simulated", 16 * kMiB);
  const auto large_pages = std::make_shared<device::PagePool>(*on.device, 2 * kMiB);
  PoolOptions options;
  options.name = "large";
  options.page_bytes = 2 * kMiB;
  auto large =
      Pool::create(on.device, large_pages, options, compact::rescue_steps(options.on_miss), nullptr, on.contexts);
  ASSERT_TRUE(large.is_ok());
  ASSERT_TRUE(large.value()->free(must_allocate(*large.value(), 16 * kMiB)).is_ok());
  auto small = on.make("small", 0);
  ASSERT_TRUE(small.is_ok());
  EXPECT_TRUE(small.value()->allocate(12 * kMiB).is_ok());
  EXPECT_LE(large.value()->context().reserved_bytes, 4 * kMiB);
}

// Work of a stream on freed memory is waited for before its pages go to another context.
TEST(ContextStreams, PagesThatWorkStillUsesAreNotLentBeforeItIsComplete) {
  const TestDevice on("simulated", 16 * kMiB);
  auto lender = on.make("lender", 0);
  auto borrower = on.make("borrower", 0);
  ASSERT_TRUE(lender.is_ok() && borrower.is_ok());
  auto* tracked = dynamic_cast<device::TrackedDevice*>(on.device.get());
  ASSERT_NE(tracked, nullptr);
  const auto stream = on.device->create_stream();
  ASSERT_TRUE(stream.is_ok());
  AllocationRequest request;
  request.bytes = 12 * kMiB;
  request.stream = stream.value();
  auto block = lender.value()->allocate(request);
  ASSERT_TRUE(block.is_ok());
  std::atomic<bool> is_done{false};
  ASSERT_TRUE(tracked
                  ->submit(stream.value(), {.duration_ns = 0,
                                            .body =
                                                [&] {
                                                  std::this_thread::sleep_for(std::chrono::milliseconds(30));
                                                  is_done = true;
                                                }})
                  .is_ok());
  ASSERT_TRUE(lender.value()->free_async(block.value(), stream.value()).is_ok());
  EXPECT_TRUE(borrower.value()->allocate(12 * kMiB).is_ok());
  EXPECT_TRUE(is_done) << "the pages went to others while work could use them";
}

// Streams are the device's, so one context's memory may be freed in the order of a stream that another one works on.
TEST(ContextStreams, AStreamOfAnotherContextIsWaitedForLikeAnOwn) {
  const auto device = StreamPool::stepped();
  const TestDevice on(device);
  const auto mine = on.make("mine", 0).take();
  const auto theirs = on.make("theirs", 0).take();
  const device::StreamHandle my_stream = device->create_stream().take();
  const device::StreamHandle their_stream = device->create_stream().take();
  const auto allocate = [](Pool& pool, device::StreamHandle stream) {
    AllocationRequest request;
    request.bytes = kMiB;
    request.stream = stream;
    return pool.allocate(request).take();
  };
  const device::Address their_block = allocate(*theirs, their_stream);
  const device::Address block = allocate(*mine, my_stream);
  EXPECT_TRUE(device->submit(their_stream, {}).is_ok());
  EXPECT_TRUE(mine->free_async(block, their_stream).is_ok());
  const device::Address early = allocate(*mine, my_stream);
  EXPECT_NE(early, block) << "work on it is pending";
  EXPECT_TRUE(device->step(their_stream).value());
  const device::Address late = allocate(*mine, my_stream);
  EXPECT_EQ(late, block);
  EXPECT_EQ(mine->free_async(their_block, their_stream).code(), StatusCode::wrong_context);
  EXPECT_EQ(mine->record_use(their_block, my_stream).code(), StatusCode::wrong_context);
  EXPECT_TRUE(mine->free(early).is_ok());
  EXPECT_TRUE(mine->free(late).is_ok());
  EXPECT_TRUE(theirs->free(their_block).is_ok());
}

}  // namespace
}  // namespace cistern::pool
