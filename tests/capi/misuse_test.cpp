// Misuse of the C interface: every kind is told by its own code and text, and changes nothing.
#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "capi/capi_fixture.hpp"

namespace cistern::capi_test {
namespace {

using Misuse = PoolOnHost;

TEST_F(Misuse, FreeingTwiceIsTold) {
  const cistern_address_t first = allocate(1000);
  const cistern_address_t second = allocate(1000);
  EXPECT_EQ(cistern_free(pool_, first), CISTERN_OK);
  EXPECT_EQ(cistern_free(pool_, first), CISTERN_DOUBLE_FREE);
  EXPECT_EQ(live_blocks(), 1u);
  EXPECT_EQ(cistern_free(pool_, second), CISTERN_OK);
}

TEST_F(Misuse, FreeingForeignPointersIsTold) {
  const cistern_address_t block = allocate(1000);
  int local = 0;
  EXPECT_EQ(cistern_free(pool_, reinterpret_cast<std::uintptr_t>(&local)), CISTERN_NOT_FOUND);
  EXPECT_EQ(cistern_free(pool_, 1), CISTERN_NOT_FOUND);
  EXPECT_EQ(cistern_free(pool_, ~std::uint64_t{0}), CISTERN_NOT_FOUND);
  cistern_pool_t* other = create_pool(device_);
  EXPECT_EQ(cistern_free(other, block), CISTERN_WRONG_CONTEXT);
  EXPECT_EQ(live_blocks(), 1u);
  EXPECT_EQ(cistern_pool_destroy(other, nullptr), CISTERN_OK);
}

TEST_F(Misuse, FreeingTheInsideOfABlockNamesTheDistance) {
  const cistern_address_t block = allocate(2000);
  for (const std::uint64_t inside : {1, 512, 1999}) {
    EXPECT_EQ(cistern_free(pool_, block + inside), CISTERN_INVALID_ARGUMENT);
    EXPECT_NE(last_text().find(std::to_string(inside) + " bytes into a live block of 2048"), std::string::npos)
        << last_text();
  }
  EXPECT_EQ(live_blocks(), 1u);
}

TEST_F(Misuse, FreeingAddressZeroDoesNothing) {
  EXPECT_EQ(cistern_free(pool_, 0), CISTERN_OK);
  EXPECT_EQ(live_blocks(), 0u);
}

TEST_F(Misuse, NullsAreRefused) {
  cistern_address_t address = 5;
  EXPECT_EQ(cistern_device_open(nullptr, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_device_memory(device_, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_device_memory(nullptr, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_pool_options_init(nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_pool_options_from_environment(nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_pool_create(device_, nullptr, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_pool_live_blocks(pool_, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_allocate(nullptr, 1, &address), CISTERN_INVALID_ARGUMENT);
  EXPECT_NE(last_text().find("the pool is NULL"), std::string::npos);
  EXPECT_EQ(cistern_allocate(pool_, 1, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_allocate_with(pool_, nullptr, &address), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_free(nullptr, 1), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_free_named(pool_, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_free_named(pool_, ""), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_find(pool_, nullptr, nullptr), CISTERN_INVALID_ARGUMENT);
  const cistern_address_t block = allocate(10);
  EXPECT_EQ(cistern_describe(pool_, block, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_host_pointer(pool_, block, 1, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_copy_to_device(pool_, block, nullptr, 1), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_copy_from_device(pool_, nullptr, block, 1), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_get_ledger(pool_, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_snapshot_json(pool_, nullptr, 0, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_get_last_error(nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(address, 5u);
  EXPECT_EQ(live_blocks(), 1u);
  // Where NULL means "nothing there", as for free().
  EXPECT_EQ(cistern_pool_destroy(nullptr, nullptr), CISTERN_OK);
  EXPECT_EQ(cistern_device_close(nullptr), CISTERN_OK);
  EXPECT_EQ(cistern_get_mem_pool_info(pool_, nullptr, nullptr, nullptr), CISTERN_OK);
}

TEST_F(Misuse, ADestroyedPoolIsRecognisedByEveryFunction) {
  cistern_pool_t* gone = create_pool(device_);
  cistern_address_t address = 5;
  ASSERT_EQ(cistern_allocate(gone, 100, &address), CISTERN_OK);
  std::uint64_t live = 0;
  ASSERT_EQ(cistern_pool_destroy(gone, &live), CISTERN_OK);
  EXPECT_EQ(live, 1u);

  const auto expect_refused = [](cistern_status_t status) {
    EXPECT_EQ(status, CISTERN_INVALID_ARGUMENT);
    EXPECT_NE(last_text().find("the pool was destroyed"), std::string::npos) << last_text();
    cistern_clear_last_error();
  };
  cistern_ledger_t ledger{};
  ledger.struct_size = sizeof ledger;
  cistern_block_info_t info{};
  info.struct_size = sizeof info;
  cistern_allocation_t wanted{};
  wanted.struct_size = sizeof wanted;
  wanted.bytes = 1;
  std::size_t needed = 0;
  char byte = 0;
  void* pointer = nullptr;
  expect_refused(cistern_allocate(gone, 1, &address));
  expect_refused(cistern_allocate_with(gone, &wanted, &address));
  expect_refused(cistern_free(gone, address));
  expect_refused(cistern_free_named(gone, "a"));
  expect_refused(cistern_find(gone, "a", &info));
  expect_refused(cistern_describe(gone, address, &info));
  expect_refused(cistern_register_range(gone, address, 100));
  expect_refused(cistern_unregister_range(gone, address, 100));
  expect_refused(cistern_trim(gone, 0, nullptr));
  expect_refused(cistern_host_pointer(gone, address, 1, &pointer));
  expect_refused(cistern_copy_to_device(gone, address, &byte, 1));
  expect_refused(cistern_copy_from_device(gone, &byte, address, 1));
  expect_refused(cistern_fill(gone, address, 0, 1));
  expect_refused(cistern_get_ledger(gone, &ledger));
  expect_refused(cistern_reset_peaks(gone));
  expect_refused(cistern_get_mem_pool_info(gone, nullptr, nullptr, nullptr));
  expect_refused(cistern_snapshot_json(gone, nullptr, 0, &needed));
  expect_refused(cistern_pool_live_blocks(gone, &live));
  expect_refused(cistern_pool_destroy(gone, &live));
  std::thread([&] { expect_refused(cistern_allocate(gone, 1, &address)); }).join();
}

TEST_F(Misuse, APoolThatWasNeverUsedEndsWithoutAWord) {
  int lines = 0;
  cistern_set_log_level(CISTERN_LOG_INFO);
  cistern_set_log_callback([](std::int32_t, const char*, const char*, void* count) { ++*static_cast<int*>(count); },
                           &lines);
  cistern_pool_t* unused = create_pool(device_);
  std::uint64_t live = 5;
  EXPECT_EQ(cistern_pool_destroy(unused, &live), CISTERN_OK);
  cistern_set_log_callback(nullptr, nullptr);
  cistern_set_log_level(CISTERN_LOG_ERROR);
  EXPECT_EQ(live, 0u);
  EXPECT_EQ(lines, 0);
}

TEST_F(Misuse, AStaleHandleStaysInvalidWhenItsPlaceServesAnotherPool) {
  cistern_pool_t* gone = create_pool(device_);
  ASSERT_EQ(cistern_pool_destroy(gone, nullptr), CISTERN_OK);
  std::vector<cistern_pool_t*> others;
  for (int i = 0; i < 4; ++i) others.push_back(create_pool(device_, 1u << 20));
  cistern_address_t address = 0;
  EXPECT_EQ(cistern_allocate(gone, 1, &address), CISTERN_INVALID_ARGUMENT);
  EXPECT_NE(last_text().find("the pool was destroyed"), std::string::npos) << last_text();
  for (cistern_pool_t* other : others) {
    EXPECT_NE(other, gone);
    EXPECT_EQ(cistern_pool_destroy(other, nullptr), CISTERN_OK);
  }
}

TEST_F(Misuse, PointersThatNeverWereHandlesAreNotFollowed) {
  int local = 0;
  cistern_address_t address = 5;
  const auto as_pool = [](std::uint64_t number) { return reinterpret_cast<cistern_pool_t*>(number); };
  const std::uint64_t pool = reinterpret_cast<std::uintptr_t>(pool_);
  const std::uint64_t mark = pool & std::uint64_t{0xFF} << 56;
  const std::uint64_t never_used_slot = pool | 0xFFFF;
  const std::uint64_t generation_to_come = pool + (std::uint64_t{1000} << 16);
  const std::uint64_t generation_zero = pool & (mark | 0xFFFF);
  const std::uint64_t nonsense[] = {1,
                                    8,
                                    reinterpret_cast<std::uintptr_t>(&local),
                                    0xDEADBEEFDEADBEEF,
                                    ~std::uint64_t{0},
                                    mark,
                                    never_used_slot,
                                    generation_to_come,
                                    generation_zero};
  for (const std::uint64_t number : nonsense) {
    EXPECT_EQ(cistern_allocate(as_pool(number), 1, &address), CISTERN_INVALID_ARGUMENT) << std::hex << number;
    EXPECT_NE(last_text().find("no handle of a pool"), std::string::npos) << last_text();
    EXPECT_EQ(cistern_pool_destroy(as_pool(number), nullptr), CISTERN_INVALID_ARGUMENT) << std::hex << number;
  }
  EXPECT_EQ(cistern_allocate(reinterpret_cast<cistern_pool_t*>(device_), 1, &address), CISTERN_INVALID_ARGUMENT);
  EXPECT_NE(last_text().find("is a device, not a pool"), std::string::npos) << last_text();
  EXPECT_EQ(cistern_device_close(reinterpret_cast<cistern_device_t*>(pool_)), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(address, 5u);
  EXPECT_EQ(live_blocks(), 0u);
}

TEST_F(Misuse, RangesThatPassTheBlocksEndAreRefused) {
  const cistern_address_t block = allocate(1000);  // 1024 granted
  std::array<char, 2048> bytes{};
  void* pointer = nullptr;
  EXPECT_EQ(cistern_fill(pool_, block, 0, 1024), CISTERN_OK);
  EXPECT_EQ(cistern_fill(pool_, block, 0, 1025), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_fill(pool_, block + 1000, 0, 25), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_fill(pool_, block, 0, ~std::uint64_t{0}), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_copy_to_device(pool_, block, bytes.data(), 1025), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_copy_from_device(pool_, bytes.data(), block + 1, 1024), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_host_pointer(pool_, block, 1025, &pointer), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_fill(pool_, block - 1, 0, 1), CISTERN_NOT_FOUND);
  EXPECT_EQ(cistern_free(pool_, block), CISTERN_OK);
  EXPECT_EQ(cistern_fill(pool_, block, 0, 1), CISTERN_NOT_FOUND);
  EXPECT_EQ(cistern_host_pointer(pool_, block, 1, &pointer), CISTERN_NOT_FOUND);
  EXPECT_EQ(pointer, nullptr);
}

TEST_F(Misuse, UnregisteringWhatIsNotRegisteredIsTold) {
  const cistern_address_t block = allocate(4096);
  EXPECT_EQ(cistern_unregister_range(pool_, block, 4096), CISTERN_NOT_FOUND);
  EXPECT_EQ(cistern_register_range(pool_, 4096, 4096), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_register_range(pool_, block, 4096), CISTERN_OK);
  EXPECT_EQ(cistern_unregister_range(pool_, block, 4096), CISTERN_OK);
  EXPECT_EQ(cistern_unregister_range(pool_, block, 4096), CISTERN_NOT_FOUND);
}

TEST(MisuseOfDevices, AClosedDeviceIsRecognisedAndItsPoolsGoOn) {
  cistern_device_t* device = open_device("host");
  cistern_pool_t* pool = create_pool(device);
  EXPECT_EQ(cistern_device_close(device), CISTERN_OK);
  cistern_memory_info_t memory{};
  memory.struct_size = sizeof memory;
  EXPECT_EQ(cistern_device_memory(device, &memory), CISTERN_INVALID_ARGUMENT);
  EXPECT_NE(last_text().find("the device was destroyed"), std::string::npos) << last_text();
  EXPECT_EQ(cistern_device_close(device), CISTERN_INVALID_ARGUMENT);
  cistern_pool_t* none = nullptr;
  EXPECT_EQ(cistern_pool_create(device, nullptr, &none), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  cistern_address_t address = 0;
  EXPECT_EQ(cistern_allocate(pool, 100, &address), CISTERN_OK);
  EXPECT_EQ(cistern_fill(pool, address, 1, 100), CISTERN_OK);
  EXPECT_EQ(cistern_free(pool, address), CISTERN_OK);
  EXPECT_EQ(cistern_pool_destroy(pool, nullptr), CISTERN_OK);
}

TEST(MisuseOfDevices, OneIdentityHasOneConfiguration) {
  cistern_device_t* first = open_device("simulated", 64u << 20, CISTERN_DEVICE_NO_LATENCY);
  cistern_device_options_t options{};
  options.struct_size = sizeof options;
  options.kind = "simulated";
  cistern_device_t* second = nullptr;
  EXPECT_EQ(cistern_device_open(&options, &second), CISTERN_OK) << last_text();  // as it is
  cistern_memory_info_t memory{};
  memory.struct_size = sizeof memory;
  EXPECT_EQ(cistern_device_memory(second, &memory), CISTERN_OK);
  EXPECT_EQ(memory.total_bytes, 64u << 20);
  options.capacity_bytes = 128u << 20;
  cistern_device_t* third = nullptr;
  EXPECT_EQ(cistern_device_open(&options, &third), CISTERN_INVALID_ARGUMENT);
  EXPECT_STREQ(last_error().device_kind, "simulated");
  EXPECT_EQ(cistern_device_close(first), CISTERN_OK);
  EXPECT_EQ(cistern_device_close(second), CISTERN_OK);
  EXPECT_EQ(cistern_device_open(&options, &third), CISTERN_OK) << last_text();
  EXPECT_EQ(cistern_device_close(third), CISTERN_OK);
}

TEST(MisuseOfDevices, UnknownKindsAndFlagsAreTold) {
  cistern_device_options_t options{};
  options.struct_size = sizeof options;
  options.kind = "toaster";
  options.ordinal = 3;
  cistern_device_t* device = nullptr;
  EXPECT_EQ(cistern_device_open(&options, &device), CISTERN_NOT_FOUND);
  EXPECT_NE(last_text().find("toaster"), std::string::npos);
  EXPECT_STREQ(last_error().device_kind, "toaster");
  EXPECT_EQ(last_error().device_ordinal, 3u);
  options.kind = "host";
  options.flags = CISTERN_DEVICE_STRICT;
  EXPECT_EQ(cistern_device_open(&options, &device), CISTERN_INVALID_ARGUMENT);
  options.kind = "simulated";
  options.flags = 1u << 31;
  EXPECT_EQ(cistern_device_open(&options, &device), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(device, nullptr);
}

TEST(MisuseOfDevices, MemoryThatTheHostCannotSeeIsTold) {
  cistern_device_t* device = open_device("counting", std::uint64_t{1} << 40);
  cistern_pool_t* pool = create_pool(device, std::uint64_t{1} << 38);
  cistern_address_t address = 0;
  ASSERT_EQ(cistern_allocate(pool, std::uint64_t{1} << 36, &address), CISTERN_OK) << last_text();
  void* pointer = nullptr;
  EXPECT_EQ(cistern_host_pointer(pool, address, 1, &pointer), CISTERN_UNSUPPORTED);
  EXPECT_EQ(cistern_fill(pool, address, 0, 1), CISTERN_UNSUPPORTED);
  EXPECT_STREQ(last_error().device_kind, "counting");
  EXPECT_EQ(cistern_free(pool, address), CISTERN_OK);
  EXPECT_EQ(cistern_pool_destroy(pool, nullptr), CISTERN_OK);
  EXPECT_EQ(cistern_device_close(device), CISTERN_OK);
}

}  // namespace
}  // namespace cistern::capi_test
