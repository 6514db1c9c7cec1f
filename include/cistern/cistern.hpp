// cistern.hpp: the C++17 interface of Cistern, header-only over cistern.h.
//
// Devices, pools and buffers as objects that own what they stand for. Every operation that can fail exists twice:
// try_x() returns a Status or a Result<T> and never throws a failure of Cistern; x() returns the value itself and
// throws Error. Where exceptions are off (-fno-exceptions) only the try_ functions exist. Nothing else than the C
// interface is called, so the standard library and the string ABI of the program need not be those of libcistern.so.
//
// Thread-safety: as in cistern.h for operations; an object itself (moving, assigning, destroying it) belongs to one
// thread at a time, like a std::unique_ptr. A Buffer may outlive its Pool and a Pool its Device: it then fails, or does
// nothing, and never touches memory that is gone. A moved-from object is as a default-constructed one: it owns nothing,
// and its operations fail with CISTERN_INVALID_ARGUMENT.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "cistern/cistern.h"
#include "cistern/elastic.hpp"
#include "cistern/movable.hpp"
#include "cistern/outcome.hpp"
#include "cistern/pool_options.hpp"
#include "cistern/pressure.hpp"

namespace cistern {

using Address = cistern_address_t;
using Stream = cistern_stream_t;

// ---- Devices
// ---------------------------------------------------------------------------------------------------------

struct DeviceOptions {
  std::string kind = "host";
  std::uint32_t ordinal = 0;
  std::uint64_t capacity_bytes = 0;
  std::uint32_t flags = 0;  // CISTERN_DEVICE_*
};

struct DeviceMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

class Device {
 public:
  Device() noexcept = default;
  Device(Device&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Device& operator=(Device&& other) noexcept {
    if (this != &other) {
      close();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() { close(); }

  static Result<Device> try_open(const DeviceOptions& options = {}) {
    cistern_device_options_t given{};
    given.struct_size = sizeof given;
    given.kind = options.kind.c_str();
    given.ordinal = options.ordinal;
    given.capacity_bytes = options.capacity_bytes;
    given.flags = options.flags;
    Device device;
    Status status = Status::of(cistern_device_open(&given, &device.handle_));
    if (!status.ok()) return status;
    return device;
  }

  Result<DeviceMemory> try_memory() const {
    cistern_memory_info_t info{};
    info.struct_size = sizeof info;
    Status status = Status::of(cistern_device_memory(handle_, &info));
    if (!status.ok()) return status;
    return DeviceMemory{info.total_bytes, info.free_bytes};
  }

  // Streams of devices that run in this process: see cistern_stream_create().
  Result<Stream> try_create_stream() {
    Stream stream = 0;
    Status status = Status::of(cistern_stream_create(handle_, &stream));
    if (!status.ok()) return status;
    return stream;
  }
  Status try_destroy_stream(Stream stream) { return Status::of(cistern_stream_destroy(handle_, stream)); }
  Status try_wait_stream(Stream stream) { return Status::of(cistern_stream_wait(handle_, stream)); }

  // Pools of the device go on.
  void close() noexcept { static_cast<void>(cistern_device_close(std::exchange(handle_, nullptr))); }
  cistern_device_t* handle() const noexcept { return handle_; }

#if CISTERN_HAS_EXCEPTIONS
  static Device open(const DeviceOptions& options = {}) { return try_open(options).value(); }
  DeviceMemory memory() const { return try_memory().value(); }
  Stream create_stream() { return try_create_stream().value(); }
  void destroy_stream(Stream stream) { throw_unless_ok(try_destroy_stream(stream)); }
  void wait_stream(Stream stream) { throw_unless_ok(try_wait_stream(stream)); }
#endif

 private:
  cistern_device_t* handle_ = nullptr;
};

// ---- Buffers
// ---------------------------------------------------------------------------------------------------------

// A block that goes back to its pool with this object, in the order of its stream where it was allocated for one.
// Addresses are of the device.
class Buffer {
 public:
  Buffer() noexcept = default;
  Buffer(Buffer&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        address_(std::exchange(other.address_, 0)),
        bytes_(std::exchange(other.bytes_, 0)),
        stream_(other.stream_),
        in_order_(other.in_order_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      reset();
      pool_ = std::exchange(other.pool_, nullptr);
      address_ = std::exchange(other.address_, 0);
      bytes_ = std::exchange(other.bytes_, 0);
      stream_ = other.stream_;
      in_order_ = other.in_order_;
    }
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { reset(); }

  explicit operator bool() const noexcept { return address_ != 0; }
  Address get() const noexcept { return address_; }
  std::uint64_t size() const noexcept { return bytes_; }  // as asked for

  // The block is the caller's from now on, to be freed with Pool::free().
  Address release() noexcept {
    pool_ = nullptr;
    bytes_ = 0;
    return std::exchange(address_, 0);
  }
  // Frees the block now. The destructor ignores a failure (the pool is gone, somebody else has freed the block); who
  // wants to know calls this.
  Status try_free() { return Status::of(give_back()); }
  void reset() noexcept { static_cast<void>(give_back()); }
  // Work of that stream uses the block, too: see cistern_record_use().
  Status try_record_use(Stream stream) { return Status::of(cistern_record_use(pool_, address_, stream)); }

  // The same memory for the host to follow.
  Result<void*> try_host_pointer() const {
    void* pointer = nullptr;
    Status status = Status::of(cistern_host_pointer(pool_, address_, bytes_, &pointer));
    if (!status.ok()) return status;
    return pointer;
  }
  Status try_write(const void* from, std::uint64_t bytes, std::uint64_t offset = 0) {
    return Status::of(cistern_copy_to_device(pool_, address_ + offset, from, bytes));
  }
  Status try_read(void* to, std::uint64_t bytes, std::uint64_t offset = 0) const {
    return Status::of(cistern_copy_from_device(pool_, to, address_ + offset, bytes));
  }
  Status try_fill(std::uint8_t value) { return Status::of(cistern_fill(pool_, address_, value, bytes_)); }

#if CISTERN_HAS_EXCEPTIONS
  void free() { throw_unless_ok(try_free()); }
  void record_use(Stream stream) { throw_unless_ok(try_record_use(stream)); }
  void* host_pointer() const { return try_host_pointer().value(); }
  void write(const void* from, std::uint64_t bytes, std::uint64_t offset = 0) {
    throw_unless_ok(try_write(from, bytes, offset));
  }
  void read(void* to, std::uint64_t bytes, std::uint64_t offset = 0) const {
    throw_unless_ok(try_read(to, bytes, offset));
  }
  void fill(std::uint8_t value) { throw_unless_ok(try_fill(value)); }
#endif

 private:
  friend class Pool;
  Buffer(cistern_pool_t* pool, Address address, std::uint64_t bytes) noexcept
      : pool_(pool), address_(address), bytes_(bytes) {}
  Buffer(cistern_pool_t* pool, Address address, std::uint64_t bytes, Stream stream) noexcept
      : pool_(pool), address_(address), bytes_(bytes), stream_(stream), in_order_(true) {}
  cistern_status_t give_back() noexcept {
    cistern_pool_t* pool = pool_;
    const Address address = release();
    if (address == 0) return CISTERN_OK;
    return in_order_ ? cistern_free_async(pool, address, stream_) : cistern_free(pool, address);
  }

  cistern_pool_t* pool_ = nullptr;
  Address address_ = 0;
  std::uint64_t bytes_ = 0;
  Stream stream_ = 0;
  bool in_order_ = false;  // freed in the stream's order
};

// ---- Pools
// -----------------------------------------------------------------------------------------------------------

// What to allocate: Allocation(4096).tag("weights").name("conv1"). Texts are not copied: they must live until the call.
class Allocation {
 public:
  explicit Allocation(std::uint64_t bytes) noexcept {
    given_.struct_size = sizeof given_;
    given_.bytes = bytes;
  }
  Allocation& alignment(std::uint64_t bytes) noexcept {
    given_.alignment = bytes;
    return *this;
  }
  Allocation& tag(const char* text) noexcept {
    given_.tag = text;
    return *this;
  }
  Allocation& name(const char* text) noexcept {
    given_.name = text;
    return *this;
  }
  Allocation& lifetime(Lifetime lifetime) noexcept {
    given_.lifetime = static_cast<std::uint32_t>(lifetime);
    return *this;
  }
  Allocation& pinned() noexcept {
    given_.flags |= CISTERN_ALLOCATION_PINNED;
    return *this;
  }
  const cistern_allocation_t& given() const noexcept { return given_; }

 private:
  cistern_allocation_t given_{};
};

struct BlockInfo {
  Address address = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t granted_bytes = 0;
  std::uint32_t flags = 0;
  std::string tag;
  std::string name;
};

struct Ledger : cistern_ledger_t {
  // 1 - largest hole / all holes; 0 when there are none.
  double fragmentation_rate() const noexcept {
    return free_bytes == 0 ? 0.0 : 1.0 - static_cast<double>(largest_free_bytes) / static_cast<double>(free_bytes);
  }
  // Peak reserved over peak requested; 0 before the first allocation.
  double overhead() const noexcept {
    return peak_requested_bytes == 0
               ? 0.0
               : static_cast<double>(peak_reserved_bytes) / static_cast<double>(peak_requested_bytes);
  }
};

// What a compaction did; see cistern.h.
using Compaction = cistern_compaction_t;
// Where a pool stands among those of its device; see contexts.h.
using Context = cistern_context_info_t;

class Pool {
 public:
  Pool() noexcept = default;
  Pool(Pool&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Pool& operator=(Pool&& other) noexcept {
    if (this != &other) {
      destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { destroy(); }

  // With the options of the environment.
  static Result<Pool> try_create(const Device& device) { return create_from(device, nullptr); }
  static Result<Pool> try_create(const Device& device, const PoolOptions& options) {
    cistern_pool_options_t given{};
    given.struct_size = sizeof given;
    given.policy = static_cast<std::uint32_t>(options.policy);
    given.growth = static_cast<std::uint32_t>(options.growth);
    given.on_miss = static_cast<std::uint32_t>(options.on_miss);
    given.name = options.name.c_str();
    given.initial_bytes = options.initial_bytes;
    given.limit_bytes = options.limit_bytes;
    given.page_bytes = options.page_bytes;
    given.round_bytes = options.round_bytes;
    given.growth_bytes = options.growth_bytes;
    given.max_growth_bytes = options.max_growth_bytes;
    given.direct_bytes = options.direct_bytes;
    given.magazine_bytes = options.magazine_bytes;
    given.stream_waits = options.stream_waits ? 1 : 0;
    given.quarantine = options.quarantine ? 1 : 0;
    given.compaction = static_cast<std::uint32_t>(options.compaction);
    given.compact_interval_ms = options.compact_interval_ms;
    given.compact_threshold = options.compact_threshold;
    given.compact_max_blocks = options.compact_max_blocks;
    given.compact_step_us = options.compact_step_us;
    given.minimum_bytes = options.minimum_bytes;
    given.red_zone_bytes = options.red_zone_bytes;
    return create_from(device, &given);
  }
  // Live blocks are gone then; their number is returned.
  std::uint64_t destroy() noexcept {
    std::uint64_t live_blocks = 0;
    static_cast<void>(cistern_pool_destroy(std::exchange(handle_, nullptr), &live_blocks));
    return live_blocks;
  }
  cistern_pool_t* handle() const noexcept { return handle_; }

  Result<Buffer> try_allocate(std::uint64_t bytes) {
    Address address = 0;
    Status status = Status::of(cistern_allocate(handle_, bytes, &address));
    if (!status.ok()) return status;
    return Buffer(handle_, address, bytes);
  }
  Result<Buffer> try_allocate(const Allocation& allocation) {
    Address address = 0;
    Status status = Status::of(cistern_allocate_with(handle_, &allocation.given(), &address));
    if (!status.ok()) return status;
    return Buffer(handle_, address, allocation.given().bytes);
  }
  // For work of `stream`; freed in its order.
  Result<Buffer> try_allocate_async(std::uint64_t bytes, Stream stream) {
    Address address = 0;
    Status status = Status::of(cistern_allocate_async(handle_, bytes, stream, &address));
    if (!status.ok()) return status;
    return Buffer(handle_, address, bytes, stream);
  }
  Status try_free_async(Address address, Stream stream) {
    return Status::of(cistern_free_async(handle_, address, stream));
  }
  Status try_forget_stream(Stream stream) { return Status::of(cistern_forget_stream(handle_, stream)); }
  // A block that the pool may move while it is not pinned.
  Result<MovableBuffer> try_allocate_movable(const Allocation& allocation) {
    cistern_movable_t movable = 0;
    Status status = Status::of(cistern_movable_allocate(handle_, &allocation.given(), &movable));
    if (!status.ok()) return status;
    return MovableBuffer(handle_, movable, allocation.given().bytes);
  }
  Result<MovableBuffer> try_allocate_movable(std::uint64_t bytes) { return try_allocate_movable(Allocation(bytes)); }
  // A buffer that grows and shrinks in place, to at most `max_bytes`; it has no memory yet.
  Result<ElasticBuffer> try_reserve_elastic(std::uint64_t max_bytes, const char* tag = nullptr) {
    cistern_elastic_t elastic = 0;
    Address address = 0;
    Status status = Status::of(cistern_elastic_reserve(handle_, max_bytes, tag, &elastic, &address));
    if (!status.ok()) return status;
    return ElasticBuffer(handle_, elastic, address);
  }
  // For addresses that no Buffer owns any more.
  Status try_free(Address address) { return Status::of(cistern_free(handle_, address)); }
  Status try_free_named(const char* name) { return Status::of(cistern_free_named(handle_, name)); }

  Result<BlockInfo> try_find(const char* name) const {
    return info_of([&](cistern_block_info_t* info) { return cistern_find(handle_, name, info); });
  }
  Result<BlockInfo> try_describe(Address address) const {
    return info_of([&](cistern_block_info_t* info) { return cistern_describe(handle_, address, info); });
  }

  Status try_register_range(Address address, std::uint64_t bytes) {
    return Status::of(cistern_register_range(handle_, address, bytes));
  }
  Status try_unregister_range(Address address, std::uint64_t bytes) {
    return Status::of(cistern_unregister_range(handle_, address, bytes));
  }

  // The bytes given back.
  Result<std::uint64_t> try_trim(std::uint64_t keep_bytes = 0) {
    std::uint64_t returned = 0;
    Status status = Status::of(cistern_trim(handle_, keep_bytes, &returned));
    if (!status.ok()) return status;
    return returned;
  }
  // Uses a quiet moment, see cistern_compact(); 0: no bound.
  Result<Compaction> try_compact(std::uint64_t max_bytes = 0, std::uint64_t max_us = 0) {
    Compaction result{};
    result.struct_size = sizeof(cistern_compaction_t);
    Status status = Status::of(cistern_compact(handle_, max_bytes, max_us, &result));
    if (!status.ok()) return status;
    return result;
  }
  Result<std::uint64_t> try_backing_generation(Address address, std::uint64_t bytes) const {
    std::uint64_t generation = 0;
    Status status = Status::of(cistern_backing_generation(handle_, address, bytes, &generation));
    if (!status.ok()) return status;
    return generation;
  }
  Result<Ledger> try_ledger() const {
    Ledger ledger{};
    ledger.struct_size = sizeof(cistern_ledger_t);
    Status status = Status::of(cistern_get_ledger(handle_, &ledger));
    if (!status.ok()) return status;
    return ledger;
  }
  // `function` gives memory up when this pool is in need; the lowest priority is asked first. See pressure.h.
  Result<PressureCallback> try_on_pressure(std::int32_t priority, PressureCallback::Function function) {
    return PressureCallback::try_add(handle_, priority, std::move(function));
  }
  // Where this pool stands among those of its device.
  Result<Context> try_context() const {
    Context context{};
    context.struct_size = sizeof(cistern_context_info_t);
    Status status = Status::of(cistern_get_context(handle_, &context));
    if (!status.ok()) return status;
    return context;
  }
  Status try_reset_peaks() { return Status::of(cistern_reset_peaks(handle_)); }

  Result<std::string> try_snapshot_json() const {
    std::string text;
    std::size_t needed = 0;
    Status status = Status::of(cistern_snapshot_json(handle_, nullptr, 0, &needed));
    while (status.ok()) {
      text.resize(needed);
      const std::size_t capacity = needed;
      status = Status::of(cistern_snapshot_json(handle_, text.data(), capacity, &needed));
      if (status.ok()) {
        text.resize(needed - 1);
        return text;
      }
      if (needed > capacity) status = Status();  // the pool has grown meanwhile
    }
    return status;
  }

#if CISTERN_HAS_EXCEPTIONS
  static Pool create(const Device& device) { return try_create(device).value(); }
  static Pool create(const Device& device, const PoolOptions& options) { return try_create(device, options).value(); }
  Buffer allocate(std::uint64_t bytes) { return try_allocate(bytes).value(); }
  Buffer allocate(const Allocation& allocation) { return try_allocate(allocation).value(); }
  Buffer allocate_async(std::uint64_t bytes, Stream stream) { return try_allocate_async(bytes, stream).value(); }
  void free_async(Address address, Stream stream) { throw_unless_ok(try_free_async(address, stream)); }
  void forget_stream(Stream stream) { throw_unless_ok(try_forget_stream(stream)); }
  MovableBuffer allocate_movable(const Allocation& allocation) { return try_allocate_movable(allocation).value(); }
  MovableBuffer allocate_movable(std::uint64_t bytes) { return try_allocate_movable(bytes).value(); }
  ElasticBuffer reserve_elastic(std::uint64_t max_bytes, const char* tag = nullptr) {
    return try_reserve_elastic(max_bytes, tag).value();
  }
  void free(Address address) { throw_unless_ok(try_free(address)); }
  void free_named(const char* name) { throw_unless_ok(try_free_named(name)); }
  BlockInfo find(const char* name) const { return try_find(name).value(); }
  BlockInfo describe(Address address) const { return try_describe(address).value(); }
  void register_range(Address address, std::uint64_t bytes) { throw_unless_ok(try_register_range(address, bytes)); }
  void unregister_range(Address address, std::uint64_t bytes) { throw_unless_ok(try_unregister_range(address, bytes)); }
  std::uint64_t trim(std::uint64_t keep_bytes = 0) { return try_trim(keep_bytes).value(); }
  Compaction compact(std::uint64_t max_bytes = 0, std::uint64_t max_us = 0) {
    return try_compact(max_bytes, max_us).value();
  }
  std::uint64_t backing_generation(Address address, std::uint64_t bytes) const {
    return try_backing_generation(address, bytes).value();
  }
  Ledger ledger() const { return try_ledger().value(); }
  PressureCallback on_pressure(std::int32_t priority, PressureCallback::Function function) {
    return try_on_pressure(priority, std::move(function)).value();
  }
  Context context() const { return try_context().value(); }
  void reset_peaks() { throw_unless_ok(try_reset_peaks()); }
  std::string snapshot_json() const { return try_snapshot_json().value(); }
#endif

 private:
  static Result<Pool> create_from(const Device& device, const cistern_pool_options_t* options) {
    Pool pool;
    Status status = Status::of(cistern_pool_create(device.handle(), options, &pool.handle_));
    if (!status.ok()) return status;
    return pool;
  }

  template <typename Ask>
  static Result<BlockInfo> info_of(const Ask& ask) {
    cistern_block_info_t info{};
    info.struct_size = sizeof info;
    Status status = Status::of(ask(&info));
    if (!status.ok()) return status;
    return BlockInfo{info.address, info.requested_bytes, info.granted_bytes, info.flags, info.tag, info.name};
  }

  cistern_pool_t* handle_ = nullptr;
};

}  // namespace cistern
