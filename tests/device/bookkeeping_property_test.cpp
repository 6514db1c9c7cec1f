// Bookkeeping against models too simple to be wrong, over random sequences of calls: the address allocator against a
// row of booleans, the address space against a map of pages, the page pool against lists, with a device that refuses
// at random.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/bits.hpp"
#include "base/units.hpp"
#include "device/address_allocator.hpp"
#include "device/counting_device.hpp"
#include "device/fault_device.hpp"
#include "device/page_pool.hpp"

namespace cistern::device::testing {
namespace {

using base::kKiB;
using base::kMiB;

// rapidcheck's own gtest glue is a package of its own; this is all of it that we need.
void check(const std::function<void()>& property) { EXPECT_TRUE(rc::check(property)); }

TEST(AddressAllocatorProperty, MatchesARowOfBooleans) {
  check([] {
    constexpr std::uint64_t kBase = 1000 * 4096;
    constexpr std::uint64_t kUnits = 64;
    AddressAllocator allocator(kBase, kUnits);
    std::vector<bool> used(kUnits, false);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    const auto steps = *rc::gen::container<std::vector<std::uint32_t>>(100, rc::gen::arbitrary<std::uint32_t>());
    for (const std::uint32_t step : steps) {
      if (step % 3 == 0 && !taken.empty()) {
        const auto [start, bytes] = taken[step / 3 % taken.size()];
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(step / 3 % taken.size()));
        allocator.free(start, bytes);
        std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(start - kBase), bytes, false);
      } else {
        const std::uint64_t bytes = 1 + step / 3 % 17;
        const std::uint64_t alignment = std::uint64_t{1} << (step / 64 % 5);
        // The model: all starts that would do, and of those the ones in the tightest hole.
        std::optional<std::uint64_t> expected;
        std::uint64_t tightest = ~std::uint64_t{0};
        for (std::uint64_t i = 0; i < kUnits;) {
          if (used[i]) {
            ++i;
            continue;
          }
          std::uint64_t end = i;
          while (end < kUnits && !used[end]) ++end;
          const std::uint64_t start = base::round_up(kBase + i, alignment) - kBase;
          if (start + bytes <= end && end - i < tightest) {
            tightest = end - i;
            expected = kBase + start;
          }
          i = end;
        }
        const auto got = allocator.allocate(bytes, alignment);
        RC_ASSERT(got == expected);
        if (!got) continue;
        std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(*got - kBase), bytes, true);
        taken.emplace_back(*got, bytes);
      }
      RC_ASSERT(allocator.free_bytes() == static_cast<std::uint64_t>(std::count(used.begin(), used.end(), false)));
    }
  });
}

// What a device must know of pages: where each is, in words of the smallest page.
struct PageModel {
  struct Page {
    std::uint64_t bytes;
    Address at = 0;
    bool access = false;
  };
  std::map<PageHandle, Page> pages;

  std::uint64_t total_bytes() const {
    std::uint64_t total = 0;
    for (const auto& [handle, page] : pages) total += page.bytes;
    return total;
  }
  bool vacant(Address at, std::uint64_t bytes) const {
    return std::none_of(pages.begin(), pages.end(), [&](const auto& entry) {
      const Page& page = entry.second;
      return page.at != 0 && at < page.at + page.bytes && page.at < at + bytes;
    });
  }
  // The pages that tile the range exactly, or nothing.
  std::optional<std::vector<PageHandle>> tiling(Address base, std::uint64_t bytes) const {
    std::vector<PageHandle> found;
    for (Address here = base; here < base + bytes;) {
      const auto page = std::find_if(pages.begin(), pages.end(), [&](const auto& e) { return e.second.at == here; });
      if (page == pages.end() || here + page->second.bytes > base + bytes) return std::nullopt;
      found.push_back(page->first);
      here += page->second.bytes;
    }
    return found;
  }
};

TEST(AddressSpaceProperty, AgreesWithAMapOfPagesOnEveryCall) {
  check([] {
    constexpr std::uint64_t kUnit = 64 * kKiB;
    constexpr std::uint64_t kUnits = 64;
    auto device = CountingDevice::create().take();
    const Address base = device->reserve(kUnits * kUnit, 2 * kMiB).take();
    PageModel model;
    const auto steps = *rc::gen::container<std::vector<std::uint32_t>>(120, rc::gen::arbitrary<std::uint32_t>());
    for (const std::uint32_t step : steps) {
      const std::uint64_t bytes = kUnit << (step / 8 % 4);
      const Address at = base + step / 32 % kUnits * kUnit;
      auto chosen = model.pages.begin();
      if (!model.pages.empty()) std::advance(chosen, step / 4096 % model.pages.size());
      const bool inside = at + (chosen == model.pages.end() ? 0 : chosen->second.bytes) <= base + kUnits * kUnit;
      switch (step % 7) {
        case 0: {
          const PageHandle page = device->create_page(bytes).take();
          RC_ASSERT(model.pages.emplace(page, PageModel::Page{bytes}).second);
          break;
        }
        case 1: {
          if (chosen == model.pages.end()) break;
          const bool expected = chosen->second.at == 0;
          RC_ASSERT(device->destroy_page(chosen->first).is_ok() == expected);
          if (expected) model.pages.erase(chosen);
          break;
        }
        case 2:
        case 3: {
          if (chosen == model.pages.end()) break;
          PageModel::Page& page = chosen->second;
          const bool expected =
              page.at == 0 && inside && base::is_aligned(at, page.bytes) && model.vacant(at, page.bytes);
          RC_ASSERT(device->map(at, chosen->first).is_ok() == expected);
          if (expected) page.at = at;
          break;
        }
        case 4: {
          if (chosen == model.pages.end()) break;
          PageModel::Page& page = chosen->second;
          const Address where = step / 65536 % 4 == 0 ? at : page.at;
          const bool expected = page.at != 0 && page.at == where;
          RC_ASSERT(device->unmap(where, chosen->first).is_ok() == expected);
          if (expected) page.at = 0;
          break;
        }
        case 5: {
          if (chosen == model.pages.end()) break;
          PageModel::Page& page = chosen->second;
          const bool expected =
              page.at != 0 && inside && base::is_aligned(at, page.bytes) && model.vacant(at, page.bytes);
          RC_ASSERT(device->move_page(page.at, at, chosen->first).is_ok() == expected);
          if (expected) page.at = at;
          break;
        }
        default: {
          const auto tiles = model.tiling(at, bytes);
          const bool expected = tiles.has_value() && at + bytes <= base + kUnits * kUnit;
          RC_ASSERT(device->set_access(at, bytes, Access::read_write).is_ok() == expected);
          break;
        }
      }
      RC_ASSERT(device->counters().driver_bytes == model.total_bytes());
    }
    RC_ASSERT(device->release(base, kUnits * kUnit).is_ok() == model.vacant(base, kUnits * kUnit));
  });
}

TEST(PagePoolProperty, KeepsItsAccountsWhateverTheDeviceRefuses) {
  check([] {
    constexpr std::uint64_t kPage = 2 * kMiB;
    constexpr std::uint64_t kCapacity = 12;
    CountingConfig config;
    config.capacity_bytes = kCapacity * kPage;
    FaultInjectingDevice device(CountingDevice::create(config).take());
    PagePool pool(device, kPage);
    std::map<AccountId, std::vector<PageHandle>> held;
    const auto steps = *rc::gen::container<std::vector<std::uint32_t>>(80, rc::gen::arbitrary<std::uint32_t>());
    for (const std::uint32_t step : steps) {
      const AccountId account = step / 4 % 3;
      std::vector<PageHandle>& mine = held[account];
      const std::uint64_t count = step / 16 % 6;
      if (step / 1024 % 3 == 0) device.plan().add({.operation = {}, .nth = 1 + step / 4096 % 3});
      const std::uint64_t faults = device.plan().injected();
      const PagePoolCounts before = pool.counts();
      if (step % 4 < 2) {
        const std::size_t had = mine.size();
        const base::Status status = pool.take(account, count, &mine);
        RC_ASSERT(status.is_ok() == (mine.size() == had + count));
        const bool full = kCapacity - before.taken < count;
        if (!status.is_ok()) RC_ASSERT(full || device.plan().injected() > faults);
      } else if (step % 4 == 2) {
        const std::size_t giving = std::min<std::size_t>(count, mine.size());
        const std::vector<PageHandle> pages(mine.end() - static_cast<std::ptrdiff_t>(giving), mine.end());
        mine.resize(mine.size() - giving);
        pool.give(account, pages);
      } else {
        const base::Status status = pool.trim(count);
        const std::uint64_t refused = device.plan().injected() - faults;
        RC_ASSERT(status.is_ok() == (refused == 0));
        RC_ASSERT(pool.counts().kept == std::min(before.kept, count) + refused);
      }
      std::vector<PageHandle> all;
      for (const auto& [id, pages] : held) {
        RC_ASSERT(pool.charged_pages(id) == pages.size());
        all.insert(all.end(), pages.begin(), pages.end());
      }
      std::sort(all.begin(), all.end());
      RC_ASSERT(std::adjacent_find(all.begin(), all.end()) == all.end());  // no page is with two
      const PagePoolCounts counts = pool.counts();
      RC_ASSERT(counts.taken == all.size());
      RC_ASSERT(counts.created - counts.destroyed == counts.taken + counts.kept);
      RC_ASSERT(device.counters().driver_bytes == (counts.taken + counts.kept) * kPage);
    }
    device.plan().reset();
    for (const auto& [id, pages] : held) pool.give(id, pages);
  });
}

}  // namespace
}  // namespace cistern::device::testing
