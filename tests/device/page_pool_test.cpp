// PagePool: whose pages are where, what is kept, and what happens when the device refuses.
#include "device/page_pool.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "base/units.hpp"
#include "device/counting_device.hpp"
#include "device/fault_device.hpp"

namespace cistern::device {
namespace {

using base::kMiB;
using base::StatusCode;

constexpr std::uint64_t kPage = 2 * kMiB;

std::shared_ptr<CountingDevice> device_of_pages(std::uint64_t pages) {
  CountingConfig config;
  config.capacity_bytes = pages * kPage;
  return CountingDevice::create(config).take();
}

TEST(PagePool, KeptPagesAreTakenBeforeNewOnesAreMade) {
  auto device = device_of_pages(8);
  PagePool pool(*device, kPage);
  EXPECT_EQ(kPage, pool.page_bytes());
  std::vector<PageHandle> first;
  ASSERT_TRUE(pool.take(1, 3, &first).is_ok());
  ASSERT_EQ(3U, first.size());
  EXPECT_EQ(3U, pool.charged_pages(1));
  pool.give(1, {first[0], first[1]});
  EXPECT_EQ(1U, pool.charged_pages(1));
  EXPECT_EQ(2U, pool.counts().kept);

  std::vector<PageHandle> second;
  ASSERT_TRUE(pool.take(2, 3, &second).is_ok());
  EXPECT_EQ(3U, second.size());
  EXPECT_EQ(4U, device->counters().pages_created);
  const PagePoolCounts counts = pool.counts();
  EXPECT_EQ(kPage, counts.page_bytes);
  EXPECT_EQ(4U, counts.taken);
  EXPECT_EQ(0U, counts.kept);
  EXPECT_EQ(4U, counts.created);
  EXPECT_EQ(0U, counts.destroyed);
  EXPECT_EQ(3U, pool.charged_pages(2));
  EXPECT_EQ(0U, pool.charged_pages(3));
  pool.give(1, {first[2]});
  pool.give(2, second);
}

TEST(PagePool, APartialTakeKeepsWhatItGotAndSaysWhy) {
  auto device = device_of_pages(4);
  PagePool pool(*device, kPage);
  std::vector<PageHandle> pages;
  const base::Status status = pool.take(7, 6, &pages);
  EXPECT_EQ(StatusCode::out_of_memory, status.code());
  EXPECT_EQ(4U, pages.size());
  EXPECT_EQ(4U, pool.charged_pages(7));
  EXPECT_EQ(4U, pool.counts().taken);
  pool.give(7, pages);
  EXPECT_EQ(0U, pool.charged_pages(7));
  EXPECT_EQ(4U, pool.counts().kept);
}

TEST(PagePool, TrimDestroysDownToWhatIsToBeKept) {
  auto device = device_of_pages(8);
  PagePool pool(*device, kPage);
  std::vector<PageHandle> pages;
  ASSERT_TRUE(pool.take(1, 5, &pages).is_ok());
  pool.give(1, pages);
  ASSERT_TRUE(pool.trim(2).is_ok());
  EXPECT_EQ(2U, pool.counts().kept);
  EXPECT_EQ(3U, pool.counts().destroyed);
  EXPECT_EQ(2 * kPage, device->counters().driver_bytes);
  ASSERT_TRUE(pool.trim(2).is_ok());
  EXPECT_EQ(3U, device->counters().pages_destroyed);
}

TEST(PagePool, PagesThatCannotBeDestroyedStayKept) {
  FaultInjectingDevice device(device_of_pages(8));
  PagePool pool(device, kPage);
  std::vector<PageHandle> pages;
  ASSERT_TRUE(pool.take(1, 5, &pages).is_ok());
  pool.give(1, pages);
  device.plan().add({.operation = Operation::destroy_page, .nth = 2});
  const base::Status status = pool.trim(0);
  EXPECT_EQ(StatusCode::device_error, status.code());
  EXPECT_EQ(kAclErrorDriverInternal, status.native_code());
  EXPECT_EQ(1U, pool.counts().kept);  // the others went
  EXPECT_EQ(4U, pool.counts().destroyed);
  pages.clear();
  ASSERT_TRUE(pool.take(2, 1, &pages).is_ok());  // and the survivor serves
  EXPECT_EQ(5U, pool.counts().created);
  pool.give(2, pages);
  ASSERT_TRUE(pool.trim(0).is_ok());
  EXPECT_EQ(0U, device.counters().driver_bytes);
}

TEST(PagePool, AFailedCreationIsReportedAndTheNextTakeGoesOn) {
  FaultInjectingDevice device(device_of_pages(8));
  PagePool pool(device, kPage);
  device.plan().add({.operation = Operation::create_page, .nth = 3});
  std::vector<PageHandle> pages;
  EXPECT_EQ(StatusCode::device_error, pool.take(1, 5, &pages).code());
  EXPECT_EQ(2U, pages.size());
  EXPECT_EQ(2U, pool.charged_pages(1));
  ASSERT_TRUE(pool.take(1, 3, &pages).is_ok());
  EXPECT_EQ(5U, pages.size());
  EXPECT_EQ(5U, pool.counts().created);
  pool.give(1, pages);
}

// Regression: giving nothing back for an account without pages was reported as giving back too much.
TEST(PagePool, GivingNothingIsNoError) {
  auto device = device_of_pages(8);
  PagePool pool(*device, kPage);
  int lines = 0;
  base::set_log_sink([](base::LogLevel, std::string_view, std::string_view, void* user) { ++*static_cast<int*>(user); },
                     &lines);
  pool.give(1, {});
  base::set_log_sink(nullptr, nullptr);
  EXPECT_EQ(0, lines);
}

TEST(PagePool, TakingNothingChangesNothing) {
  auto device = device_of_pages(8);
  PagePool pool(*device, kPage);
  std::vector<PageHandle> pages;
  EXPECT_TRUE(pool.take(1, 0, &pages).is_ok());
  EXPECT_TRUE(pages.empty());
  EXPECT_EQ(0U, pool.charged_pages(1));
  EXPECT_EQ(0U, device->counters().pages_created);
}

TEST(PagePool, ItsEndGivesThePagesBack) {
  auto device = device_of_pages(8);
  {
    PagePool pool(*device, kPage);
    std::vector<PageHandle> pages;
    ASSERT_TRUE(pool.take(1, 5, &pages).is_ok());
    pool.give(1, pages);
    EXPECT_EQ(5 * kPage, device->counters().driver_bytes);
  }
  EXPECT_EQ(0U, device->counters().driver_bytes);
}

}  // namespace
}  // namespace cistern::device
