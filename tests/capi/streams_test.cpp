// Streams and memory in their order, as programs in C use them.
#include <atomic>
#include <thread>
#include <vector>

#include "capi/capi_fixture.hpp"

namespace cistern::capi_test {
namespace {

// Work that holds its stream until the gate opens.
struct Gate {
  std::atomic<bool> is_open{false};
  static void wait(void* gate) {
    while (!static_cast<Gate*>(gate)->is_open.load()) std::this_thread::yield();
  }
};

class Streams : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    device = open_device(GetParam());
    pool = create_pool(device);
    for (cistern_stream_t& stream : streams) ASSERT_EQ(cistern_stream_create(device, &stream), CISTERN_OK);
  }
  void TearDown() override {
    gate.is_open = true;
    EXPECT_EQ(cistern_pool_destroy(pool, nullptr), CISTERN_OK) << last_text();
    for (const cistern_stream_t stream : streams) EXPECT_EQ(cistern_stream_destroy(device, stream), CISTERN_OK);
    EXPECT_EQ(cistern_device_close(device), CISTERN_OK);
  }

  cistern_address_t allocate(std::uint64_t bytes, cistern_stream_t stream) {
    cistern_address_t address = 0;
    EXPECT_EQ(cistern_allocate_async(pool, bytes, stream, &address), CISTERN_OK) << last_text();
    return address;
  }
  std::uint64_t awaiting_bytes() {
    cistern_ledger_t ledger{};
    ledger.struct_size = sizeof ledger;
    EXPECT_EQ(cistern_get_ledger(pool, &ledger), CISTERN_OK);
    return ledger.awaiting_free_bytes;
  }

  cistern_device_t* device = nullptr;
  cistern_pool_t* pool = nullptr;
  cistern_stream_t streams[2] = {};
  Gate gate;
};

TEST_P(Streams, FreedMemoryIsTheStreamsOwnAtOnceAndOthersLater) {
  const cistern_address_t small = allocate(4096, streams[1]);
  const cistern_address_t block = allocate(1 << 20, streams[0]);
  ASSERT_EQ(cistern_stream_call(device, streams[0], Gate::wait, &gate), CISTERN_OK) << last_text();
  ASSERT_EQ(cistern_free_async(pool, block, streams[0]), CISTERN_OK) << last_text();
  EXPECT_EQ(awaiting_bytes(), 1u << 20);
  EXPECT_NE(allocate(1 << 20, streams[1]), block);
  EXPECT_EQ(allocate(1 << 20, streams[0]), block);
  ASSERT_EQ(cistern_free_async(pool, block, streams[0]), CISTERN_OK);
  gate.is_open = true;
  ASSERT_EQ(cistern_stream_wait(device, streams[0]), CISTERN_OK);
  EXPECT_EQ(allocate(1 << 20, streams[1]), block);
  EXPECT_EQ(awaiting_bytes(), 0u);
  EXPECT_EQ(cistern_free_async(pool, small, streams[1]), CISTERN_OK);
}

TEST_P(Streams, ARecordedUseIsWaitedFor) {
  const cistern_address_t block = allocate(1 << 20, streams[0]);
  ASSERT_EQ(cistern_record_use(pool, block, streams[1]), CISTERN_OK) << last_text();
  ASSERT_EQ(cistern_stream_call(device, streams[1], Gate::wait, &gate), CISTERN_OK);
  ASSERT_EQ(cistern_free(pool, block), CISTERN_OK) << last_text();
  EXPECT_EQ(awaiting_bytes(), 1u << 20);
  EXPECT_EQ(cistern_free(pool, block), CISTERN_DOUBLE_FREE);
  EXPECT_NE(allocate(1 << 20, streams[0]), block);
  gate.is_open = true;
  ASSERT_EQ(cistern_stream_wait(device, streams[1]), CISTERN_OK);
  EXPECT_EQ(allocate(1 << 20, streams[0]), block);
}

TEST_P(Streams, AForgottenStreamMayBeDestroyedWithMemoryPending) {
  cistern_stream_t third = 0;
  ASSERT_EQ(cistern_stream_create(device, &third), CISTERN_OK);
  const cistern_address_t block = allocate(1 << 20, third);
  ASSERT_EQ(cistern_stream_call(device, third, Gate::wait, &gate), CISTERN_OK);
  ASSERT_EQ(cistern_free_async(pool, block, third), CISTERN_OK);
  ASSERT_EQ(cistern_forget_stream(pool, third), CISTERN_OK) << last_text();
  ASSERT_EQ(cistern_stream_destroy(device, third), CISTERN_OK);
  EXPECT_NE(allocate(1 << 20, streams[0]), block);
  gate.is_open = true;
  cistern_address_t all = 0;
  EXPECT_EQ(cistern_allocate_async(pool, 63u << 20, streams[1], &all), CISTERN_OK) << last_text();
}

TEST_P(Streams, MisuseIsTold) {
  cistern_address_t address = 0;
  EXPECT_EQ(cistern_allocate_async(pool, 0, streams[0], &address), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_allocate_async(pool, 512, streams[0], nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_allocate_async(nullptr, 512, streams[0], &address), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_free_async(pool, 0, streams[0]), CISTERN_OK);
  EXPECT_EQ(cistern_free_async(pool, 512, streams[0]), CISTERN_NOT_FOUND);
  EXPECT_EQ(cistern_record_use(pool, 512, streams[0]), CISTERN_NOT_FOUND);
  EXPECT_NE(last_text().find("cistern_record_use"), std::string::npos);
  EXPECT_EQ(cistern_stream_create(device, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_stream_destroy(device, 0), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_stream_destroy(device, 4711), CISTERN_NOT_FOUND);
  EXPECT_EQ(cistern_stream_wait(device, 4711), CISTERN_NOT_FOUND);
  EXPECT_EQ(cistern_stream_call(device, streams[0], nullptr, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_stream_call(device, 4711, Gate::wait, &gate), CISTERN_NOT_FOUND);
  cistern_pool_options_t options{};
  options.struct_size = sizeof options;
  options.quarantine = 2;
  cistern_pool_t* refused = nullptr;
  EXPECT_EQ(cistern_pool_create(device, &options, &refused), CISTERN_INVALID_ARGUMENT);
}

TEST_P(Streams, QuarantineIsAnOption) {
  cistern_pool_options_t options{};
  options.struct_size = sizeof options;
  options.limit_bytes = 8u << 20;
  options.quarantine = 1;
  cistern_pool_t* careful = nullptr;
  ASSERT_EQ(cistern_pool_create(device, &options, &careful), CISTERN_OK) << last_text();
  cistern_address_t early = 0;
  cistern_address_t next = 0;
  ASSERT_EQ(cistern_allocate(careful, 1 << 20, &early), CISTERN_OK);
  ASSERT_EQ(cistern_stream_call(device, 0, Gate::wait, &gate), CISTERN_OK);
  ASSERT_EQ(cistern_free(careful, early), CISTERN_OK);
  ASSERT_EQ(cistern_allocate(careful, 1 << 20, &next), CISTERN_OK);
  EXPECT_NE(next, early);
  gate.is_open = true;
  EXPECT_EQ(cistern_pool_destroy(careful, nullptr), CISTERN_OK);
}

INSTANTIATE_TEST_SUITE_P(Devices, Streams, testing::Values("host", "simulated"),
                         [](const testing::TestParamInfo<const char*>& of) { return std::string(of.param); });

}  // namespace
}  // namespace cistern::capi_test
