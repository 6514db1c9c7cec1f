// find_live from other threads while one thread allocates and releases: no lock, no torn answer. Meant for
// ThreadSanitizer as much as for its own expectations.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "core/suballocator.hpp"

namespace cistern::core {
namespace {

TEST(ConcurrentFind, SeesBlocksThatStayAndNeverBlocksThatCantBe) {
  SuballocatorConfig config;
  config.range_bytes = 1 << 20;
  config.page_bytes = 4096;
  config.starts_filled = true;
  const auto arena = Suballocator::create(config).take();
  const BlockIndex lasting = arena->allocate(4096, 512);
  const std::uint64_t lasting_offset = arena->view(lasting).range.offset;

  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> hits{0};
  std::vector<std::thread> readers;
  for (std::uint32_t seed = 0; seed < 2; ++seed) {
    readers.emplace_back([&, seed] {
      std::mt19937 random(seed);
      std::uint64_t seen = 0;
      do {  // once at least: the writer may be done before a reader starts
        if (arena->find_live(lasting_offset) != lasting) wrong.fetch_add(1);
        const BlockIndex block = arena->find_live(random() % 2048 * kGranuleBytes);
        if (block > 4096) wrong.fetch_add(1);  // the range has no room for so many
        if (block != kNoBlock) ++seen;
      } while (!done.load(std::memory_order_relaxed) || seen == 0);
      hits.fetch_add(seen);
    });
  }
  std::mt19937 random(99);
  std::vector<BlockIndex> live;
  for (int i = 0; i < 100'000; ++i) {
    if (live.size() < 100 || (live.size() < 400 && random() % 2 == 0)) {
      const BlockIndex block = arena->allocate(1 + random() % 4096, 512);
      if (block != kNoBlock) live.push_back(block);
    } else {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_TRUE(arena->release(live.back()));
      live.pop_back();
    }
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0U);
  EXPECT_GT(hits.load(), 0U);
  EXPECT_EQ(arena->validate(), "");
}

}  // namespace
}  // namespace cistern::core
