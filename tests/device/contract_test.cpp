// What every device promises, whatever its memory is: addresses, pages, capacity, counters and the refusal of misuse.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "base/bits.hpp"
#include "device/device_cases.hpp"

namespace cistern::device::testing {
namespace {

using base::kKiB;
using base::kMiB;
using base::Status;
using base::StatusCode;

class DeviceContract : public ::testing::TestWithParam<DeviceCase> {
 protected:
  void SetUp() override { device = GetParam().make(); }

  Address reserve(std::uint64_t bytes, std::uint64_t alignment = 2 * kMiB) {
    auto address = device->reserve(bytes, alignment);
    EXPECT_TRUE(address.is_ok()) << address.status().to_string();
    return address.is_ok() ? address.value() : 0;
  }
  PageHandle create(std::uint64_t bytes) {
    auto page = device->create_page(bytes);
    EXPECT_TRUE(page.is_ok()) << page.status().to_string();
    return page.is_ok() ? page.value() : kNoPage;
  }
  static void expect_ok(const Status& status) { EXPECT_TRUE(status.is_ok()) << status.to_string(); }
  // Refused with this code, a text, and nothing changed that a caller can see.
  void expect_refused(StatusCode code, const Status& status, const DeviceCounters& before) {
    EXPECT_EQ(code, status.code()) << status.to_string();
    EXPECT_FALSE(status.text().empty());
    EXPECT_EQ(before.driver_bytes, device->counters().driver_bytes);
  }

  std::shared_ptr<Device> device;
};

TEST_P(DeviceContract, SaysWhatItIs) {
  const DeviceInfo& info = device->info();
  EXPECT_FALSE(info.kind.empty());
  EXPECT_FALSE(info.description.empty());
  EXPECT_EQ(0U, info.ordinal);
  EXPECT_EQ(kCapacity, info.total_bytes);
  EXPECT_EQ(512U, info.alignment_bytes);
  EXPECT_EQ(64 * kKiB, info.min_page_bytes);
  EXPECT_EQ(2 * kMiB, info.max_page_bytes);
  EXPECT_TRUE(info.capabilities.pages);
  EXPECT_TRUE(info.capabilities.events);
  auto memory = device->memory();
  ASSERT_TRUE(memory.is_ok());
  EXPECT_EQ(kCapacity, memory.value().total_bytes);
  EXPECT_EQ(kCapacity, memory.value().free_bytes);
}

TEST_P(DeviceContract, AllocationsAreAlignedDistinctAndCounted) {
  std::vector<std::pair<Address, std::uint64_t>> taken;
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{511}, std::uint64_t{4096}, 3 * kMiB, 100 * kKiB}) {
    auto address = device->malloc(bytes);
    ASSERT_TRUE(address.is_ok()) << address.status().to_string();
    EXPECT_TRUE(base::is_aligned(address.value(), device->info().alignment_bytes));
    for (const auto& [other, other_bytes] : taken) {
      EXPECT_TRUE(address.value() + bytes <= other || other + other_bytes <= address.value());
    }
    taken.emplace_back(address.value(), bytes);
  }
  DeviceCounters counters = device->counters();
  EXPECT_EQ(5U, counters.mallocs);
  EXPECT_EQ(5U, counters.driver_allocations());
  EXPECT_GE(counters.driver_bytes, 1 + 511 + 4096 + 3 * kMiB + 100 * kKiB);
  EXPECT_EQ(device->memory().value().free_bytes, kCapacity - counters.driver_bytes);
  const std::uint64_t peak = counters.driver_bytes;
  for (const auto& [address, bytes] : taken) expect_ok(device->free(address));
  counters = device->counters();
  EXPECT_EQ(5U, counters.frees);
  EXPECT_EQ(0U, counters.driver_bytes);
  EXPECT_EQ(peak, counters.peak_driver_bytes);
}

TEST_P(DeviceContract, CapacityIsALimitAndTheErrorSaysSo) {
  auto too_large = device->malloc(kCapacity + 1);
  ASSERT_FALSE(too_large.is_ok());
  EXPECT_EQ(StatusCode::out_of_memory, too_large.status().code());
  EXPECT_NE(0, too_large.status().native_code());
  EXPECT_NE(std::string_view::npos, too_large.status().text().find(std::to_string(kCapacity)));
  EXPECT_EQ(StatusCode::out_of_memory, device->malloc(~std::uint64_t{0}).status().code());
  EXPECT_EQ(StatusCode::invalid_argument, device->malloc(0).status().code());

  std::vector<PageHandle> pages;
  for (std::uint64_t i = 0; i < kCapacity / (2 * kMiB); ++i) pages.push_back(create(2 * kMiB));
  EXPECT_EQ(StatusCode::out_of_memory, device->create_page(64 * kKiB).status().code());
  EXPECT_EQ(StatusCode::out_of_memory, device->malloc(1).status().code());
  EXPECT_EQ(0U, device->memory().value().free_bytes);
  expect_ok(device->destroy_page(pages.back()));
  auto fits_again = device->malloc(2 * kMiB);
  ASSERT_TRUE(fits_again.is_ok()) << fits_again.status().to_string();
  expect_ok(device->free(fits_again.value()));
}

TEST_P(DeviceContract, FreeRefusesWhatMallocDidNotReturn) {
  const Address address = device->malloc(8 * kKiB).take();
  const DeviceCounters before = device->counters();
  expect_refused(StatusCode::invalid_argument, device->free(address + 512), before);
  expect_refused(StatusCode::not_found, device->free(0x1000), before);
  expect_ok(device->free(address));
  expect_refused(StatusCode::not_found, device->free(address), device->counters());
}

TEST_P(DeviceContract, ReservationsAreAlignedAndReleasedWhole) {
  const std::uint64_t bytes = 256 * kMiB;  // addresses may exceed the memory
  for (const std::uint64_t alignment : {64 * kKiB, 2 * kMiB, 64 * kMiB}) {
    const Address base = reserve(bytes, alignment);
    EXPECT_TRUE(base::is_aligned(base, alignment));
    const DeviceCounters before = device->counters();
    EXPECT_EQ(0U, before.driver_bytes);
    expect_refused(StatusCode::invalid_argument, device->release(base, bytes / 2), before);
    expect_refused(StatusCode::not_found, device->release(base + 2 * kMiB, bytes - 2 * kMiB), before);
    expect_ok(device->release(base, bytes));
    expect_refused(StatusCode::not_found, device->release(base, bytes), before);
  }
  EXPECT_EQ(StatusCode::invalid_argument, device->reserve(0, 2 * kMiB).status().code());
  EXPECT_EQ(StatusCode::invalid_argument, device->reserve(1000, 2 * kMiB).status().code());
  EXPECT_EQ(StatusCode::invalid_argument, device->reserve(2 * kMiB, 3 * kMiB).status().code());
  EXPECT_EQ(StatusCode::invalid_argument, device->reserve(2 * kMiB, 4096).status().code());
}

TEST_P(DeviceContract, PagesOfEverySizeAreMappedAndTakenAway) {
  const Address base = reserve(32 * kMiB);
  for (std::uint64_t page_bytes = 64 * kKiB; page_bytes <= 2 * kMiB; page_bytes *= 2) {
    const PageHandle first = create(page_bytes);
    const PageHandle second = create(page_bytes);
    EXPECT_NE(first, second);
    for (int round = 0; round < 3; ++round) {
      expect_ok(device->map(base + 4 * page_bytes, first));
      expect_ok(device->map(base + 5 * page_bytes, second));
      expect_ok(device->set_access(base + 4 * page_bytes, 2 * page_bytes, Access::read_write));
      expect_ok(device->unmap(base + 4 * page_bytes, first));
      expect_ok(device->map(base + 3 * page_bytes, first));
      expect_ok(device->unmap(base + 5 * page_bytes, second));
      expect_ok(device->unmap(base + 3 * page_bytes, first));
    }
    expect_ok(device->destroy_page(first));
    expect_ok(device->destroy_page(second));
  }
  expect_ok(device->release(base, 32 * kMiB));
  EXPECT_EQ(0U, device->counters().driver_bytes);
}

TEST_P(DeviceContract, PageSizesOutsideTheRangeAreRefused) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, 32 * kKiB, 96 * kKiB, 4 * kMiB}) {
    EXPECT_EQ(StatusCode::invalid_argument, device->create_page(bytes).status().code()) << bytes;
  }
}

TEST_P(DeviceContract, MapRefusesMisuse) {
  const Address base = reserve(8 * kMiB);
  const PageHandle page = create(2 * kMiB);
  const PageHandle other = create(2 * kMiB);
  const PageHandle small = create(64 * kKiB);
  const DeviceCounters before = device->counters();
  expect_refused(StatusCode::not_found, device->map(base, kNoPage), before);
  expect_refused(StatusCode::not_found, device->map(base, 0xdeadbeef), before);
  expect_refused(StatusCode::invalid_argument, device->map(base + kMiB, page), before);
  expect_refused(StatusCode::not_found, device->map(base + 8 * kMiB, page), before);
  expect_ok(device->map(base + 2 * kMiB, page));
  expect_refused(StatusCode::busy, device->map(base, page), before);
  expect_refused(StatusCode::busy, device->map(base + 2 * kMiB, other), before);
  expect_refused(StatusCode::busy, device->map(base + 3 * kMiB, small), before);
  expect_refused(StatusCode::busy, device->destroy_page(page), before);
  expect_refused(StatusCode::busy, device->release(base, 8 * kMiB), before);
  expect_refused(StatusCode::invalid_argument, device->unmap(base, page), before);
  expect_refused(StatusCode::invalid_argument, device->unmap(base + 2 * kMiB, other), before);
  expect_refused(StatusCode::invalid_argument, device->unmap(0, other), before);
  expect_ok(device->unmap(base + 2 * kMiB, page));
  expect_refused(StatusCode::invalid_argument, device->unmap(base + 2 * kMiB, page), before);
  expect_ok(device->destroy_page(page));
  expect_refused(StatusCode::not_found, device->destroy_page(page), device->counters());
  expect_refused(StatusCode::not_found, device->map(base, page), device->counters());
}

TEST_P(DeviceContract, AHandleIsNotValidForTheNextPage) {
  const PageHandle first = create(64 * kKiB);
  expect_ok(device->destroy_page(first));
  const PageHandle second = create(64 * kKiB);
  EXPECT_NE(first, second);
  EXPECT_EQ(StatusCode::not_found, device->destroy_page(first).code());
  expect_ok(device->destroy_page(second));
}

TEST_P(DeviceContract, AccessIsSetOnWholeMappedPagesOnly) {
  const Address base = reserve(8 * kMiB);
  const PageHandle page = create(2 * kMiB);
  expect_ok(device->map(base, page));
  const DeviceCounters before = device->counters();
  expect_refused(StatusCode::invalid_argument, device->set_access(base, 4 * kMiB, Access::read_write), before);
  expect_refused(StatusCode::invalid_argument, device->set_access(base, kMiB, Access::read_write), before);
  expect_refused(StatusCode::invalid_argument, device->set_access(base + kMiB, kMiB, Access::read_write), before);
  expect_refused(StatusCode::invalid_argument, device->set_access(base, 0, Access::read_write), before);
  expect_refused(StatusCode::not_found, device->set_access(base + 8 * kMiB, 2 * kMiB, Access::read_write), before);
  expect_ok(device->set_access(base, 2 * kMiB, Access::read_write));
  expect_ok(device->set_access(base, 2 * kMiB, Access::none));
}

TEST_P(DeviceContract, PagesMoveWhereTheDeviceSaysSo) {
  const Address base = reserve(16 * kMiB);
  const PageHandle page = create(2 * kMiB);
  const PageHandle other = create(2 * kMiB);
  expect_ok(device->map(base, page));
  expect_ok(device->map(base + 2 * kMiB, other));
  if (!device->info().capabilities.move_pages) {
    EXPECT_EQ(StatusCode::unsupported, device->move_page(base, base + 4 * kMiB, page).code());
    return;
  }
  const DeviceCounters before = device->counters();
  expect_refused(StatusCode::busy, device->move_page(base, base + 2 * kMiB, page), before);
  expect_refused(StatusCode::busy, device->move_page(base, base, page), before);
  expect_refused(StatusCode::invalid_argument, device->move_page(base, base + 4 * kMiB, other), before);
  expect_refused(StatusCode::not_found, device->move_page(base, base + 16 * kMiB, page), before);
  expect_ok(device->move_page(base, base + 4 * kMiB, page));
  EXPECT_EQ(before.pages_moved + 5, device->counters().pages_moved);  // refused calls are calls
  expect_ok(device->unmap(base + 4 * kMiB, page));
  expect_ok(device->unmap(base + 2 * kMiB, other));
}

TEST_P(DeviceContract, EventsAreCompleteWhenQueried) {
  auto event = device->create_event();
  ASSERT_TRUE(event.is_ok());
  expect_ok(device->record_event(event.value(), 0));
  auto complete = device->query_event(event.value());
  ASSERT_TRUE(complete.is_ok());
  EXPECT_TRUE(complete.value());
  expect_ok(device->wait_event(event.value()));
  EXPECT_EQ(StatusCode::not_found, device->record_event(event.value(), 77).code());
  expect_ok(device->destroy_event(event.value()));
  EXPECT_EQ(StatusCode::not_found, device->destroy_event(event.value()).code());
  EXPECT_EQ(StatusCode::not_found, device->query_event(event.value()).status().code());
}

TEST_P(DeviceContract, StreamsComeAndGo) {
  const StreamHandle first = device->create_stream().take();
  const StreamHandle second = device->create_stream().take();
  EXPECT_NE(first, second);
  EXPECT_NE(0U, first);
  EXPECT_NE(0U, second);
  for (const StreamHandle stream : {StreamHandle{0}, first, second}) expect_ok(device->wait_stream(stream));
  expect_ok(device->destroy_stream(first));
  const DeviceCounters before = device->counters();
  expect_refused(StatusCode::not_found, device->wait_stream(first), before);
  expect_refused(StatusCode::not_found, device->destroy_stream(first), before);
  expect_refused(StatusCode::invalid_argument, device->destroy_stream(0), before);
  expect_ok(device->wait_stream(second));
  expect_ok(device->wait_device());
  expect_ok(device->destroy_stream(second));
}

TEST_P(DeviceContract, EventsTieStreamsTogether) {
  const StreamHandle first = device->create_stream().take();
  const StreamHandle second = device->create_stream().take();
  const EventHandle event = device->create_event().take();
  EXPECT_TRUE(device->query_event(event).value());  // never recorded
  expect_ok(device->stream_wait_event(second, event));
  expect_ok(device->record_event(event, first));
  expect_ok(device->stream_wait_event(second, event));
  expect_ok(device->stream_wait_event(first, event));
  expect_ok(device->record_event(event, second));  // again, elsewhere
  expect_ok(device->destroy_stream(first));
  const DeviceCounters before = device->counters();
  expect_refused(StatusCode::not_found, device->record_event(event, first), before);
  expect_refused(StatusCode::not_found, device->stream_wait_event(first, event), before);
  expect_refused(StatusCode::not_found, device->stream_wait_event(second, event + 1), before);
  expect_ok(device->wait_event(event));  // what it was recorded on before
  expect_ok(device->destroy_event(event));
  expect_refused(StatusCode::not_found, device->wait_event(event), before);
  expect_ok(device->destroy_stream(second));
}

TEST_P(DeviceContract, EveryStreamCallIsCountedFailedOnesToo) {
  const StreamHandle stream = device->create_stream().take();
  const EventHandle event = device->create_event().take();
  expect_ok(device->record_event(event, stream));
  EXPECT_FALSE(device->record_event(event, stream + 1).is_ok());
  EXPECT_TRUE(device->query_event(event).is_ok());
  expect_ok(device->wait_event(event));
  expect_ok(device->wait_stream(stream));
  expect_ok(device->wait_device());
  expect_ok(device->stream_wait_event(0, event));
  expect_ok(device->destroy_event(event));
  EXPECT_FALSE(device->query_event(event).is_ok());
  const DeviceCounters counters = device->counters();
  EXPECT_EQ(1U, counters.events_created);
  EXPECT_EQ(1U, counters.events_destroyed);
  EXPECT_EQ(2U, counters.events_recorded);
  EXPECT_EQ(2U, counters.event_queries);
  EXPECT_EQ(1U, counters.event_waits);
  EXPECT_EQ(2U, counters.stream_waits);
  EXPECT_EQ(1U, counters.waits_inserted);
}

TEST_P(DeviceContract, EveryCallIsCountedFailedOnesToo) {
  const Address base = reserve(4 * kMiB);
  const PageHandle page = create(2 * kMiB);
  expect_ok(device->map(base, page));
  EXPECT_FALSE(device->map(base, page).is_ok());
  expect_ok(device->set_access(base, 2 * kMiB, Access::read_write));
  expect_ok(device->unmap(base, page));
  EXPECT_FALSE(device->unmap(base, page).is_ok());
  EXPECT_FALSE(device->unmap(base, page).is_ok());
  expect_ok(device->destroy_page(page));
  expect_ok(device->release(base, 4 * kMiB));
  EXPECT_FALSE(device->free(1).is_ok());
  const DeviceCounters counters = device->counters();
  EXPECT_EQ(0U, counters.mallocs);
  EXPECT_EQ(1U, counters.frees);
  EXPECT_EQ(1U, counters.reserves);
  EXPECT_EQ(1U, counters.releases);
  EXPECT_EQ(1U, counters.pages_created);
  EXPECT_EQ(1U, counters.pages_destroyed);
  EXPECT_EQ(2U, counters.maps);
  EXPECT_EQ(3U, counters.unmaps);
  EXPECT_EQ(1U, counters.set_accesses);
  EXPECT_EQ(0U, counters.pages_moved);
  EXPECT_EQ(0U, counters.copies);
  EXPECT_EQ(0U, counters.driver_bytes);
  EXPECT_EQ(2 * kMiB, counters.peak_driver_bytes);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceContract, ::testing::ValuesIn(all_device_cases()), case_name);

}  // namespace
}  // namespace cistern::device::testing
