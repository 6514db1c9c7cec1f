// Structs of other versions, names, snapshots, options and last errors of the C interface.
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "capi/capi_fixture.hpp"

namespace cistern::capi_test {
namespace {

using Structs = PoolOnHost;

// A struct as a later header might have it: today's fields and two more.
template <typename Struct>
struct Later {
  Struct known{};
  std::uint64_t new_field = 0;
  std::uint64_t newer_field = 0;
  Later() { known.struct_size = sizeof(*this); }
};

TEST_F(Structs, AnOlderAllocationIsReadWithDefaultsForTheRest) {
  cistern_allocation_t wanted{};
  wanted.bytes = 1000;
  wanted.alignment = 1u << 20;
  wanted.tag = reinterpret_cast<const char*>(1);  // beyond the size: must not be looked at
  wanted.lifetime = 77;
  wanted.struct_size = offsetof(cistern_allocation_t, tag);
  cistern_address_t address = 0;
  ASSERT_EQ(cistern_allocate_with(pool_, &wanted, &address), CISTERN_OK) << last_text();
  EXPECT_EQ(address % (1u << 20), 0u);
  wanted.struct_size = offsetof(cistern_allocation_t, bytes);  // without bytes: a request of 0
  EXPECT_EQ(cistern_allocate_with(pool_, &wanted, &address), CISTERN_INVALID_ARGUMENT);
}

TEST_F(Structs, ANewerStructIsReadWhenItsUnknownFieldsAreZero) {
  Later<cistern_allocation_t> wanted;
  wanted.known.bytes = 1000;
  cistern_address_t address = 0;
  EXPECT_EQ(cistern_allocate_with(pool_, &wanted.known, &address), CISTERN_OK) << last_text();
  wanted.newer_field = 1;
  cistern_address_t second = 5;
  EXPECT_EQ(cistern_allocate_with(pool_, &wanted.known, &second), CISTERN_UNSUPPORTED);
  EXPECT_NE(last_text().find("leave it zero"), std::string::npos) << last_text();
  EXPECT_EQ(second, 5u);
  EXPECT_EQ(live_blocks(), 1u);

  Later<cistern_pool_options_t> options;
  options.known.limit_bytes = 1u << 20;
  cistern_pool_t* pool = nullptr;
  EXPECT_EQ(cistern_pool_create(device_, &options.known, &pool), CISTERN_OK) << last_text();
  EXPECT_EQ(cistern_pool_destroy(pool, nullptr), CISTERN_OK);
  options.new_field = std::uint64_t{1} << 63;
  EXPECT_EQ(cistern_pool_create(device_, &options.known, &pool), CISTERN_UNSUPPORTED);
}

TEST_F(Structs, OutputsOfOtherVersionsAreFilledAsFarAsBothKnow) {
  allocate(1000);
  Later<cistern_ledger_t> later;
  later.new_field = 99;
  ASSERT_EQ(cistern_get_ledger(pool_, &later.known), CISTERN_OK);
  EXPECT_EQ(later.known.struct_size, sizeof later);
  EXPECT_EQ(later.known.requested_bytes, 1000u);
  EXPECT_EQ(later.new_field, 0u);

  cistern_ledger_t older{};
  older.struct_size = offsetof(cistern_ledger_t, requested_bytes);
  older.requested_bytes = 99;
  ASSERT_EQ(cistern_get_ledger(pool_, &older), CISTERN_OK);
  EXPECT_EQ(older.struct_size, offsetof(cistern_ledger_t, requested_bytes));
  EXPECT_EQ(older.allocated_bytes, 1024u);
  EXPECT_EQ(older.requested_bytes, 99u);  // the caller's memory ends before
}

TEST_F(Structs, SizesThatWereNeverSetAreRefused) {
  for (const std::uint32_t size : {0u, 4u, 7u, 12u, 0xCCCCCCCCu}) {
    cistern_allocation_t wanted{};
    wanted.struct_size = size;
    wanted.bytes = 1;
    cistern_address_t address = 0;
    EXPECT_EQ(cistern_allocate_with(pool_, &wanted, &address), CISTERN_INVALID_ARGUMENT) << size;
    EXPECT_NE(last_text().find("sizeof(cistern_allocation_t)"), std::string::npos) << last_text();
    cistern_ledger_t ledger{};
    ledger.struct_size = size;
    EXPECT_EQ(cistern_get_ledger(pool_, &ledger), CISTERN_INVALID_ARGUMENT) << size;
    cistern_error_t error{};
    error.struct_size = size;
    EXPECT_EQ(cistern_get_last_error(&error), CISTERN_INVALID_ARGUMENT) << size;
  }
  EXPECT_EQ(live_blocks(), 0u);
}

TEST_F(Structs, FieldsOutOfRangeAreTold) {
  cistern_address_t address = 0;
  const auto refused = [&](auto change) {
    cistern_allocation_t wanted{};
    wanted.struct_size = sizeof wanted;
    wanted.bytes = 64;
    change(wanted);
    return cistern_allocate_with(pool_, &wanted, &address);
  };
  EXPECT_EQ(refused([](auto& wanted) { wanted.bytes = 0; }), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto& wanted) { wanted.alignment = 3; }), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto& wanted) { wanted.lifetime = 3; }), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto& wanted) { wanted.flags = 2; }), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(refused([](auto& wanted) { wanted.reserved[2] = 1; }), CISTERN_UNSUPPORTED);
  EXPECT_EQ(refused([](auto&) {}), CISTERN_OK);

  const auto create = [&](auto change) {
    cistern_pool_options_t options{};
    options.struct_size = sizeof options;
    options.limit_bytes = 1u << 20;
    change(options);
    cistern_pool_t* pool = nullptr;
    const cistern_status_t status = cistern_pool_create(device_, &options, &pool);
    cistern_pool_destroy(pool, nullptr);
    return status;
  };
  EXPECT_EQ(create([](auto& options) { options.policy = 4; }), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(create([](auto& options) { options.growth = 3; }), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(create([](auto& options) { options.on_miss = 3; }), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(create([](auto& options) { options.page_bytes = 100'000; }), CISTERN_INVALID_ARGUMENT);
  EXPECT_NE(last_text().find("100000"), std::string::npos) << last_text();
  EXPECT_EQ(create([](auto& options) { options.round_bytes = 700; }), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(create([](auto& options) { options.initial_bytes = 2u << 20; }), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(create([](auto&) {}), CISTERN_OK);
}

TEST_F(Structs, NamesAreUniqueBoundedAndComeBack) {
  cistern_allocation_t wanted{};
  wanted.struct_size = sizeof wanted;
  wanted.bytes = 64;
  const std::string longest(CISTERN_TEXT_BYTES - 1, 'n');
  wanted.name = longest.c_str();
  wanted.tag = longest.c_str();
  cistern_address_t address = 0;
  ASSERT_EQ(cistern_allocate_with(pool_, &wanted, &address), CISTERN_OK) << last_text();
  cistern_block_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(cistern_find(pool_, longest.c_str(), &info), CISTERN_OK);
  EXPECT_EQ(info.address, address);
  EXPECT_EQ(info.name, longest);
  EXPECT_EQ(info.tag, longest);
  EXPECT_EQ(cistern_allocate_with(pool_, &wanted, &address), CISTERN_INVALID_ARGUMENT);  // taken
  const std::string too_long = longest + "n";
  wanted.name = too_long.c_str();
  EXPECT_EQ(cistern_allocate_with(pool_, &wanted, &address), CISTERN_INVALID_ARGUMENT);
  EXPECT_NE(last_text().find("longer than 255"), std::string::npos) << last_text();
  EXPECT_EQ(cistern_find(pool_, too_long.c_str(), &info), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_find(pool_, "other", &info), CISTERN_NOT_FOUND);
  EXPECT_EQ(cistern_free_named(pool_, longest.c_str()), CISTERN_OK);
  EXPECT_EQ(cistern_free_named(pool_, longest.c_str()), CISTERN_NOT_FOUND);
}

TEST_F(Structs, SnapshotsAreWholeOrRefused) {
  const cistern_address_t block = allocate(1000);
  std::size_t needed = 0;
  ASSERT_EQ(cistern_snapshot_json(pool_, nullptr, 0, &needed), CISTERN_OK);
  std::vector<char> buffer(needed + 8, 'x');
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, needed - 1}) {
    std::size_t told = 0;
    std::fill(buffer.begin(), buffer.end(), 'x');
    EXPECT_EQ(cistern_snapshot_json(pool_, buffer.data(), capacity, &told), CISTERN_INVALID_ARGUMENT);
    EXPECT_EQ(told, needed);
    EXPECT_EQ(buffer[0], capacity == 0 ? 'x' : '\0');
    EXPECT_EQ(buffer[1], 'x');
  }
  EXPECT_EQ(cistern_snapshot_json(pool_, nullptr, 10, &needed), CISTERN_INVALID_ARGUMENT);
  ASSERT_EQ(cistern_snapshot_json(pool_, buffer.data(), needed, &needed), CISTERN_OK);
  EXPECT_EQ(std::strlen(buffer.data()) + 1, needed);
  EXPECT_EQ(buffer[needed], 'x');

  const auto json = nlohmann::json::parse(buffer.data());
  EXPECT_EQ(json["format"], "cistern.snapshot");
  EXPECT_EQ(json["device"], "host:0");
  EXPECT_EQ(json["ledger"]["requested_bytes"], 1000);
  std::uint64_t live_bytes = 0;
  for (const auto& arena : json["arenas"]) {
    std::uint64_t tiled = 0;
    for (const auto& shown : arena["blocks"]) {
      tiled += shown["bytes"].get<std::uint64_t>();
      if (shown["state"] != "live") continue;
      live_bytes += shown["bytes"].get<std::uint64_t>();
      EXPECT_EQ(std::stoull(shown["address"].get<std::string>(), nullptr, 16), block);
      EXPECT_EQ(shown["requested_bytes"], 1000);
    }
    EXPECT_EQ(tiled, arena["range_bytes"].get<std::uint64_t>());
  }
  EXPECT_EQ(live_bytes, 1024u);
}

TEST_F(Structs, EachThreadHasItsOwnLastError) {
  ASSERT_EQ(cistern_free(pool_, 1), CISTERN_NOT_FOUND);
  std::thread([&] {
    EXPECT_EQ(last_error().status, CISTERN_OK);
    EXPECT_STREQ(last_error().text, "");
    cistern_address_t address = 0;
    EXPECT_EQ(cistern_allocate(pool_, 0, &address), CISTERN_INVALID_ARGUMENT);
    EXPECT_EQ(last_error().status, CISTERN_INVALID_ARGUMENT);
  }).join();
  EXPECT_EQ(last_error().status, CISTERN_NOT_FOUND);
  EXPECT_NE(last_text().find("cistern_free"), std::string::npos);
  allocate(1);  // success leaves it alone
  EXPECT_EQ(last_error().status, CISTERN_NOT_FOUND);
  // A thread that takes over what an ended one left behind starts without an error.
  std::thread([] { EXPECT_EQ(last_error().status, CISTERN_OK); }).join();
}

TEST_F(Structs, TheDriversOwnNumberIsInTheError) {
  // This driver gives 2 MiB or nothing.
  cistern_device_t* device = open_device("simulated", 1u << 20, CISTERN_DEVICE_NO_LATENCY);
  cistern_pool_options_t options{};
  options.struct_size = sizeof options;
  options.growth = CISTERN_GROWTH_ARENAS;
  options.initial_bytes = 1u << 20;
  cistern_pool_t* pool = nullptr;
  EXPECT_EQ(cistern_pool_create(device, &options, &pool), CISTERN_OUT_OF_MEMORY) << last_text();
  EXPECT_EQ(last_error().native_code, 207001) << last_text();  // ACL_ERROR_RT_MEMORY_ALLOCATION
  EXPECT_STREQ(last_error().device_kind, "simulated");
  EXPECT_EQ(pool, nullptr);
  EXPECT_EQ(cistern_device_close(device), CISTERN_OK);
}

TEST_F(Structs, OptionsComeFromTheEnvironment) {
  setenv("CISTERN_POLICY", "FIRST_FIT", 1);
  setenv("ASCEND_MEMORY_POOL_MAX_SIZE", "1048576", 1);
  cistern_pool_options_t options{};
  options.struct_size = sizeof options;
  ASSERT_EQ(cistern_pool_options_from_environment(&options), CISTERN_OK) << last_text();
  EXPECT_EQ(options.policy, std::uint32_t{CISTERN_POLICY_FIRST_FIT});
  EXPECT_EQ(options.limit_bytes, 1u << 20);
  EXPECT_EQ(options.growth, std::uint32_t{CISTERN_GROWTH_DEFAULT});
  EXPECT_STREQ(options.name, "pool");
  cistern_pool_t* pool = nullptr;
  ASSERT_EQ(cistern_pool_create(device_, nullptr, &pool), CISTERN_OK) << last_text();
  cistern_ledger_t ledger{};
  ledger.struct_size = sizeof ledger;
  EXPECT_EQ(cistern_get_ledger(pool, &ledger), CISTERN_OK);
  EXPECT_EQ(ledger.limit_bytes, 1u << 20);
  EXPECT_EQ(cistern_pool_destroy(pool, nullptr), CISTERN_OK);
  setenv("CISTERN_POLICY", "SNUGGEST", 1);
  EXPECT_EQ(cistern_pool_create(device_, nullptr, &pool), CISTERN_INVALID_ARGUMENT);
  EXPECT_NE(last_text().find("SNUGGEST"), std::string::npos) << last_text();
  unsetenv("CISTERN_POLICY");
  unsetenv("ASCEND_MEMORY_POOL_MAX_SIZE");
}

TEST_F(Structs, EveryChoiceOfAPoolActs) {
  for (const std::uint32_t growth : {CISTERN_GROWTH_EXPANDABLE, CISTERN_GROWTH_ARENAS}) {
    for (const std::uint32_t policy : {1u, 2u, 3u}) {
      cistern_pool_options_t options{};
      options.struct_size = sizeof options;
      options.growth = growth;
      options.policy = policy;
      options.name = "chosen";
      options.limit_bytes = 32u << 20;
      options.round_bytes = 1024;
      cistern_pool_t* pool = nullptr;
      ASSERT_EQ(cistern_pool_create(device_, &options, &pool), CISTERN_OK) << last_text();
      cistern_address_t address = 0;
      EXPECT_EQ(cistern_allocate(pool, 1, &address), CISTERN_OK) << last_text();
      std::size_t needed = 0;
      EXPECT_EQ(cistern_snapshot_json(pool, nullptr, 0, &needed), CISTERN_OK);
      std::string text(needed, '\0');
      EXPECT_EQ(cistern_snapshot_json(pool, text.data(), needed, &needed), CISTERN_OK);
      const auto json = nlohmann::json::parse(text.c_str());
      EXPECT_EQ(json["pool"], "chosen");
      EXPECT_EQ(json["ledger"]["allocated_bytes"], 1024);
      EXPECT_EQ(json["ledger"]["limit_bytes"], 32u << 20);
      EXPECT_EQ(json["arenas"][0]["kind"], growth == CISTERN_GROWTH_ARENAS ? "driver" : "expandable");
      EXPECT_EQ(cistern_pool_destroy(pool, nullptr), CISTERN_OK);
    }
  }
}

}  // namespace
}  // namespace cistern::capi_test
