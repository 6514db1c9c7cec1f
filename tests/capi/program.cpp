// The C++17 interface as programs see it. Built with and without exceptions and with either string ABI of libstdc++.
#include <cistern/cistern.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

static_assert(!std::is_copy_constructible_v<cistern::Buffer> && std::is_nothrow_move_constructible_v<cistern::Buffer>);
static_assert(!std::is_copy_constructible_v<cistern::Pool> && std::is_nothrow_move_assignable_v<cistern::Pool>);
static_assert(std::is_nothrow_move_constructible_v<cistern::Device>);
static_assert(!std::is_copy_constructible_v<cistern::Pin> && std::is_nothrow_move_assignable_v<cistern::Pin>);

namespace {

int failures = 0;

void check(bool holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "program.cpp:%d: %s; last error: %s\n", line, what, cistern_last_error_text());
}
#define CHECK(condition) check((condition), #condition, __LINE__)

std::uint64_t live_blocks(const cistern::Pool& pool) { return pool.try_ledger().value().live_blocks; }

void check_buffers(cistern::Pool& pool) {
  CHECK(live_blocks(pool) == 0);
  {
    auto made = pool.try_allocate(cistern::Allocation(5000).alignment(4096).tag("activations").name("a").pinned());
    CHECK(made.ok());
    cistern::Buffer buffer = std::move(made).value();
    CHECK(buffer && buffer.size() == 5000 && buffer.get() % 4096 == 0);
    CHECK(live_blocks(pool) == 1);
    cistern::Buffer moved = std::move(buffer);
    CHECK(!buffer && buffer.size() == 0 && moved);
    CHECK(!buffer.try_host_pointer().ok());
    CHECK(buffer.try_free().ok());  // nothing to do
    const char text[] = "water";
    CHECK(moved.try_fill(0xAB).ok());
    CHECK(moved.try_write(text, sizeof text, 100).ok());
    char back[sizeof text + 1] = {};
    CHECK(moved.try_read(back, sizeof back, 99).ok());
    CHECK(static_cast<unsigned char>(back[0]) == 0xAB && std::strcmp(back + 1, text) == 0);
    auto pointer = moved.try_host_pointer();
    CHECK(pointer.ok() && std::memcmp(static_cast<char*>(pointer.value()) + 100, text, sizeof text) == 0);
    CHECK(moved.try_write(text, sizeof text, 5120).code() != CISTERN_OK);  // behind the block
    auto found = pool.try_find("a");
    CHECK(found.ok() && found.value().address == moved.get() && found.value().tag == "activations");
    CHECK(found.ok() && found.value().flags == CISTERN_ALLOCATION_PINNED && found.value().requested_bytes == 5000);
    cistern::Buffer other = pool.try_allocate(64).value();
    CHECK(live_blocks(pool) == 2);
    other = std::move(moved);  // frees what it had
    CHECK(live_blocks(pool) == 1);
  }
  CHECK(live_blocks(pool) == 0);
  cistern::Buffer released = pool.try_allocate(64).value();
  const cistern::Address address = released.release();
  CHECK(!released && live_blocks(pool) == 1);
  CHECK(pool.try_free(address).ok());
  CHECK(pool.try_free(address).code() == CISTERN_DOUBLE_FREE);
}

void check_looks(cistern::Pool& pool) {
  cistern::Buffer buffer = pool.try_allocate(cistern::Allocation(1000).tag("t")).value();
  auto ledger = pool.try_ledger();
  CHECK(ledger.ok() && ledger.value().requested_bytes == 1000 && ledger.value().overhead() >= 1.0);
  CHECK(ledger.ok() && ledger.value().fragmentation_rate() >= 0.0);
  auto text = pool.try_snapshot_json();
  CHECK(text.ok() && text.value().find("\"tag\":\"t\"") != std::string::npos && text.value().back() == '}');
  CHECK(pool.try_describe(buffer.get() + 999).value().address == buffer.get());
  CHECK(pool.try_register_range(buffer.get(), 1000).ok());
  CHECK(pool.try_unregister_range(buffer.get(), 1000).ok());
  CHECK(buffer.try_free().ok());
  CHECK(pool.try_reset_peaks().ok() && pool.try_trim().ok());
  CHECK(pool.try_ledger().value().peak_requested_bytes == 0);
}

void check_movables(cistern::Pool& pool) {
  auto made = pool.try_allocate_movable(cistern::Allocation(3000).tag("cache").name("m"));
  CHECK(made.ok());
  cistern::MovableBuffer buffer = std::move(made).value();
  CHECK(buffer && buffer.size() == 3000 && buffer.handle() != 0);
  {
    cistern::Pin pin = buffer.try_pin().value();
    CHECK(pin && pool.try_describe(pin.get()).value().flags == CISTERN_ALLOCATION_MOVABLE);
    CHECK(pool.try_find("m").value().address == pin.get());
    cistern::Pin moved = std::move(pin);
    CHECK(!pin && pin.get() == 0 && moved);
    CHECK(buffer.try_free().code() == CISTERN_BUSY && buffer);
    CHECK(pool.try_free(moved.get()).code() == CISTERN_INVALID_ARGUMENT);
    const char text[] = "still here";
    CHECK(cistern_copy_to_device(pool.handle(), moved.get(), text, sizeof text) == CISTERN_OK);
    moved = buffer.try_pin().value();
    char back[sizeof text] = {};
    CHECK(cistern_copy_from_device(pool.handle(), back, moved.get(), sizeof back) == CISTERN_OK);
    CHECK(std::strcmp(back, text) == 0);
    const auto ledger = pool.try_ledger().value();
    CHECK(ledger.movable_blocks == 1 && ledger.pinned_bytes == 3072 && ledger.movable_bytes == 3072);
  }
  cistern_movable_info_t info{};
  info.struct_size = sizeof info;
  CHECK(cistern_movable_describe(pool.handle(), buffer.handle(), &info) == CISTERN_OK);
  CHECK(info.pins == 0 && info.requested_bytes == 3000 && info.granted_bytes == 3072 && info.moves == 0);
  const cistern_movable_t handle = buffer.handle();
  CHECK(buffer.try_free().ok() && !buffer && buffer.try_free().ok());
  CHECK(cistern_movable_unpin(pool.handle(), handle) == CISTERN_DOUBLE_FREE);
  CHECK(cistern_movable_free(pool.handle(), handle) == CISTERN_DOUBLE_FREE);
  CHECK(cistern_movable_free(pool.handle(), 0) == CISTERN_OK);
  CHECK(cistern_movable_free(pool.handle(), 12345) == CISTERN_NOT_FOUND);
  CHECK(!pool.try_allocate_movable(cistern::Allocation(10).pinned()).ok());
  CHECK(live_blocks(pool) == 0);
}

void check_elastic(cistern::Pool& pool) {
  auto made = pool.try_reserve_elastic(4 << 20, "cache");
  CHECK(made.ok());
  cistern::ElasticBuffer buffer = std::move(made).value();
  CHECK(buffer && buffer.size() == 0 && buffer.handle() != 0 && buffer.get() != 0);
  const cistern::Address address = buffer.get();
  CHECK(buffer.try_grow(1000).ok() && buffer.size() == 1000);
  const char text[] = "still here";
  CHECK(cistern_copy_to_device(pool.handle(), address, text, sizeof text) == CISTERN_OK);
  CHECK(buffer.try_grow(3 << 20).ok() && buffer.get() == address);
  CHECK(pool.try_describe(address + 5).value().flags == CISTERN_ALLOCATION_ELASTIC);
  CHECK(pool.try_ledger().value().requested_bytes == 3 << 20);
  CHECK(buffer.try_grow(2000).code() == CISTERN_INVALID_ARGUMENT && buffer.size() == 3 << 20);
  CHECK(buffer.try_shrink(500).ok() && buffer.size() == 500);
  char back[sizeof text] = {};
  CHECK(cistern_copy_from_device(pool.handle(), back, address, sizeof back) == CISTERN_OK);
  CHECK(std::strcmp(back, text) == 0);
  CHECK(pool.try_free(address).code() == CISTERN_INVALID_ARGUMENT);
  cistern_elastic_info_t info{};
  info.struct_size = sizeof info;
  CHECK(cistern_elastic_describe(pool.handle(), buffer.handle(), &info) == CISTERN_OK);
  CHECK(info.address == address && info.bytes == 500 && info.backed_bytes >= 500 && info.max_bytes >= 4 << 20);
  cistern::ElasticBuffer moved = std::move(buffer);
  CHECK(!buffer && buffer.get() == 0 && moved.get() == address && moved.size() == 500);
  const cistern_elastic_t handle = moved.handle();
  moved.reset();
  CHECK(!moved && cistern_elastic_grow(pool.handle(), handle, 1) == CISTERN_DOUBLE_FREE);
  CHECK(cistern_elastic_release(pool.handle(), handle) == CISTERN_DOUBLE_FREE);
  CHECK(cistern_elastic_release(pool.handle(), 0) == CISTERN_OK);
  CHECK(cistern_elastic_shrink(pool.handle(), 12345, 0) == CISTERN_NOT_FOUND);
  cistern_elastic_t none = 0;
  CHECK(cistern_elastic_reserve(pool.handle(), 1, nullptr, nullptr, &info.address) == CISTERN_INVALID_ARGUMENT);
  CHECK(cistern_elastic_reserve(pool.handle(), 0, nullptr, &none, &info.address) == CISTERN_INVALID_ARGUMENT);
  CHECK(live_blocks(pool) == 0);
}

// A pool of one arena whose free memory lies in pieces.
void check_relocation(cistern::Device& device) {
  cistern::PoolOptions options;
  options.growth = cistern::Growth::arenas;
  options.limit_bytes = options.initial_bytes = 1 << 20;
  cistern::Pool pool = cistern::Pool::try_create(device, options).value();
  cistern::MovableBuffer blocks[16];
  for (int i = 0; i < 16; ++i) {
    blocks[i] = pool.try_allocate_movable(64 << 10).value();
    cistern::Pin pin = blocks[i].try_pin().value();
    CHECK(cistern_fill(pool.handle(), pin.get(), static_cast<std::uint8_t>(i), 64 << 10) == CISTERN_OK);
  }
  for (int i = 0; i < 16; i += 2) blocks[i].reset();
  cistern::Pin pin = blocks[1].try_pin().value();
  CHECK(pool.try_allocate(256 << 10).ok());
  CHECK(pool.try_ledger().value().moves == 2);
  for (int i = 1; i < 16; i += 2) {
    cistern::Pin again = blocks[i].try_pin().value();
    CHECK(i != 1 || again.get() == pin.get());
    unsigned char back[2] = {};
    CHECK(cistern_copy_from_device(pool.handle(), back, again.get() + (64 << 10) - 2, 2) == CISTERN_OK);
    CHECK(back[0] == i && back[1] == i);
  }
}

void check_lifetimes(cistern::Device& device) {
  cistern::Pool pool = cistern::Pool::try_create(device).value();
  cistern::Buffer orphan = pool.try_allocate(64).value();
  CHECK(pool.destroy() == 1);
  CHECK(pool.try_allocate(64).status().code() == CISTERN_INVALID_ARGUMENT);
  cistern::Buffer still = std::move(orphan);
  const cistern::Status gone = still.try_host_pointer().status();
  CHECK(gone.code() == CISTERN_INVALID_ARGUMENT && gone.text().find("destroyed") != std::string::npos);
  CHECK(still.try_free().code() == CISTERN_INVALID_ARGUMENT);
}

void check_streams(cistern::Device& device, cistern::Pool& pool) {
  const cistern::Stream first = device.try_create_stream().value();
  const cistern::Stream second = device.try_create_stream().value();
  cistern::Buffer buffer = pool.try_allocate_async(4096, first).value();
  const cistern::Address at = buffer.get();
  CHECK(buffer.try_record_use(second).ok());
  cistern::Buffer moved = std::move(buffer);
  CHECK(moved.try_free().ok());  // in the order of the first stream
  CHECK(pool.try_free_async(at, first).code() == CISTERN_DOUBLE_FREE);
  CHECK(device.try_wait_stream(second).ok());
  const cistern::Address released = pool.try_allocate_async(4096, second).value().release();
  CHECK(pool.try_free_async(released, second).ok());
  for (const cistern::Stream stream : {first, second}) {
    CHECK(pool.try_forget_stream(stream).ok());
    CHECK(device.try_destroy_stream(stream).ok());
  }
}

#if CISTERN_HAS_EXCEPTIONS
void use_movable(cistern::Pool& pool) {
  using cistern::throw_unless_ok;
  cistern::MovableBuffer cache = pool.allocate_movable(cistern::Allocation(1 << 20).tag("kv cache"));
  {
    const cistern::Pin pin = cache.pin();  // it stays at pin.get() until the end of this scope
    throw_unless_ok(cistern::Status::of(cistern_fill(pool.handle(), pin.get(), 0, cache.size())));
  }
  cache.free();
}

void use_elastic(cistern::Pool& pool) {
  cistern::ElasticBuffer keys = pool.reserve_elastic(std::uint64_t{32} << 20, "kv cache");
  keys.grow(1 << 20);      // pages of the pool that are free first, then new ones under the limit
  keys.grow(3 << 20);      // keys.get() is what it was, and so is the first MiB
  keys.shrink(512 << 10);  // the pages behind go to the device's page pool: any pool takes them again
  CHECK(keys.size() == 512 << 10);
}

void check_exceptions(cistern::Pool& pool) {
  use_elastic(pool);
  use_movable(pool);
  cistern::Buffer buffer = pool.allocate(cistern::Allocation(10).name("b"));
  buffer.fill(1);
  bool thrown = false;
  try {
    cistern::Buffer second = pool.allocate(cistern::Allocation(10).name("b"));
  } catch (const cistern::Error& error) {
    thrown = error.code() == CISTERN_INVALID_ARGUMENT && std::strstr(error.what(), "'b'") != nullptr &&
             error.status().device_kind() == "host";
  }
  CHECK(thrown);
  pool.free_named("b");
  thrown = false;
  try {
    buffer.free();
  } catch (const std::exception& error) {
    thrown = std::strstr(error.what(), "double_free") != nullptr;
  }
  CHECK(thrown);
}
#endif

}  // namespace

int main() {
  cistern_set_log_level(CISTERN_LOG_ERROR);  // this test destroys a pool with a live block on purpose
  cistern::Device device = cistern::Device::try_open().value();
  CHECK(device.try_memory().value().total_bytes > 0);
  CHECK(cistern::Device::try_open({"toaster"}).status().code() == CISTERN_NOT_FOUND);
  CHECK(cistern::PoolOptions::try_from_environment().value().round_bytes == 512);
  cistern::PoolOptions options;
  options.limit_bytes = 64 << 20;
  options.policy = cistern::Policy::first_fit;
  cistern::Pool pool = cistern::Pool::try_create(device, options).value();
  check_buffers(pool);
  check_looks(pool);
  check_streams(device, pool);
  check_movables(pool);
  check_elastic(pool);
  check_relocation(device);
  check_lifetimes(device);
#if CISTERN_HAS_EXCEPTIONS
  check_exceptions(pool);
#endif
  device.close();
  CHECK(pool.try_allocate(1).ok());  // the pool keeps its device
  return failures == 0 ? 0 : 1;
}
