// Pool: serves allocations of device memory out of arenas it holds, and goes to the driver only when it must.
//
// One lock guards the bookkeeping and is never held across a driver call. A request that no hole can hold walks the
// ordered rescue list (rescue.hpp); only when every step has failed does the caller see an error, and that error says
// where the memory is and what would help. A refused call changes nothing.
//
// Thread-safety: every function, from any thread. Nothing throws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"
#include "device/page_pool.hpp"
#include "pool/backing.hpp"
#include "pool/compaction.hpp"
#include "pool/context.hpp"
#include "pool/elastics.hpp"
#include "pool/ledger.hpp"
#include "pool/movables.hpp"
#include "pool/observer.hpp"
#include "pool/options.hpp"
#include "pool/pressure.hpp"
#include "pool/rescue.hpp"
#include "pool/snapshot.hpp"

namespace cistern::pool {

using TagId = std::uint32_t;  // 0: no tag

// How long the caller means to keep the memory. A hint.
enum class Lifetime : std::uint8_t { transient = 0, persistent = 1, weights = 2 };

enum AllocationFlags : std::uint32_t {
  kFlagNone = 0,
  kFlagPinned = 1,   // the pages and the place of this block never change while it lives
  kFlagMovable = 2,  // seen only: what allocate_movable() served
  kFlagElastic = 4,  // seen only: the part of an elastic buffer that has memory
};

struct AllocationRequest {
  std::uint64_t bytes = 0;      // > 0
  std::uint64_t alignment = 0;  // 0: the device's; else a power of two, at most 1 GiB
  TagId tag = 0;
  std::string_view name;  // empty: none; else unique among the pool's live allocations
  Lifetime lifetime = Lifetime::transient;
  std::uint32_t flags = kFlagNone;
  // The stream whose work will use the memory: it may get what that stream has freed before its work is complete. None:
  // for work of any stream, or of the host.
  std::optional<device::StreamHandle> stream = std::nullopt;
};

class Pool {
 public:
  // `pages` may be null where growth is `arenas` or the device has no pages; its page size must be the options' (or
  // the options' is 0, then it is taken from `pages`). `extra_steps` join the rescue list (see rescue.hpp). `observer`
  // (may be null) is told of every event. `contexts` (may be null): the pools that this one shares the device with;
  // then limit_exceeded where the minimum can't be promised, out_of_memory where others have borrowed it and don't give
  // it back (see context.hpp).
  static base::Result<std::unique_ptr<Pool>> create(std::shared_ptr<device::Device> device,
                                                    std::shared_ptr<device::PagePool> pages, const PoolOptions& options,
                                                    std::vector<std::unique_ptr<RescueStep>> extra_steps = {},
                                                    std::shared_ptr<Observer> observer = nullptr,
                                                    std::shared_ptr<ContextSet> contexts = nullptr) noexcept;
  // Gives everything back to the device. Live blocks are logged as leaks, by tag; use live_allocations() before.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  base::Result<device::Address> allocate(const AllocationRequest& request) noexcept;
  base::Result<device::Address> allocate(std::uint64_t bytes) noexcept;
  // All work on the block must be complete, unless record_use() was told of it. Exactly what allocate returned.
  // double_free, invalid_argument (interior pointer, the text names the block), wrong_context (of another context of
  // this device, which the text names) or not_found (no memory of this pool) otherwise, and nothing changes.
  base::Status free(device::Address address) noexcept;
  // --- In the order of streams (stream_queues.hpp) ---------------------------------------------------------------
  // Frees a block in the order of `stream`: work submitted to it before may go on using the block, work submitted later
  // must not. That stream's next requests may have the memory at once, others when that work is complete. Never waits,
  // unless 15 other streams have memory pending. Errors: as free(); device_error when it had to wait and could not.
  base::Status free_async(device::Address address, device::StreamHandle stream) noexcept;
  // Work of `stream`, too, uses the live block at `address`: when the block is freed, by whichever call, what was
  // submitted to that stream before must be complete before others get the memory. Once a stream is enough. Errors:
  // not_found; busy when 15 other streams have memory pending.
  base::Status record_use(device::Address address, device::StreamHandle stream) noexcept;
  // `stream` is about to be destroyed; the pool will not name it to the device any more. Its pending memory gets an
  // event, or, where that is refused, is waited for. A stream that the pool never saw is ok. Errors: device_error when
  // neither succeeds: the memory stays pending until a wait for the whole device succeeds.
  base::Status forget_stream(device::StreamHandle stream) noexcept;

  base::Result<AllocationView> find(std::string_view name) const noexcept;
  base::Status free_named(std::string_view name) noexcept;
  // The live block that contains `address`.
  base::Result<AllocationView> describe(device::Address address) const noexcept;

  // --- Movable blocks ----------------------------------------------------------------------------------------------
  // A block that may be copied elsewhere to make room. Its holder has a handle; the address is known, and stays, from
  // pin() to unpin() only. Pins count; work of the device on the block must be complete, or in the default stream,
  // when the last one ends. Pinned blocks are refused to free_movable (busy). Not with kFlagPinned.
  base::Result<MovableId> allocate_movable(const AllocationRequest& request) noexcept;
  // double_free or not_found for what is no valid handle; frees and pins by address do not know these blocks.
  base::Status free_movable(MovableId id) noexcept;
  // Meets a copy: the move is given up, and the call waits until the copy's present piece (2 MiB at most) is done.
  base::Result<device::Address> pin(MovableId id) noexcept;
  base::Status unpin(MovableId id) noexcept;
  base::Result<MovableView> describe_movable(MovableId id) const noexcept;

  // --- Elastic buffers ---------------------------------------------------------------------------------------------
  // A range of addresses that gets and gives up memory at its end, see elastics.hpp. reserve_elastic: addresses for
  // max_bytes, rounded up to whole pages, and no memory yet. unsupported where the pool maps no pages; out_of_memory
  // where no run of free addresses is long enough.
  base::Result<ElasticView> reserve_elastic(std::uint64_t max_bytes, TagId tag = 0) noexcept;
  // The buffer has `bytes` then, with what was in it. Pages come from the pool's own free ones as far as they go, then
  // from the device. Refused with limit_exceeded, out_of_memory or the device's error: nothing has changed.
  // invalid_argument: beyond what was reserved, or less than it has; busy: another call is at work on this buffer.
  base::Status grow_elastic(ElasticId id, std::uint64_t bytes) noexcept;
  // The buffer has `bytes` then; work on what is behind must be complete. Whole pages behind go to the device's page
  // pool. What the device refuses to take stays under the buffer, counted as allocated, until the next call.
  // invalid_argument: more than it has; busy: also where a registered range is behind.
  base::Status shrink_elastic(ElasticId id, std::uint64_t bytes) noexcept;
  // The end of the buffer: its memory is free as that of any block, its addresses are the pool's. Errors: double_free,
  // not_found, busy.
  base::Status release_elastic(ElasticId id) noexcept;
  base::Result<ElasticView> describe_elastic(ElasticId id) const noexcept;

  // The same text gives the same id for the life of the pool. Tags are never removed: use few.
  TagId intern_tag(std::string_view tag) noexcept;

  // Pages of [address, address + bytes) stay where they are, free or not, until unregistered (RDMA, IPC).
  base::Status register_range(device::Address address, std::uint64_t bytes) noexcept;
  base::Status unregister_range(device::Address address, std::uint64_t bytes) noexcept;

  // Uses a quiet moment: makes the hole that recent requests would need, in batches. See compaction.hpp.
  base::Result<CompactionReport> compact(const CompactionRequest& request = {}) noexcept;

  // A number that grows whenever a page under the range, which lies in one arena, comes or goes: whoever keeps
  // registrations of memory by its pages compares. Memory of driver arenas never changes. not_found: not of this pool.
  base::Result<std::uint64_t> backing_generation(device::Address address, std::uint64_t bytes) const noexcept;
  // Who is told when pages come and go; null: nobody. Replaces the one before, who may still be told of changes under
  // way. See backing.hpp.
  void set_backing_listener(std::shared_ptr<BackingListener> listener) noexcept;

  // Gives free memory back to the device until at most `keep_bytes` stay reserved (or nothing more can go). Returns
  // the bytes given back.
  base::Result<std::uint64_t> trim(std::uint64_t keep_bytes) noexcept;

  // Who is asked to give something up before a request fails, the lowest priority number first; the callback's number.
  // See pressure.hpp.
  std::uint64_t add_pressure_callback(std::int32_t priority, PressureCallback callback) noexcept;
  // Nobody else is inside it any more when this returns. Errors: not_found.
  base::Status remove_pressure_callback(std::uint64_t id) noexcept;

  // Where this pool stands among those that it shares the device with. Without such: what it holds, nothing promised.
  ContextView context() const noexcept;
  const std::shared_ptr<ContextSet>& contexts() const noexcept;
  // Does `address` lie in an arena of this pool?
  bool has_address(device::Address address) const noexcept;

  Ledger ledger() const noexcept;
  void reset_peaks() noexcept;
  Snapshot snapshot() const;
  std::vector<AllocationView> live_allocations() const;
  const PoolOptions& options() const noexcept;  // as in force: defaults filled in
  device::Device& device() const noexcept;
  // Every invariant of every arena and of the ledger; empty when all hold.
  std::string validate() const;

 private:
  class Impl;
  explicit Pool(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cistern::pool
