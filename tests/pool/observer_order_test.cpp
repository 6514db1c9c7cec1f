// The order of events under threads: by their numbers, no address is ever allocated while it is live.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

// Keeps each thread's events apart, so that nothing but the pool orders them.
class ThreadNotes final : public Observer {
 public:
  explicit ThreadNotes(std::atomic<std::uint64_t>& order) : Observer(order) {}
  void on_event(const Event& event) noexcept override {
    if (mine != nullptr) mine->push_back(event);
  }
  void on_tag(std::uint32_t, std::string_view) noexcept override {}
  static thread_local std::vector<Event>* mine;
};
thread_local std::vector<Event>* ThreadNotes::mine = nullptr;

class ObserverOrder : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(MagazineBytes, ObserverOrder, ::testing::Values(0, kMiB));

TEST_P(ObserverOrder, AFreeComesBeforeTheNextUseOfItsAddress) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 3000;
  std::atomic<std::uint64_t> order{0};
  auto device = make_device("counting", 64 * kMiB);
  auto pages = std::make_shared<device::PagePool>(*device, kTestPage);
  PoolOptions options;
  options.page_bytes = kTestPage;
  options.magazine_bytes = GetParam();
  auto pool = Pool::create(device, pages, options, {}, std::make_shared<ThreadNotes>(order)).take();
  std::vector<std::vector<Event>> notes(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ThreadNotes::mine = &notes[static_cast<std::size_t>(t)];
      for (int i = 0; i < kRounds; ++i) {
        const auto served = pool->allocate(4096);
        if (!served.is_ok() || !pool->free(served.value()).is_ok()) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<Event> all;
  for (const auto& each : notes) all.insert(all.end(), each.begin(), each.end());
  std::sort(all.begin(), all.end(),
            [](const Event& left, const Event& right) { return left.sequence < right.sequence; });
  std::map<device::Address, bool> live;
  std::size_t reuses = 0;
  for (const Event& event : all) {
    if (event.op == EventOp::allocate) {
      reuses += live.count(event.address);
      ASSERT_FALSE(live[event.address]) << "allocated while live, event " << event.sequence;
      live[event.address] = true;
    } else if (event.op == EventOp::free) {
      ASSERT_TRUE(live[event.address]) << "freed while free, event " << event.sequence;
      live[event.address] = false;
    }
  }
  EXPECT_GE(all.size(), std::size_t{2} * kThreads * kRounds);
  EXPECT_GT(reuses, std::size_t{kThreads} * kRounds / 2) << "the test must see addresses used again";
}

}  // namespace
}  // namespace cistern::pool
