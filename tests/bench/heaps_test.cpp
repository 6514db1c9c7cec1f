// The host's heaps can be loaded beside each other, and those that are there serve a workload. In a program of its own,
// which is not built for the sanitizers: they allow no library that puts its own malloc first.
#include <gtest/gtest.h>

#include <set>

#include "bench/contenders/host_heap.hpp"
#include "bench/player.hpp"
#include "bench/workloads/replacement.hpp"

namespace cistern::bench {
namespace {

// As a heap, but a refusal or a place given twice is counted.
struct Watched {
  HostHeap heap;
  std::set<Place> live;
  int wrong = 0;
  Place allocate(std::uint64_t bytes) {
    const Place place = heap.allocate(bytes);
    wrong += place == 0 || !live.insert(place).second ? 1 : 0;
    return place;
  }
  void free(Place place) {
    wrong += live.erase(place) == 1 ? 0 : 1;
    heap.free(place);
  }
};

TEST(HostHeaps, ThoseThatAreThereServe) {
  const auto heaps = load_heaps();
  ASSERT_EQ(heaps.size(), 4u);
  EXPECT_EQ(heaps.front().name, "glibc");
  EXPECT_EQ(heaps.front().missing, "");
  std::set<void* (*)(std::size_t)> different;
  for (const HeapLibrary& library : heaps) {
    SCOPED_TRACE(library.name + ": " + library.missing);
    EXPECT_EQ(library.missing.empty(), library.allocate != nullptr && library.free != nullptr);
    if (!library.missing.empty()) continue;
    EXPECT_TRUE(different.insert(library.allocate).second);
    Watched watched{HostHeap(library), {}};
    const Workload workload = small_blocks();
    {
      Player player(watched, workload);
      EXPECT_TRUE(player.warm_up(std::chrono::hours(1), std::chrono::hours(1)));
      EXPECT_EQ(watched.live.size(), 4096u);
    }
    EXPECT_TRUE(watched.live.empty());
    EXPECT_EQ(watched.wrong, 0);
  }
}

}  // namespace
}  // namespace cistern::bench
