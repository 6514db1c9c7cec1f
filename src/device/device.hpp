// Device: the contract between a pool and whatever gives it memory.
//
// A device gives memory in two ways: whole driver allocations (malloc/free), and pages: physical units that are created
// once and mapped into reserved address ranges wherever they are needed. Everything may fail; a failure leaves the
// device as it was and keeps the driver's native code. Implementations: host, simulated, counting; cuda and ascend
// later through the same contract, so its rules are the strictest of theirs: one map call maps one whole page, offset
// 0; access is set by its own call, batched over a range; unmap does not synchronise: the caller sees to it that work
// on the page is complete.
//
// Thread-safety: all calls from any thread at once. Cost: a driver call is 1 us to 2 ms; no lock of a pool may be held.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace cistern::device {

// A device address. On the host device it is a pointer; elsewhere only the device may follow it.
using Address = std::uint64_t;

// A physical page by the device's own handle; 0 is no page.
using PageHandle = std::uint64_t;
inline constexpr PageHandle kNoPage = 0;

using EventHandle = std::uint64_t;

// A queue of the device's work, done in order; different streams run beside each other. 0 is the default stream.
using StreamHandle = std::uint64_t;

struct Capabilities {
  bool pages = false;             // reserve/create_page/map/... work
  bool move_pages = false;        // move_page works (a cheaper unmap+map)
  bool copy = false;              // copy and set work
  bool events = false;            // events and streams work
  bool host_access = false;       // the host may follow device addresses directly
  bool host_alias = false;        // host_alias() gives a host pointer to device memory
  bool unmap_needs_idle = false;  // work runs apart from the host: wait_device() before pages that had it leave
};

struct DeviceInfo {
  std::string kind;  // "host", "simulated", "counting"
  std::uint32_t ordinal = 0;
  std::string description;              // one line for people
  std::uint64_t total_bytes = 0;        // physical memory
  std::uint64_t alignment_bytes = 512;  // of every malloc and reservation, at least
  std::uint64_t min_page_bytes = 0;     // page sizes are powers of two between these, both inclusive
  std::uint64_t max_page_bytes = 0;
  Capabilities capabilities;
};

struct MemoryInfo {
  std::uint64_t free_bytes = 0;  // of the whole device, whoever uses the rest
  std::uint64_t total_bytes = 0;
};

// Calls made since the device was created, failed ones included. `pages_*` count pages where a call can take several.
struct DeviceCounters {
  std::uint64_t mallocs = 0;
  std::uint64_t frees = 0;
  std::uint64_t reserves = 0;
  std::uint64_t releases = 0;
  std::uint64_t pages_created = 0;
  std::uint64_t pages_destroyed = 0;
  std::uint64_t maps = 0;
  std::uint64_t unmaps = 0;
  std::uint64_t set_accesses = 0;
  std::uint64_t pages_moved = 0;
  std::uint64_t copies = 0;
  std::uint64_t bytes_copied = 0;
  std::uint64_t events_created = 0;
  std::uint64_t events_destroyed = 0;
  std::uint64_t events_recorded = 0;
  std::uint64_t event_queries = 0;
  std::uint64_t event_waits = 0;        // of the host
  std::uint64_t stream_waits = 0;       // of the host, for a stream or for the whole device
  std::uint64_t waits_inserted = 0;     // of a stream, for an event
  std::uint64_t driver_bytes = 0;       // physical bytes given out now: driver allocations and pages
  std::uint64_t peak_driver_bytes = 0;  // highest value of driver_bytes
  std::uint64_t modelled_ns = 0;        // simulated device: time of all calls by the latency model; else 0
  // Driver allocations plus page creations: what a pool must not do in steady state.
  std::uint64_t driver_allocations() const noexcept { return mallocs + pages_created; }
};

// Time by the latency model of all calls that the calling thread has made to simulated devices of this process. Of a
// call that waits for a stream: the call's own.
std::uint64_t modelled_ns_of_this_thread() noexcept;

enum class Access : std::uint8_t { none, read_write };

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual const DeviceInfo& info() const noexcept = 0;
  virtual base::Result<MemoryInfo> memory() noexcept = 0;
  virtual DeviceCounters counters() const noexcept = 0;

  // --- Driver allocations ----------------------------------------------------------------------------------------
  virtual base::Result<Address> malloc(std::uint64_t bytes) noexcept = 0;  // bytes > 0; aligned to alignment_bytes
  virtual base::Status free(Address address) noexcept = 0;                 // exactly what malloc returned

  // --- Pages -----------------------------------------------------------------------------------------------------
  // Addresses without memory. `bytes` and `alignment` are multiples of min_page_bytes, alignment a power of two.
  virtual base::Result<Address> reserve(std::uint64_t bytes, std::uint64_t alignment) noexcept = 0;
  // The exact range of a reserve, nothing mapped in it.
  virtual base::Status release(Address base, std::uint64_t bytes) noexcept = 0;
  virtual base::Result<PageHandle> create_page(std::uint64_t page_bytes) noexcept = 0;
  // `page` must not be mapped.
  virtual base::Status destroy_page(PageHandle page) noexcept = 0;
  // Maps the whole page at `at` (a multiple of its size, inside one reservation, nothing there yet). No access yet.
  virtual base::Status map(Address at, PageHandle page) noexcept = 0;
  // Takes the page mapped at exactly `at` away; it keeps its contents until destroyed. Work on it must be complete.
  virtual base::Status unmap(Address at, PageHandle page) noexcept = 0;
  // For a range of mapped pages, whole pages only. One call for many pages.
  virtual base::Status set_access(Address base, std::uint64_t bytes, Access access) noexcept = 0;
  // The page mapped at `from` is mapped at `to` afterwards, contents kept, access to be set again. On failure it is
  // where it was. Unsupported unless capabilities.move_pages.
  virtual base::Status move_page(Address from, Address to, PageHandle page) noexcept = 0;
  // Whether `pages` pages could leave their places, in `ranges` runs of neighbours, for others now, as far as the
  // number of mappings that the system allows goes; out_of_memory where it could not. Asked before a repair begins, so
  // that it doesn't fail half-way. Changes nothing.
  virtual base::Status check_page_moves(std::uint64_t pages, std::uint64_t ranges) noexcept {
    static_cast<void>(pages);
    static_cast<void>(ranges);
    return {};
  }

  // --- Contents --------------------------------------------------------------------------------------------------
  // Synchronous. Ranges must be accessible device memory and must not overlap.
  virtual base::Status copy(Address to, Address from, std::uint64_t bytes) noexcept = 0;
  virtual base::Status copy_from_host(Address to, const void* from, std::uint64_t bytes) noexcept = 0;
  virtual base::Status copy_to_host(void* to, Address from, std::uint64_t bytes) noexcept = 0;
  virtual base::Status set(Address at, std::uint8_t value, std::uint64_t bytes) noexcept = 0;
  // A host pointer to the same bytes, valid while they are mapped; nullptr unless capabilities.host_alias.
  virtual void* host_alias(Address at) noexcept = 0;

  // --- Order of work ---------------------------------------------------------------------------------------------
  // The strictest of what CUDA and AscendCL promise: no call but the waits blocks; an event stands for all that was
  // submitted to the stream before it was recorded last, and recording it again does not disturb who waits for that. A
  // destroyed stream finishes what it has, and events recorded on it stay good; its handle may come back for another
  // stream. Events are recycled by the pool: create few, record often.
  virtual base::Result<StreamHandle> create_stream() noexcept = 0;
  virtual base::Status destroy_stream(StreamHandle stream) noexcept = 0;  // not the default stream
  // The host waits until all that was submitted so far, to this stream or to any, is complete.
  virtual base::Status wait_stream(StreamHandle stream) noexcept = 0;
  virtual base::Status wait_device() noexcept = 0;
  // What is submitted to `stream` from now on starts when the event is complete. Does not block the host.
  virtual base::Status stream_wait_event(StreamHandle stream, EventHandle event) noexcept = 0;
  virtual base::Result<EventHandle> create_event() noexcept = 0;
  virtual base::Status destroy_event(EventHandle event) noexcept = 0;
  virtual base::Status record_event(EventHandle event, StreamHandle stream) noexcept = 0;
  // True when all that it was recorded behind is complete, or when it never was recorded.
  virtual base::Result<bool> query_event(EventHandle event) noexcept = 0;
  virtual base::Status wait_event(EventHandle event) noexcept = 0;

 protected:
  Device() = default;
};

}  // namespace cistern::device
